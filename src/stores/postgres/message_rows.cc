#include "stores/postgres/message_rows.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "stores/headers.h"

namespace horae::postgres {

std::int64_t limit_of(std::size_t max) { return static_cast<std::int64_t>(std::min(max, std::size_t{INT64_MAX})); }

std::string_view text_or_nothing(std::string_view id) { return is_text(id) ? id : std::string_view(); }

Result<Message> read_message(const Row& row, int first) {
  auto headers = decode_headers(row.view(first + 4));
  if (!headers.ok()) return headers.error();
  return Message{.id = row.text(first),
                 .deadline = row.instant(first + 1),
                 .key = row.optional_text(first + 2),
                 .value = row.optional_text(first + 3),
                 .headers = std::move(*headers)};
}

std::optional<RecordPlace> read_place(const Row& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return RecordPlace{.partition = row.small(column), .offset = row.integer(column + 1)};
}

}  // namespace horae::postgres
