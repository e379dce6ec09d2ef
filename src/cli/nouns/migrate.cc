// horae migrate.

#include "app/migrate.h"

#include <memory>

#include "cli/commands.h"
#include "cli/config_flags.h"

namespace horae::cli {
namespace {

struct MigrateFlags {
  ConfigFlags config;
  MigrateOptions options;
};

// A store named on the command line needs no configuration.
Result<std::string> store_of(const Context& context, const ConfigFlags& flags) {
  if (const auto named = flags.values.find("store"); named != flags.values.end()) return named->second;
  const auto config = load_config(flags, context);
  if (!config.ok()) return config.error();
  return config->store;
}

int run_migrate(const Context& context, const MigrateFlags& flags) {
  const auto store = store_of(context, flags.config);
  if (!store.ok()) return report_misuse(context, "migrate", store.error());
  return report(context, "migrate", migrate_store(*store, flags.options, context.console.out));
}

}  // namespace

void add_migrate_command(CLI::App& app, Context& context) {
  CLI::App& command = add_verb(app, "migrate", "Migrate a store to the schema of this version",
                               "  horae migrate --dry-run\n"
                               "  horae migrate --store postgresql://horae@db/horae");
  const auto flags = std::make_shared<MigrateFlags>();
  add_config_flags(command, flags->config, {"data", "store"});
  command.add_flag("--dry-run", flags->options.dry_run, "Print the steps without applying them");
  command.add_flag("--json", flags->options.json, "Print JSON, for programs");
  set_action(command, context, flags, run_migrate);
}

}  // namespace horae::cli
