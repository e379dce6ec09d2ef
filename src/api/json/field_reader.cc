#include "api/json/field_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/duration.h"
#include "base/quote.h"
#include "base/time_text.h"
#include "base/utf8.h"

namespace horae {
namespace {

constexpr std::string_view kDurationForm = "give a duration such as \"5s\", \"10ms\" or \"1h30m\"";
constexpr std::string_view kInstantForm = "give an RFC 3339 date and time such as \"2026-11-16T02:14:07Z\"";
constexpr std::string_view kUuidForm = "give a UUID such as \"0190f7c2-0a1b-7c3d-8e4f-0123456789ab\"";

Result<Instant> parse_strict_instant(std::string_view text) { return parse_instant(text); }

std::string list_of(std::span<const std::string_view> names) {
  std::string all;
  for (const std::string_view name : names) {
    if (!all.empty()) all += ", ";
    all += name;
  }
  return all;
}

constexpr std::size_t kMostShown = 48;  // of a value, in bytes

constexpr std::size_t kMostNamedFields = 12;

bool is_another_kind(std::string_view json) {
  const auto value = scan_json(json);
  return value.ok() && kind_of(*value) != JsonKind::kObject;
}

// The length of the string that begins there, with its quotes.
std::size_t length_of_string(std::string_view text) {
  const auto is_escaped = [text](std::size_t quote) {
    const std::size_t before = text.find_last_not_of('\\', quote - 1);
    return (quote - 1 - before) % 2 == 1;
  };
  std::size_t quote = text.find('"', 1);
  while (is_escaped(quote)) quote = text.find('"', quote + 1);
  return quote + 1;
}

// The length of the value that begins there: up to the comma or the bracket that follows it.
std::size_t length_of_value(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at += length_of_string(text.substr(at));
      continue;
    }
    const bool is_end = c == ']' || c == '}';
    if (depth == 0 && (is_end || c == ',')) return at;
    if (c == '[' || c == '{') ++depth;
    if (is_end) --depth;
    ++at;
  }
  return text.size();
}

std::string_view without_space_around(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

// The elements of an array that was scanned as a part of its object, so that only their ends have to be found.
std::vector<std::string_view> elements_of(std::string_view array) {
  std::vector<std::string_view> elements;
  std::string_view rest = without_space_around(array.substr(1, array.size() - 2));
  while (!rest.empty()) {
    const std::size_t length = length_of_value(rest);
    elements.push_back(without_space_around(rest.substr(0, length)));
    rest = without_space_around(rest.substr(std::min(length + 1, rest.size())));
  }
  return elements;
}

template <typename T>
std::optional<T> read_number(std::string_view text) {
  T value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// "112.0" is "112": the same number in JSON, and how some languages write it.
std::string_view without_zeros(std::string_view number) {
  const std::size_t point = number.find('.');
  if (point == std::string_view::npos || number.find_first_not_of('0', point + 1) != std::string_view::npos)
    return number;
  return number.substr(0, point);
}

}  // namespace

std::string show_json(std::string_view value) {
  if (kind_of(value) == JsonKind::kString) return quote(unescape_json(value), kMostShown);
  std::string shown;
  for (std::string_view rest = value; !rest.empty();) {
    const Utf8Char character = read_utf8(rest);
    if (shown.size() + character.length > kMostShown) return shown + "...";
    shown += is_control(character.code) ? " " : rest.substr(0, character.length);
    rest.remove_prefix(character.length);
  }
  return shown;
}

FieldReader::FieldReader(std::string_view json, std::span<const std::string_view> known, std::string place,
                         Unknown unknown)
    : place_(std::move(place)) {
  HORAE_CHECK(known.size() <= kMostKnown, "an object has few known fields");
  const auto members = scan_object(json);
  if (!members.ok()) {
    fail(is_another_kind(json) ? not_an_object(json, known) : members.error());
    return;
  }
  for (const JsonMember& member : *members) take(member, known, unknown);
}

// The error for a value that is JSON but not an object. To stay short, it names the fields only if there are few.
Error FieldReader::not_an_object(std::string_view json, std::span<const std::string_view> known) const {
  const std::string where = place_.empty() ? "" : place_.substr(0, place_.size() - 1) + " ";  // without its dot
  const std::string fields = known.size() <= kMostNamedFields ? ", with fields of " + list_of(known) : "";
  return {ErrorCode::kMalformed,
          fmt::format("{}{}: this is {}; give an object{}", where, show_json(scan_json(json).value()),
                      to_string(kind_of(scan_json(json).value())), fields)};
}

void FieldReader::take(const JsonMember& member, std::span<const std::string_view> known, Unknown unknown) {
  std::string plain;
  std::string_view key = member.key;
  if (key.find('\\') != std::string_view::npos) {
    plain = unescape_json("\"" + std::string(key) + "\"");
    key = plain;
  }
  const auto name = std::ranges::find(known, key);
  if (name == known.end()) {
    if (unknown == Unknown::kIgnored) return;
    return fail({ErrorCode::kMalformed,
                 fmt::format("{}{}: there is no such field; give {}", place_, quote(key), list_of(known))});
  }
  if (std::ranges::find(fields_, *name, &Field::name) != fields_.end()) {
    return fail({ErrorCode::kMalformed, fmt::format("{}{}: it is given twice; give it once", place_, *name)});
  }
  fields_.push_back({*name, member.value});
  present_ |= std::uint64_t{1} << static_cast<std::size_t>(name - known.begin());
}

void FieldReader::fail(Error error) {
  if (!fault_) fault_ = std::move(error);
  fields_.clear();
  present_ = 0;
}

void FieldReader::fail(std::string_view name, std::string_view json, std::string_view allowed) {
  fail({ErrorCode::kMalformed, fmt::format("{}{} {}: {}", place_, name, show_json(json), allowed)});
}

void FieldReader::fail_text(std::string_view name, std::string_view text, std::string_view allowed) {
  fail({ErrorCode::kMalformed, fmt::format("{}{} {}: {}", place_, name, quote(text, kMostShown), allowed)});
}

void FieldReader::require(std::string_view name, bool takes_null) {
  if (fault_ || (takes_null ? json(name) : present_json(name))) return;
  fail({ErrorCode::kMalformed,
        fmt::format("{}{}: it is {}; this field is required", place_, name, json(name) ? "null" : "missing")});
}

std::optional<std::string_view> FieldReader::json(std::string_view name) {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  if (found == fields_.end()) return std::nullopt;
  return found->value;
}

std::optional<std::string_view> FieldReader::present_json(std::string_view name) {
  const auto value = json(name);
  if (!value || kind_of(*value) == JsonKind::kNull) return std::nullopt;
  return value;
}

std::optional<std::string_view> FieldReader::value_of(std::string_view name, JsonKind kind, std::string_view allowed) {
  const auto value = present_json(name);
  if (!value || kind_of(*value) == kind) return value;
  fail(name, *value, allowed);
  return std::nullopt;
}

template <typename T>
std::optional<T> FieldReader::parsed(std::string_view name, std::string_view allowed,
                                     Result<T> (*parse)(std::string_view)) {
  const auto value = value_of(name, JsonKind::kString, allowed);
  if (!value) return std::nullopt;
  auto read = parse(unescape_json(*value));
  if (read.ok()) return std::move(*read);
  fail({ErrorCode::kMalformed, fmt::format("{}{}: {}; {}", place_, name, read.error().message, allowed)});
  return std::nullopt;
}

std::optional<std::string> FieldReader::text(std::string_view name) {
  const auto value = value_of(name, JsonKind::kString, "give a string");
  if (!value) return std::nullopt;
  return unescape_json(*value);
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name) {
  const auto value = value_of(name, JsonKind::kNumber, "give a whole number");
  if (!value) return std::nullopt;
  const auto read = read_number<std::int64_t>(without_zeros(*value));
  if (!read) fail(name, *value, "give a whole number of at most 64 bits, without exponent");
  return read;
}

std::optional<int> FieldReader::small_integer(std::string_view name) {
  const auto value = integer(name);
  if (!value) return std::nullopt;
  if (*value >= std::numeric_limits<int>::min() && *value <= std::numeric_limits<int>::max()) {
    return static_cast<int>(*value);
  }
  fail(name, std::to_string(*value), "give a whole number of at most 32 bits");
  return std::nullopt;
}

std::optional<double> FieldReader::number(std::string_view name) {
  const auto value = value_of(name, JsonKind::kNumber, "give a number");
  if (!value) return std::nullopt;
  const auto read = read_number<double>(*value);
  if (read && std::isfinite(*read)) return read;
  fail(name, *value, "give a number that a double can hold");
  return std::nullopt;
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const auto value = value_of(name, JsonKind::kBool, "give true or false");
  if (!value) return std::nullopt;
  return *value == "true";
}

std::optional<Duration> FieldReader::duration(std::string_view name) {
  return parsed<Duration>(name, kDurationForm, parse_duration);
}

std::optional<Instant> FieldReader::instant(std::string_view name) {
  return parsed<Instant>(name, kInstantForm, parse_strict_instant);
}

std::optional<Uuid> FieldReader::uuid(std::string_view name) { return parsed<Uuid>(name, kUuidForm, parse_uuid); }

std::optional<std::vector<std::string_view>> FieldReader::array(std::string_view name) {
  const auto value = value_of(name, JsonKind::kArray, "give an array");
  if (!value) return std::nullopt;
  return elements_of(*value);
}

std::optional<std::vector<std::string>> FieldReader::texts(std::string_view name) {
  const auto elements = array(name);
  if (!elements) return std::nullopt;
  std::vector<std::string> all;
  for (const std::string_view element : *elements) {
    if (kind_of(element) != JsonKind::kString) {
      fail(name, element, "give an array of strings");
      return std::nullopt;
    }
    all.push_back(unescape_json(element));
  }
  return all;
}

}  // namespace horae
