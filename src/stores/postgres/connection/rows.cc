#include "stores/postgres/connection/rows.h"

#include <libpq-fe.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/check.h"
#include "stores/postgres/connection/time.h"

namespace horae::postgres {
namespace {

std::uint64_t read_number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// Takes a number of four bytes from the front.
std::int32_t take_number(std::string_view& bytes) {
  HORAE_CHECK(bytes.size() >= 4, "an array of PostgreSQL ends too early");
  const auto value = static_cast<std::int32_t>(read_number(bytes.substr(0, 4)));
  bytes.remove_prefix(4);
  return value;
}

}  // namespace

bool Row::is_null(int column) const { return PQgetisnull(result_, row_, column) != 0; }

std::string_view Row::view(int column) const {
  return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

bool Row::boolean(int column) const { return read_number(view(column)) != 0; }

std::int64_t Row::integer(int column) const {
  const std::string_view bytes = view(column);
  const std::uint64_t value = read_number(bytes);
  if (bytes.size() == 2) return static_cast<std::int16_t>(value);
  if (bytes.size() == 4) return static_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value);
}

double Row::real(int column) const { return std::bit_cast<double>(read_number(view(column))); }

Uuid Row::uuid(int column) const {
  Uuid uuid;
  const std::string_view bytes = view(column);
  std::ranges::transform(bytes.substr(0, uuid.bytes.size()), uuid.bytes.begin(),
                         [](char byte) { return static_cast<std::uint8_t>(byte); });
  return uuid;
}

Instant Row::instant(int column) const { return from_postgres(integer(column)); }

std::vector<std::optional<std::string>> Row::texts(int column) const {
  std::vector<std::optional<std::string>> texts;
  if (is_null(column)) return texts;
  std::string_view bytes = view(column);
  const std::int32_t dimensions = take_number(bytes);
  (void)take_number(bytes);  // whether there are nulls
  (void)take_number(bytes);  // the type
  if (dimensions == 0) return texts;
  const std::int32_t size = take_number(bytes);
  (void)take_number(bytes);  // the first index
  for (std::int32_t i = 0; i < size; ++i) {
    const std::int32_t length = take_number(bytes);
    if (length < 0) {
      texts.emplace_back();
      continue;
    }
    texts.emplace_back(bytes.substr(0, static_cast<std::size_t>(length)));
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
  return texts;
}

std::optional<std::int64_t> Row::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<std::string> Row::optional_text(int column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}
std::optional<Instant> Row::optional_instant(int column) const {
  return is_null(column) ? std::nullopt : std::optional(instant(column));
}
std::optional<Duration> Row::optional_duration(int column) const {
  return is_null(column) ? std::nullopt : std::optional(duration(column));
}

std::optional<AttemptEnd> Row::attempt_end(int column) const {
  if (is_null(column)) return std::nullopt;
  return AttemptEnd{static_cast<Event>(small(column)), text(column + 1)};
}

Rows::Rows(pg_result* result) : result_(result, [](pg_result* owned) { PQclear(owned); }) {}

int Rows::size() const { return result_ ? PQntuples(result_.get()) : 0; }

std::size_t Rows::affected() const {
  if (!result_) return 0;
  const std::string_view digits = PQcmdTuples(result_.get());
  std::size_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return count;
}

}  // namespace horae::postgres
