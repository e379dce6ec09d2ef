#include "stores/postgres/connection/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace horae::postgres {
namespace {

constexpr std::string_view kList = "values (";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

// Behind the parenthesis that closes the one at `open`.
std::size_t end_of_list(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

// The highest N of its $N.
int parameters_in(std::string_view text) {
  int highest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') continue;
    int number = 0;
    while (i + 1 < text.size() && is_digit(text[i + 1])) number = number * 10 + (text[++i] - '0');
    highest = std::max(highest, number);
  }
  return highest;
}

// A row whose names have become parameters after the first `count`, which counts on.
std::string numbered(std::string_view row, int& count) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool is_parameter = row[i] == ':' && i + 1 < row.size() && is_name(row[i + 1]) && row[i - 1] != ':';
    if (!is_parameter) {
      text += row[i];
      continue;
    }
    text += fmt::format("${}", ++count);
    while (is_name(row[i + 1])) ++i;  // a parenthesis follows at last
  }
  return text;
}

}  // namespace

ValuesStatement::ValuesStatement(const Sql& sql) {
  const std::string_view text = sql.text;
  const std::size_t list = text.find(kList);
  HORAE_CHECK(list != std::string_view::npos, "no list of values in " + sql.name);
  const std::size_t open = list + kList.size() - 1;
  const std::size_t end = end_of_list(text, open);
  HORAE_CHECK(end != std::string_view::npos, "a list of values without an end in " + sql.name);
  const int fixed = parameters_in(text);
  for (std::size_t size = 1; size <= kMostRows; size *= 2) {
    int count = fixed;
    std::string rows;
    for (std::size_t row = 0; row < size; ++row) {
      if (row > 0) rows += ", ";
      rows += numbered(text.substr(open, end - open), count);
    }
    by_size_.push_back({fmt::format("{}_{}", sql.name, size),
                        fmt::format("{}{}{}", text.substr(0, open), rows, text.substr(end)), sql.changes});
  }
}

}  // namespace horae::postgres
