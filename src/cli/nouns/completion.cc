// horae completion bash, zsh, fish. The scripts ask the program itself, so that they never know less than it does.

#include <algorithm>
#include <memory>
#include <ostream>

#include "app/nearest.h"
#include "cli/commands.h"

namespace horae::cli {
namespace {

constexpr const char* kBash = R"(# Completion of horae for bash: source <(horae completion bash)
_horae() {
  local IFS=$'\n'
  COMPREPLY=($(horae __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _horae horae
)";

constexpr const char* kZsh = R"(#compdef horae
# Completion of horae for zsh: source <(horae completion zsh)
_horae() {
  local -a found
  found=("${(@f)$(horae __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _horae horae
)";

constexpr const char* kFish = R"(# Completion of horae for fish: horae completion fish | source
complete -c horae -a '(horae __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
)";

void add_shell(CLI::App& noun, Context& context, const std::string& shell, const char* script) {
  CLI::App* command = add_verb(noun, shell, "For " + shell, "");
  command->callback([&context, script] {
    context.chosen = [&context, script] {
      context.console.out << script;
      return kDone;
    };
  });
}

bool is_hidden(const CLI::App& app) { return app.get_group().empty(); }

// The option of `app` with that name ("--json"), or nothing.
const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  return name.starts_with("-") ? app.get_option_no_throw(name) : nullptr;
}

bool takes_value(const CLI::Option* option) { return option != nullptr && option->get_items_expected_max() > 0; }

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!is_hidden(*command)) names.push_back(command->get_name());
  }
  return names;
}

}  // namespace

std::optional<std::string> suggest(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* place = &app;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (const CLI::App* next = find_command(*place, name)) {
      place = next;
    } else if (name.starts_with("--") && place->get_option_no_throw(name) == nullptr) {
      return nearest_of(name, option_names(*place));
    } else if (!name.starts_with("-") && !command_names(*place).empty()) {
      return nearest_of(name, command_names(*place));
    }
  }
  return std::nullopt;
}

std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return command_names(app);
  const CLI::App* place = &app;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (takes_value(find_option(*place, words[i]))) {
      if (++i + 1 >= words.size()) return {};  // its value is being typed
    } else if (const CLI::App* next = find_command(*place, words[i])) {
      place = next;
    }
  }
  std::vector<std::string> candidates = words.back().starts_with("-") ? option_names(*place) : command_names(*place);
  std::erase_if(candidates, [&words](const std::string& name) { return !name.starts_with(words.back()); });
  std::ranges::sort(candidates);
  return candidates;
}

void add_completion_command(CLI::App& app, Context& context) {
  CLI::App* noun = app.add_subcommand("completion", "Print a script that completes command lines: bash, zsh, fish");
  noun->require_subcommand(1);
  noun->footer(
      "Examples:\n"
      "  source <(horae completion bash)\n"
      "  horae completion fish > ~/.config/fish/completions/horae.fish");
  add_shell(*noun, context, "bash", kBash);
  add_shell(*noun, context, "zsh", kZsh);
  add_shell(*noun, context, "fish", kFish);
}

}  // namespace horae::cli
