// The command tree. Each noun is one file in nouns/, which adds its verbs with CLI11.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "cli/terminal/console.h"

namespace horae::cli {

// Exit codes; docs/reference/horae.1 documents them.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;   // it was refused, or it failed
inline constexpr int kMisused = 2;  // the command line is invalid, to this program or to the node; nothing was done
inline constexpr int kNotCompleted = 3;  // the task that was waited for did not complete
inline constexpr int kTryAgain = 4;      // the node or its store is unavailable: the same command may succeed later
inline constexpr int kStillWaiting = 5;  // --wait-limit has passed, and the task has not ended

// The environment of a command. Outlives the command tree.
struct Context {
  Console console;
  const Clock& clock;
  Random& random;
  std::map<std::string, std::string> environment;  // HORAE_...

  // Set by parsing the command line: runs the chosen command and returns the exit code.
  std::function<int()> action = {};
};

// Each function adds the commands of one noun to `app`. `context` must outlive `app`.
void add_serve_command(CLI::App& app, Context& context);
void add_agent_commands(CLI::App& app, Context& context);
void add_migrate_command(CLI::App& app, Context& context);
void add_task_commands(CLI::App& app, Context& context);
void add_queue_commands(CLI::App& app, Context& context);
void add_delay_commands(CLI::App& app, Context& context);
void add_schedule_commands(CLI::App& app, Context& context);
void add_scheduler_commands(CLI::App& app, Context& context);
void add_node_commands(CLI::App& app, Context& context);
void add_token_commands(CLI::App& app, Context& context);
void add_doctor_command(CLI::App& app, Context& context);
void add_completion_commands(CLI::App& app, Context& context);
void add_manual_commands(CLI::App& app, Context& context);  // hidden, for `make docs`

// A noun, which needs a verb. The names of its verbs are appended to `help`.
CLI::App& add_noun(CLI::App& app, const std::string& name, const std::string& help);

// A verb, or a command without one. `examples`: lines indented by two spaces; may be empty.
CLI::App& add_verb(CLI::App& noun, const std::string& name, const std::string& help, const std::string& examples);

// Makes `run(context, flags)` the action of a verb. It runs only after the whole command line has been parsed, and
// returns the exit code.
template <typename Flags, typename Run>
void set_action(CLI::App& verb, Context& context, std::shared_ptr<Flags> flags, Run run) {
  verb.callback([&context, flags = std::move(flags), run = std::move(run)] {
    context.action = [&context, flags, run] { return run(std::as_const(context), std::as_const(*flags)); };
  });
}

// Prints a failure on `err`, line breaks included, and returns the exit code. For commands that work without a node;
// client/client.h has the counterpart for the others.
int report(const Context& context, std::string_view command, const Result<void>& done);

// The same for a configuration that cannot be used: kMisused.
int report_misuse(const Context& context, std::string_view command, const Error& error);

// The whole tree.
void add_all_commands(CLI::App& app, Context& context);

// The man page, in roff.
std::string manual_page(const CLI::App& app);

// Runs one command line (without the name of the program) and returns the exit code: kFailed also if the output cannot
// be written. Throws no exceptions of CLI11.
int run(const std::vector<std::string>& arguments, Context& context);

}  // namespace horae::cli
