#include "stores/list_cursor.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "base/quote.h"

namespace horae {
namespace {

constexpr std::array<char, 5> kLetters = {'s', 'r', 'u', 'f', 'a'};  // in the order of ListKind

// Reads ":-12" from the front of `text`.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  if (!text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

ListPosition beginning_of(ListKind kind) {
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();
  return is_newest_first(kind) ? ListPosition{0, 0, kHighest} : ListPosition{kLowest, kLowest, kLowest};
}

}  // namespace

bool is_newest_first(ListKind kind) { return kind == ListKind::kFinished || kind == ListKind::kAll; }

std::string write_cursor(ListKind kind, const ListPosition& position) {
  return fmt::format("{}:{}:{}:{}", kLetters.at(static_cast<std::size_t>(kind)), position.first, position.second,
                     position.number);
}

Result<ListPosition> read_cursor(const ListQuery& query) {
  if (query.cursor.empty()) return beginning_of(query.kind);
  std::string_view rest = query.cursor;
  if (rest.front() == kLetters.at(static_cast<std::size_t>(query.kind))) {
    rest.remove_prefix(1);
    const auto first = take_number(rest);
    const auto second = first ? take_number(rest) : std::nullopt;
    const auto number = second ? take_number(rest) : std::nullopt;
    if (number && rest.empty()) return ListPosition{*first, *second, *number};
  }
  return Error{ErrorCode::kMalformed,
               fmt::format("cursor {}: is not one of this list; begin again without a cursor", quote(query.cursor))};
}

std::size_t payload_bytes(const Task& task) {
  std::size_t errors = 0;
  for (const TaskError& error : task.errors) errors += error.code.size() + error.args.size() + error.description.size();
  return errors + task.spec.size() + (task.result ? task.result->size() : 0) +
         (task.checkpoint ? task.checkpoint->size() : 0);
}

}  // namespace horae
