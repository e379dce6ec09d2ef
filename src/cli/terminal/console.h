// The streams of a command, and how text is displayed.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace horae::cli {

struct Console {
  std::istream& in;
  std::ostream& out;  // the result
  std::ostream& err;  // errors and progress
  bool out_has_colour = false;
  bool err_is_terminal = false;
};

// The streams of the process. Colours only on a terminal that supports them, and never if NO_COLOR is set.
Console system_console();

enum class Colour { kNone, kGreen, kYellow, kRed, kBlue, kGrey };

// `text` in a colour, if the console has colours.
std::string painted(const Console& console, Colour colour, std::string_view text);

// The colour of a task's state.
Colour colour_of(std::string_view state);

// `text` with U+FFFD for control characters and bytes that are not UTF-8, so that data cannot control the terminal.
std::string printable(std::string_view text);

// The width of a printable text in columns: one for each character.
std::size_t width_of(std::string_view text);

}  // namespace horae::cli
