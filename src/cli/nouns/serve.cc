// horae serve.

#include <memory>
#include <ostream>

#include "app/config.h"
#include "app/serve.h"
#include "cli/commands.h"
#include "cli/config_flags.h"

namespace horae::cli {
namespace {

struct ServeFlags {
  ConfigFlags config;
  bool print_config = false;
  bool demo = false;
};

int run_serve(const Context& context, const ServeFlags& flags) {
  const auto config = load_config(flags.config, context);
  if (!config.ok()) return report_misuse(context, "serve", config.error());
  if (flags.demo && config->engine.dispatcher.slots == 0) {
    return report_misuse(context, "serve",
                         {ErrorCode::kRefused,
                          "--demo: the node's own slots run it, and slots.count is 0 (--slots-count): "
                          "give 1 or more"});
  }
  if (flags.print_config) {
    context.console.out << print_config(*config);
    return kDone;
  }
  const auto served = serve(*config, flags.demo, context.console.out, context.console.err);
  context.console.out.clear();  // a node does not fail because its greeting was not read
  return report(context, "serve", served);
}

}  // namespace

void add_serve_command(CLI::App& app, Context& context) {
  CLI::App& command = add_verb(app, "serve", "Run a node until Ctrl-C or SIGTERM",
                               "  horae serve\n"
                               "  horae serve --store postgresql://horae@db/horae --slots-count 0\n"
                               "  horae serve --print-config > horae.toml");
  const auto flags = std::make_shared<ServeFlags>();
  add_config_flags(command, flags->config);
  command.add_flag("--print-config", flags->print_config, "Print the effective configuration and exit");
  command.add_flag("--demo", flags->demo, "Submit a small workload and print what happens to it");
  set_action(command, context, flags, run_serve);
}

}  // namespace horae::cli
