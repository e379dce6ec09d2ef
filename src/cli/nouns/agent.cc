// horae agent run.

#include <memory>
#include <string>
#include <vector>

#include "app/run_agent.h"
#include "app/settings.h"
#include "cli/commands.h"
#include "cli/config_flags.h"

namespace horae::cli {
namespace {

struct AgentFlags {
  ConfigFlags config;
};

std::vector<std::string> agent_keys() {
  std::vector<std::string> keys;
  for (const Setting& setting : settings()) {
    if (setting.key.starts_with(kAgentKeys) || setting.key.starts_with("log.")) keys.push_back(setting.key);
  }
  return keys;
}

int run_agent_command(const Context& context, const AgentFlags& flags) {
  const auto config = load_config(flags.config, context);
  if (!config.ok()) return report_misuse(context, "agent run", config.error());
  const auto code = run_agent(*config, context.console.out, context.console.err);
  if (!code.ok() && code.error().code == ErrorCode::kMalformed)
    return report_misuse(context, "agent run", code.error());
  if (!code.ok()) return report(context, "agent run", code.error());
  return *code;
}

}  // namespace

void add_agent_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "agent", "Run tasks on this machine, for the nodes");
  CLI::App& command =
      add_verb(noun, "run", "Claim tasks and run them until Ctrl-C or SIGTERM",
               "  horae agent run --agent-queues backup --agent-commands '/usr/bin/uptime'\n"
               "  horae agent run --agent-nodes https://one.example:3369,https://two.example:3369 \\\n"
               "                  --agent-token-file token --agent-queues backup --agent-programs rsync,tar");
  const auto flags = std::make_shared<AgentFlags>();
  add_config_flags(command, flags->config, agent_keys());
  set_action(command, context, flags, run_agent_command);
}

}  // namespace horae::cli
