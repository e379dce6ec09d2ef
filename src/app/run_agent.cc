#include "app/run_agent.h"

#include <fmt/format.h>

#include <ostream>
#include <string_view>

#include "agent/agent.h"
#include "agent/journal/folder_lock.h"
#include "app/file_limit.h"
#include "base/random.h"

extern char** environ;

namespace horae {
namespace {

std::map<std::string, std::string> whole_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

int run_as_main(const Config& config, const agent::ProcessStarter& starter, const agent::ExecRules& rules,
                const std::string& token, std::ostream& out, std::ostream& err) {
  const SystemClock clock;
  SystemRandom random;
  const Logger log(err, clock, config.log);
  (void)raise_file_limit();
  const auto done = agent::run_main(
      config.agent,
      {.starter = starter, .rules = rules, .token = token, .clock = clock, .random = random, .log = log, .out = out});
  if (!done.ok()) {
    err << "horae agent run: " << done.error().message << std::endl;
    return 1;
  }
  out << "horae agent stopped" << std::endl;
  return 0;
}

}  // namespace

Result<int> run_agent(const Config& config, std::ostream& out, std::ostream& err) {
  if (config.agent.worker.queues.empty()) {
    return Error{ErrorCode::kMalformed, "name the queues whose tasks the agent runs: --agent-queues mail,reports"};
  }
  const auto rules = agent::ExecRules::make(config.agent.exec, whole_environment());
  if (!rules.ok()) return rules.error();
  std::string token;
  if (!config.agent.token_file.empty()) {
    auto read = agent::read_token(config.agent.token_file);
    if (!read.ok()) return read.error();
    token = std::move(*read);
  }
  // Before the processes, which all inherit it.
  const auto lock = agent::lock_folder(config.agent.data, [&](const std::string& pid) {
    err << fmt::format(
               "horae agent run: {} belongs to the agent with the pid {}; waiting until all of its processes have "
               "ended",
               config.agent.data, pid)
        << std::endl;
  });
  if (!lock.ok()) return lock.error();
  return agent::run_with_warden(
      [&](const agent::ProcessStarter& starter) { return run_as_main(config, starter, *rules, token, out, err); });
}

}  // namespace horae
