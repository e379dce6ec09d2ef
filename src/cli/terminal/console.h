// Where a command reads and writes, and how text looks to a person.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace horae::cli {

struct Console {
  std::istream& in;
  std::ostream& out;  // what was asked for
  std::ostream& err;  // what is said about it: errors, progress
  bool out_has_colour = false;
  bool err_is_terminal = false;
};

// The streams of the process. Colour only on a terminal that can show it, and never if NO_COLOR is set.
Console system_console();

enum class Colour { kNone, kGreen, kYellow, kRed, kBlue, kGrey };

// `text` in a colour, if the console has any.
std::string painted(const Console& console, Colour colour, std::string_view text);

// The colour of a task's state.
Colour colour_of(std::string_view state);

// `text` with U+FFFD for all that would steer a terminal or is not UTF-8: what others wrote must not.
std::string printable(std::string_view text);

// How many columns a printable text takes, a column for each character.
std::size_t width_of(std::string_view text);

}  // namespace horae::cli
