#include "cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <ostream>

#include "base/quote.h"
#include "base/utf8.h"
#include "base/version.h"
#include "cli/command_tree.h"

namespace horae::cli {
namespace {

constexpr const char* kCompleteWord = "__complete";  // called by the scripts of `horae completion`

void describe(CLI::App& app) {
  app.name("horae");
  app.description(
      "Horae, a persistent, distributed task scheduler: runs work at its time, in order of importance, on a live\n"
      "worker, and never loses it.");
  app.set_version_flag("--version", "horae " + std::string(version()));
  app.require_subcommand(0, 1);  // run() handles "none"; with 1, CLI11 would not name an unknown command
  app.footer(
      "Examples:\n"
      "  horae serve                                  run a node\n"
      "  horae task submit demo --sleep 5s --wait     submit a task and wait until it completes\n"
      "  horae task list --state running              list the running tasks\n"
      "  horae COMMAND --help                         show the help of a command\n"
      "\n"
      "Exit codes: 0 done, 1 failed, 2 invalid command line or configuration (to this program or to the node),\n"
      "            3 the task did not complete, 4 the node is unavailable: try again, 5 the time of --wait-limit is "
      "over");
}

// Appends to the help of each noun the names of its verbs, so that no list of them has to be maintained.
void list_verbs(CLI::App& app) {
  for (CLI::App* noun : app.get_subcommands([](const CLI::App*) { return true; })) {
    std::vector<std::string> names;
    for (const CLI::App* verb : visible_commands(*noun)) names.push_back(verb->get_name());
    if (!names.empty()) noun->description(fmt::format("{}: {}", noun->get_description(), fmt::join(names, ", ")));
  }
}

int print_candidates(const CLI::App& app, const std::vector<std::string>& words, const Console& console) {
  for (const std::string& word : complete(app, words)) console.out << word << '\n';
  return kDone;
}

}  // namespace

CLI::App& add_noun(CLI::App& app, const std::string& name, const std::string& help) {
  CLI::App* noun = app.add_subcommand(name, help);
  noun->require_subcommand(1);
  noun->footer(fmt::format("Help of one of them: horae {} COMMAND --help", name));
  return *noun;
}

CLI::App& add_verb(CLI::App& noun, const std::string& name, const std::string& help, const std::string& examples) {
  CLI::App* verb = noun.add_subcommand(name, help);
  if (!examples.empty()) verb->footer("Examples:\n" + examples);
  return *verb;
}

int report(const Context& context, std::string_view command, const Result<void>& done) {
  if (done.ok()) return kDone;
  context.console.err << fmt::format("horae {}: {}\n", command, done.error().message);
  return done.error().retryable() ? kTryAgain : kFailed;
}

int report_misuse(const Context& context, std::string_view command, const Error& error) {
  context.console.err << fmt::format("horae {}: {}\n", command, error.message);
  return kMisused;
}

void add_all_commands(CLI::App& app, Context& context) {
  describe(app);
  add_serve_command(app, context);
  add_agent_commands(app, context);
  add_migrate_command(app, context);
  add_task_commands(app, context);
  add_queue_commands(app, context);
  add_delay_commands(app, context);
  add_schedule_commands(app, context);
  add_scheduler_commands(app, context);
  add_node_commands(app, context);
  add_token_commands(app, context);
  add_doctor_command(app, context);
  add_completion_commands(app, context);
  add_manual_commands(app, context);
  list_verbs(app);
}

namespace {

int run_command(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app;
  add_all_commands(app, context);
  if (!arguments.empty() && arguments.front() == kCompleteWord) {
    return print_candidates(app, {arguments.begin() + 1, arguments.end()}, context.console);
  }
  // What is sent to a node is JSON in UTF-8, in which other bytes would all become the same replacement character.
  if (const auto bad = std::ranges::find_if_not(arguments, is_text); bad != arguments.end()) {
    context.console.err << fmt::format("horae: argument {}: {} is not UTF-8; give text in UTF-8\n",
                                       bad - arguments.begin() + 1, quote(*bad));
    return kMisused;
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 expects
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      (void)app.exit(error, context.console.out, context.console.err);
      return kDone;
    }
    context.console.err << misuse_of(app, arguments, error.what()) << '\n';
    if (const auto meant = suggest(app, arguments)) context.console.err << "Did you mean " << *meant << "?\n";
    return kMisused;
  }
  if (context.action) return context.action();
  context.console.err << "horae: give a command; --help lists them\n";
  return kMisused;
}

}  // namespace

int run(const std::vector<std::string>& arguments, Context& context) {
  const int exit_code = run_command(arguments, context);
  context.console.out.flush();
  if (context.console.out || exit_code != kDone) return exit_code;
  context.console.err
      << "horae: the output could not be written (a full disk, or its reader is gone); the command was done\n";
  return kFailed;
}

}  // namespace horae::cli
