#include "cli/commands.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <ostream>

#include "base/version.h"

namespace horae::cli {
namespace {

constexpr const char* kCompleteWord = "__complete";  // what the scripts of `horae completion` call

void describe(CLI::App& app) {
  app.name("horae");
  app.description(
      "Horae, a persistent, distributed task scheduler: work happens at its time, in order of importance, on a\n"
      "worker that is alive, and is never lost.");
  app.set_version_flag("--version", "horae " + std::string(version()));
  app.require_subcommand(0, 1);  // "none" is told below: then an unknown word is named as such
  app.footer(
      "Examples:\n"
      "  horae serve                                  run a node\n"
      "  horae task submit demo --sleep 5s --wait     give it something to do, and see it done\n"
      "  horae task list --state running              what runs\n"
      "  horae COMMAND --help                         more about a command\n"
      "\n"
      "Exit codes: 0 done, 1 failed, 2 misused (also if the node finds it), 3 the task did not complete,\n"
      "            4 the node is away: try again");
}

int print_candidates(const CLI::App& app, const std::vector<std::string>& words, const Console& console) {
  for (const std::string& word : complete(app, words)) console.out << word << '\n';
  return kDone;
}

}  // namespace

CLI::App* add_verb(CLI::App& noun, const std::string& name, const std::string& help, const std::string& examples) {
  CLI::App* verb = noun.add_subcommand(name, help);
  if (!examples.empty()) verb->footer("Examples:\n" + examples);
  return verb;
}

void add_all_commands(CLI::App& app, Context& context) {
  describe(app);
  add_node_commands(app, context);
  add_task_commands(app, context);
  add_queue_commands(app, context);
  add_scheduler_commands(app, context);
  add_node_list_command(app, context);
  add_token_commands(app, context);
  add_doctor_command(app, context);
  add_completion_command(app, context);
  add_manual_command(app, context);
}

int run(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app;
  add_all_commands(app, context);
  if (!arguments.empty() && arguments.front() == kCompleteWord) {
    return print_candidates(app, {arguments.begin() + 1, arguments.end()}, context.console);
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (app.exit(error, context.console.out, context.console.err) == 0) return kDone;
    if (const auto meant = suggest(app, arguments)) context.console.err << "Did you mean " << *meant << "?\n";
    return kMisused;
  }
  if (context.chosen) return context.chosen();
  context.console.err << "horae: give a command; --help lists them\n";
  return kMisused;
}

}  // namespace horae::cli
