// The commands: one file for each noun, which adds its verbs to the tree of CLI11.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "cli/terminal/console.h"

namespace horae::cli {

// What the program exits with. docs/reference/horae.1 tells people.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;   // it was refused, or it did not work
inline constexpr int kMisused = 2;  // this program or the node cannot read what the command line says; nothing was done
inline constexpr int kNotCompleted = 3;  // it was waited for a task, which did not complete
inline constexpr int kTryAgain = 4;      // the node or its store is away: the same command may succeed later

// What all commands stand on. It outlives the tree.
struct Context {
  Console console;
  const Clock& clock;
  Random& random;
  std::map<std::string, std::string> environment;  // HORAE_...

  // Set while the command line is read: what to do then, and what it exits with.
  std::function<int()> chosen = {};
};

// Each adds its commands to `app`; `context` must outlive it.
void add_node_commands(CLI::App& app, Context& context);       // serve, migrate
void add_task_commands(CLI::App& app, Context& context);       // task submit, get, list, cancel, watch
void add_queue_commands(CLI::App& app, Context& context);      // queue list, pause, resume, set
void add_scheduler_commands(CLI::App& app, Context& context);  // scheduler status, start, stop
void add_token_commands(CLI::App& app, Context& context);      // token create, list, revoke
void add_node_list_command(CLI::App& app, Context& context);   // node list
void add_doctor_command(CLI::App& app, Context& context);      // doctor
void add_completion_command(CLI::App& app, Context& context);  // completion bash, zsh, fish
void add_manual_command(CLI::App& app, Context& context);      // manual man, configuration: hidden, for `make docs`

// A verb: its callback only chooses, so that nothing runs before the whole line is read.
CLI::App* add_verb(CLI::App& noun, const std::string& name, const std::string& help, const std::string& examples);

// The whole tree.
void add_all_commands(CLI::App& app, Context& context);

// What could come next in a command line, of which the last word (maybe empty) is being typed.
std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words);

// What may have been meant by the first flag or command of a line that does not exist.
std::optional<std::string> suggest(const CLI::App& app, const std::vector<std::string>& words);

// The man page, in roff.
std::string manual_page(const CLI::App& app);

// Runs one command line (without the name of the program). Answers what to exit with; exceptions of CLI11 stay inside.
int run(const std::vector<std::string>& arguments, Context& context);

}  // namespace horae::cli
