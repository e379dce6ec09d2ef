// horae serve, horae migrate.

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "app/config.h"
#include "app/migrate.h"
#include "app/serve.h"
#include "cli/commands.h"
#include "cli/config_flags.h"

namespace horae::cli {
namespace {

int report(const Context& context, std::string_view command, const Result<void>& done) {
  if (done.ok()) return kDone;
  context.console.err << fmt::format("horae {}: {}\n", command, done.error().message);
  return done.error().retryable() ? kTryAgain : kFailed;
}

struct ServeFlags {
  ConfigFlags config;
  bool print_config = false;
  bool demo = false;
};

int run_serve(const Context& context, const ServeFlags& flags) {
  const auto config = load_config(flags.config, context);
  if (!config.ok()) return report(context, "serve", config.error());
  if (flags.print_config) {
    context.console.out << print_config(*config);
    return kDone;
  }
  return report(context, "serve", serve(*config, flags.demo, context.console.out, context.console.err));
}

struct MigrateFlags {
  ConfigFlags config;
  MigrateOptions options;
};

// A store that is named in the command itself needs no configuration.
Result<std::string> store_of(const Context& context, const ConfigFlags& flags) {
  if (const auto named = flags.values.find("store"); named != flags.values.end()) return named->second;
  const auto config = load_config(flags, context);
  if (!config.ok()) return config.error();
  return config->store;
}

int run_migrate(const Context& context, const MigrateFlags& flags) {
  const auto store = store_of(context, flags.config);
  if (!store.ok()) return report(context, "migrate", store.error());
  return report(context, "migrate", migrate_store(*store, flags.options, context.console.out));
}

}  // namespace

void add_node_commands(CLI::App& app, Context& context) {
  CLI::App* serve = add_verb(app, "serve", "Run a node until Ctrl-C or SIGTERM",
                             "  horae serve\n"
                             "  horae serve --store postgresql://horae@db/horae --slots-count 0\n"
                             "  horae serve --print-config > horae.toml");
  const auto serve_flags = std::make_shared<ServeFlags>();
  add_config_flags(*serve, serve_flags->config);
  serve->add_flag("--print-config", serve_flags->print_config, "Print the configuration that would hold, and stop");
  serve->add_flag("--demo", serve_flags->demo, "Submit a small workload and print what happens to it");
  serve->callback([&context, serve_flags] {
    context.chosen = [&context, serve_flags] { return run_serve(context, *serve_flags); };
  });

  CLI::App* migrate = add_verb(app, "migrate", "Bring a store to the schema of this version",
                               "  horae migrate --dry-run\n"
                               "  horae migrate --store postgresql://horae@db/horae");
  const auto migrate_flags = std::make_shared<MigrateFlags>();
  add_config_flags(*migrate, migrate_flags->config, {"data", "store"});
  migrate->add_flag("--dry-run", migrate_flags->options.dry_run, "Only tell what would be done");
  migrate->add_flag("--json", migrate_flags->options.json, "Tell it as JSON, for programs");
  migrate->callback([&context, migrate_flags] {
    context.chosen = [&context, migrate_flags] { return run_migrate(context, *migrate_flags); };
  });
}

}  // namespace horae::cli
