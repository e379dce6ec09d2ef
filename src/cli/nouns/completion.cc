// horae completion bash, zsh, fish. The scripts call the program for candidates, so that they are never out of date.

#include <ostream>

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
  CLI::App& command = add_verb(noun, shell, "Print the script for " + shell, "");
  command.callback([&context, script] {
    context.action = [&context, script] {
      context.console.out << script;
      return kDone;
    };
  });
}

}  // namespace

void add_completion_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "completion", "Print a shell completion script");
  noun.footer(
      "Examples:\n"
      "  source <(horae completion bash)\n"
      "  horae completion fish > ~/.config/fish/completions/horae.fish");
  add_shell(noun, context, "bash", kBash);
  add_shell(noun, context, "zsh", kZsh);
  add_shell(noun, context, "fish", kFish);
}

}  // namespace horae::cli
