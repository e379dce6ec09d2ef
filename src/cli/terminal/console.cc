#include "cli/terminal/console.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/utf8.h"

namespace horae::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return "";
    case Colour::kGreen:
      return "\x1b[32m";
    case Colour::kYellow:
      return "\x1b[33m";
    case Colour::kRed:
      return "\x1b[31m";
    case Colour::kBlue:
      return "\x1b[34m";
    case Colour::kGrey:
      return "\x1b[90m";
  }
  return "";
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

Console system_console() {
  const bool wants_colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return {.in = std::cin,
          .out = std::cout,
          .err = std::cerr,
          .out_has_colour = wants_colour && ::isatty(STDOUT_FILENO) == 1,
          .err_is_terminal = ::isatty(STDERR_FILENO) == 1 && variable("TERM") != "dumb"};
}

std::string painted(const Console& console, Colour colour, std::string_view text) {
  if (!console.out_has_colour || colour == Colour::kNone) return std::string(text);
  return std::string(code_of(colour)) + std::string(text) + "\x1b[0m";
}

Colour colour_of(std::string_view state) {
  if (state == "completed") return Colour::kGreen;
  if (state == "running") return Colour::kBlue;
  if (state == "aborted") return Colour::kRed;
  if (state == "cancelled") return Colour::kYellow;
  if (state == "scheduled") return Colour::kGrey;
  return Colour::kNone;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Utf8Char next = read_utf8(text);
    result += next.valid && !is_control(next.code) ? text.substr(0, next.length) : kReplacement;
    text.remove_prefix(next.length);
  }
  return result;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (; !text.empty(); ++width) text.remove_prefix(read_utf8(text).length);
  return width;
}

}  // namespace horae::cli
