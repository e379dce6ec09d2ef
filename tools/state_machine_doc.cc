// Prints docs/reference/state_machine.md from the table in src/model/state.cc. `make docs` writes it, a test compares it.

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "model/state.h"

namespace {

using namespace horae;  // NOLINT(google-build-using-namespace): a program of one file

std::string place(std::optional<State> state) { return state ? std::string(to_string(*state)) : "[*]"; }

std::string word(std::optional<State> state) { return state ? std::string(to_string(*state)) : "-"; }

std::string diagram() {
  std::string text = "```mermaid\nstateDiagram-v2\n";
  for (const Transition& row : transitions()) {
    const std::string_view when = to_string(row.condition);
    text += fmt::format("    {} --> {}: {}{}\n", place(row.from), place(row.to), to_string(row.event),
                        when.empty() ? "" : fmt::format(" ({})", when));
  }
  return text + "```\n";
}

std::string table() {
  std::string text = "| event | from | to | if | effect |\n|---|---|---|---|---|\n";
  for (const Transition& row : transitions()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", to_string(row.event), word(row.from), word(row.to),
                        to_string(row.condition), row.effect);
  }
  return text;
}

// Every pair: what follows, or nothing where the event is refused.
std::string matrix() {
  std::string text = "| event | does not exist |";
  for (const State state : kAllStates) text += fmt::format(" {} |", to_string(state));
  text += "\n|---|---|";
  for (std::size_t i = 0; i < kAllStates.size(); ++i) text += "---|";
  text += "\n";
  const auto cell = [](Event event, std::optional<State> from) {
    std::string ends;
    for (const Transition& row : transitions()) {
      if (row.event != event || row.from != from) continue;
      ends += (ends.empty() ? "" : " or ") + (row.to ? std::string(to_string(*row.to)) : "gone");
    }
    return ends;
  };
  for (const Event event : kAllEvents) {
    text += fmt::format("| {} | {} |", to_string(event), cell(event, std::nullopt));
    for (const State state : kAllStates) text += fmt::format(" {} |", cell(event, state));
    text += "\n";
  }
  return text;
}

}  // namespace

int main() {
  std::cout << "# The states of a task\n\n"
               "Generated from the table in `src/model/state.cc` by `make docs`; a test fails when the two differ.\n\n"
            << diagram() << "\n## Each transition\n\n"
            << "Every one is a single compare-and-set on (state, owner, attempt) in the store. An event that is not "
               "listed for a\n"
               "state is refused, and the refusal names the task, its state and the states that were allowed.\n\n"
            << table() << "\n## Each event in each state\n\nAn empty field is a refusal.\n\n"
            << matrix();
  return 0;
}
