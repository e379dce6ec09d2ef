// Reads the members of a JSON object as values, with errors that name the field, its value and what is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json_scan.h"
#include "base/result.h"
#include "base/uuid.h"

namespace horae {

// A JSON value for a message: short, and on one line.
std::string show_json(std::string_view value);

// Reads one object. It keeps the first fault, and from then on every field is absent; so the caller reads all fields
// and checks for a fault once, at the end.
//
//   FieldReader fields(body, {"queue", "priority"});
//   fields.require("queue");
//   const auto queue = fields.text("queue");
//   const auto priority = fields.integer("priority");
//   if (fields.fault()) return *fields.fault();
//
// A field that is `null` is absent, except for json() and require(). An unknown field (unless those are ignored) or a repeated one is
// a fault. All faults are kMalformed.
//
// Not thread-safe. The text must outlive the reader.
class FieldReader {
 public:
  enum class Unknown { kRefused, kIgnored };

  // `place` is put before the names of fields in messages: "retry.".
  FieldReader(std::string_view json, std::span<const std::string_view> known, std::string place = {},
              Unknown unknown = Unknown::kRefused);
  FieldReader(std::string_view json, std::initializer_list<std::string_view> known, std::string place = {},
              Unknown unknown = Unknown::kRefused)
      : FieldReader(json, std::span(known.begin(), known.size()), std::move(place), unknown) {}

  // Whether the field with this place among the known ones is present, perhaps as null. After a fault none is.
  bool has(std::size_t index) const { return index < kMostKnown && (present_ >> index & 1) != 0; }

  // A fault if it is absent, or null unless null is one of its values.
  void require(std::string_view name, bool takes_null = false);

  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name);
  std::optional<double> number(std::string_view name);  // finite
  std::optional<bool> boolean(std::string_view name);
  std::optional<Duration> duration(std::string_view name);
  std::optional<Instant> instant(std::string_view name);
  std::optional<Uuid> uuid(std::string_view name);
  std::optional<std::string_view> json(std::string_view name);          // the exact bytes, also of a null
  std::optional<std::string_view> present_json(std::string_view name);  // the exact bytes of anything but null
  std::optional<std::vector<std::string_view>> array(std::string_view name);
  std::optional<std::vector<std::string>> texts(std::string_view name);  // an array of strings

  // A whole number that fits an int.
  std::optional<int> small_integer(std::string_view name);

  const std::optional<Error>& fault() const { return fault_; }

  // Rejects the value of the field, given as JSON, or as the text of a string. `allowed` says what to give instead.
  void fail(std::string_view name, std::string_view json, std::string_view allowed);
  void fail_text(std::string_view name, std::string_view text, std::string_view allowed);
  void fail(Error error);

 private:
  struct Field {
    std::string_view name;
    std::string_view value;
  };

  Error not_an_object(std::string_view json, std::span<const std::string_view> known) const;
  void take(const JsonMember& member, std::span<const std::string_view> known, Unknown unknown);
  // The value if it is present and of that kind; a fault if it is of another.
  std::optional<std::string_view> value_of(std::string_view name, JsonKind kind, std::string_view allowed);
  template <typename T>
  std::optional<T> parsed(std::string_view name, std::string_view allowed, Result<T> (*parse)(std::string_view));

  static constexpr std::size_t kMostKnown = 64;

  const std::string place_;
  std::vector<Field> fields_;
  std::uint64_t present_ = 0;  // bits of the known fields that are in fields_
  std::optional<Error> fault_;
};

}  // namespace horae
