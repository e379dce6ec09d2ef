// The command line: one binary, noun and verb.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "app/migrate.h"
#include "app/serve.h"
#include "base/version.h"

namespace {

constexpr int kFailure = 1;

int report(std::string_view command, const horae::Result<void>& done) {
  if (done.ok()) return 0;
  std::cerr << "horae " << command << ": " << done.error().message << '\n';
  return kFailure;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Horae, a persistent, distributed task scheduler: work happens at its time, in order of importance, on a\n"
      "worker that is alive, and is never lost."};
  app.name("horae");
  app.set_version_flag("--version", "horae " + std::string(horae::version()));
  app.require_subcommand(0, 1);  // "none" is told below: then an unknown word is named as such
  const CLI::App* serve = app.add_subcommand("serve", "Run a node until Ctrl-C or SIGTERM");

  CLI::App* migrate = app.add_subcommand("migrate", "Bring a store to the schema of this version");
  std::string store = horae::kDefaultStore;
  bool dry_run = false;
  migrate->add_option("--store", store, "The store: sqlite:PATH or postgresql://USER@HOST/DATABASE")
      ->capture_default_str();
  migrate->add_flag("--dry-run", dry_run, "Only tell what would be done");
  CLI11_PARSE(app, argc, argv);

  if (serve->parsed()) return report("serve", horae::serve(std::cout));
  if (migrate->parsed()) return report("migrate", horae::migrate_store(store, dry_run, std::cout));
  std::cerr << "horae: give a command; --help lists them\n";
  return kFailure;
}

}  // namespace

// The named boundary for exceptions of third-party code: none passes.
int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& exception) {
    std::cerr << "horae: " << exception.what() << '\n';
    return kFailure;
  }
}
