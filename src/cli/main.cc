// The command line: one binary, noun and verb.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "app/serve.h"
#include "base/version.h"

namespace {

constexpr int kFailure = 1;

int run(int argc, char** argv) {
  CLI::App app{
      "Horae, a persistent, distributed task scheduler: work happens at its time, in order of importance, on a\n"
      "worker that is alive, and is never lost."};
  app.name("horae");
  app.set_version_flag("--version", "horae " + std::string(horae::version()));
  app.require_subcommand(0, 1);  // "none" is told below: then an unknown word is named as such
  const CLI::App* serve = app.add_subcommand("serve", "Run a node until Ctrl-C or SIGTERM");
  CLI11_PARSE(app, argc, argv);

  if (!serve->parsed()) {
    std::cerr << "horae: give a command; --help lists them\n";
    return kFailure;
  }
  const auto served = horae::serve(std::cout);
  if (served.ok()) return 0;
  std::cerr << "horae serve: " << served.error().message << '\n';
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
