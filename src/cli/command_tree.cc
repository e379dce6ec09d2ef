#include "cli/command_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "app/nearest.h"
#include "base/quote.h"

namespace horae::cli {
namespace {

bool is_hidden(const CLI::App& app) { return app.get_group().empty(); }

// The option of `app` with that name ("--json"), or nothing.
const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  return name.starts_with("-") ? app.get_option_no_throw(name) : nullptr;
}

bool takes_value(const CLI::Option* option) { return option != nullptr && option->get_items_expected_max() > 0; }

std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : all_commands(app)) {
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
  for (const CLI::App* command : visible_commands(app)) names.push_back(command->get_name());
  return names;
}

constexpr std::string_view kUnexpected = "not expected: ";  // in the words of CLI11

// The reason that CLI11 gives, in words of this program.
std::string reason_of(const std::string& said) {
  constexpr std::string_view kConversion = "Could not convert: ";
  constexpr std::string_view kEquals = " = ";
  const auto equals = said.find(kEquals);
  if (said.starts_with(kConversion) && equals != std::string::npos) {
    return fmt::format("{} {}: give a whole number", said.substr(kConversion.size(), equals - kConversion.size()),
                       quote(said.substr(equals + kEquals.size())));
  }
  constexpr std::string_view kMissing = ": 1 required ";
  const auto missing = said.find(kMissing);
  if (missing != std::string::npos) return said.substr(0, missing) + " needs a value";
  const auto unexpected = said.find(kUnexpected);
  if (unexpected == std::string::npos) return said;
  return "unexpected argument: " + said.substr(unexpected + kUnexpected.size());
}

}  // namespace

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands = all_commands(app);
  std::erase_if(commands, [](const CLI::App* command) { return is_hidden(*command); });
  return commands;
}

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

std::string misuse_of(const CLI::App& app, const std::vector<std::string>& words, const std::string& said) {
  const CLI::App* place = &app;
  std::string path = app.get_name();
  std::string reason;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (const CLI::App* next = find_command(*place, name)) {
      place = next;
      path += " " + name;
    } else if (name.starts_with("--") && place->get_option_no_throw(name) == nullptr) {
      reason = "there is no flag " + name;
    } else if (!name.starts_with("-") && !command_names(*place).empty()) {
      reason = "there is no command " + quote(word);
    }
    if (!reason.empty()) break;
  }
  if (reason.empty()) {
    const auto commands = command_names(*place);
    const bool is_known = commands.empty() || said.find(kUnexpected) != std::string::npos;
    reason = is_known ? reason_of(said) : fmt::format("give a command: {}", fmt::join(commands, ", "));
  }
  return fmt::format("{0}: {1} ({0} --help)", path, reason);
}

std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return command_names(app);
  const CLI::App* place = &app;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (takes_value(find_option(*place, words[i]))) {
      if (++i + 1 >= words.size()) return {};  // the value of an option is being typed
    } else if (const CLI::App* next = find_command(*place, words[i])) {
      place = next;
    }
  }
  std::vector<std::string> candidates = words.back().starts_with("-") ? option_names(*place) : command_names(*place);
  std::erase_if(candidates, [&words](const std::string& name) { return !name.starts_with(words.back()); });
  std::ranges::sort(candidates);
  return candidates;
}

}  // namespace horae::cli
