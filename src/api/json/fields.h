// The fields of a type in JSON, as a table: each row says how one field is named, described, written and read.
//
// Reading, writing and the OpenAPI document all walk the same rows, so that they cannot drift apart. A row is made from
// a member and, where the type of the member does not say it, a form:
//
//   constexpr std::array kRows = {
//       field<&TaskError::code>("code", schema::kText).required(),
//       field<&TaskError::args, AsBytes>("args", schema::kAny),
//       field<&TaskError::description>("description", schema::kText),
//   };
//   static_assert(kRows.size() == member_count<TaskError>());
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/json/field_reader.h"
#include "api/json/json_writer.h"
#include "base/member_count.h"  // IWYU pragma: export
#include "base/result.h"

namespace horae {

// One field of a T. `write` or `read` is null for a field that is only read or only written. `read` is called for fields
// that are present, also as null.
template <typename T>
struct Field {
  std::string_view name;
  std::string_view schema;  // JSON Schema of the value
  bool is_required = false;
  bool takes_null = false;  // null is a value, not the absence of one
  void (*write)(JsonObject& object, std::string_view name, const T& from) = nullptr;
  void (*read)(FieldReader& reader, std::string_view name, T& to) = nullptr;

  // Bodies must contain the field; answers always do.
  constexpr Field required() const {
    Field changed = *this;
    changed.is_required = true;
    return changed;
  }
};

// ---- Forms: how a value looks in JSON ----

// As its type says: text, numbers, booleans, ids, times and durations. Absent values are written as null, and a field
// that is absent or null leaves the default.
struct AsValue {
  template <typename V>
  static void write(JsonObject& object, std::string_view name, const V& value) {
    object.add(name, value);
  }
  template <typename V>
  static void read(FieldReader& reader, std::string_view name, V& to) {
    if (auto value = read_one(reader, name, std::type_identity<V>())) to = std::move(*value);
  }

 private:
  template <typename V>
  static auto read_one(FieldReader& reader, std::string_view name, std::type_identity<std::optional<V>> /*type*/) {
    return read_one(reader, name, std::type_identity<V>());
  }
  template <typename V>
  static std::optional<V> read_one(FieldReader& reader, std::string_view name, std::type_identity<V> /*type*/) {
    if constexpr (std::same_as<V, std::string>)
      return reader.text(name);
    else if constexpr (std::same_as<V, bool>)
      return reader.boolean(name);
    else if constexpr (std::same_as<V, int>)
      return reader.small_integer(name);
    else if constexpr (std::integral<V>)
      return reader.integer(name);
    else if constexpr (std::same_as<V, double>)
      return reader.number(name);
    else if constexpr (std::same_as<V, Uuid>)
      return reader.uuid(name);
    else if constexpr (std::same_as<V, Duration>)
      return reader.duration(name);
    else
      return reader.instant(name);
  }
};

// JSON of a client, kept as its exact bytes. Of an optional one, null means absent.
struct AsBytes {
  static void write(JsonObject& object, std::string_view name, const std::string& json) { object.add_json(name, json); }
  static void write(JsonObject& object, std::string_view name, const std::optional<std::string>& json) {
    object.add_optional_json(name, json);
  }
  static void read(FieldReader& reader, std::string_view name, std::string& to) {
    if (const auto json = reader.json(name)) to = *json;
  }
  static void read(FieldReader& reader, std::string_view name, std::optional<std::string>& to) {
    if (const auto json = reader.present_json(name)) to = *json;
  }
};

// The name of an enumerator.
struct AsName {
  template <typename V>
  static void write(JsonObject& object, std::string_view name, const V& value) {
    object.add(name, to_string(value));
  }
};

// ---- Rows ----

template <typename>
struct MemberOf;
template <typename T, typename V>
struct MemberOf<V T::*> {
  using Whole = T;
};
template <auto kMember>
using WholeOf = typename MemberOf<decltype(kMember)>::Whole;

// A field that answers contain.
template <auto kMember, typename Form = AsValue>
constexpr Field<WholeOf<kMember>> written(std::string_view name, std::string_view schema) {
  using T = WholeOf<kMember>;
  return {.name = name, .schema = schema, .write = [](JsonObject& object, std::string_view key, const T& from) {
            Form::write(object, key, from.*kMember);
          }};
}

// A field that bodies may contain.
template <auto kMember, typename Form = AsValue>
constexpr Field<WholeOf<kMember>> accepted(std::string_view name, std::string_view schema) {
  using T = WholeOf<kMember>;
  return {.name = name,
          .schema = schema,
          .takes_null = std::same_as<Form, AsBytes>,
          .read = [](FieldReader& reader, std::string_view key, T& to) { Form::read(reader, key, to.*kMember); }};
}

// A field that answers contain and bodies may contain.
template <auto kMember, typename Form = AsValue>
constexpr Field<WholeOf<kMember>> field(std::string_view name, std::string_view schema) {
  auto both = accepted<kMember, Form>(name, schema);
  both.write = written<kMember, Form>(name, schema).write;
  return both;
}

// ---- Tables ----

template <typename T>
struct FieldTable {
  std::span<const Field<T>> rows;
  std::span<const std::string_view> names;

  void write(JsonObject& object, const T& from) const {
    for (const Field<T>& row : rows) row.write(object, row.name, from);
  }

  // `place` is put before the names of fields in messages: "retry.".
  Result<T> read(std::string_view json, std::string place = {}) const {
    FieldReader reader(json, names, std::move(place));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].is_required) reader.require(rows[i].name, rows[i].takes_null);
    }
    T value;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (reader.has(i)) rows[i].read(reader, rows[i].name, value);
    }
    if (reader.fault()) return *reader.fault();
    return value;
  }
};

template <typename T, std::size_t kCount>
constexpr std::array<std::string_view, kCount> names_of(const std::array<Field<T>, kCount>& rows) {
  std::array<std::string_view, kCount> names;
  for (std::size_t i = 0; i < kCount; ++i) names[i] = rows[i].name;
  return names;
}

// ---- Schemas ----

namespace schema {

inline constexpr std::string_view kAny = "{}";
inline constexpr std::string_view kText = R"({"type":"string"})";
inline constexpr std::string_view kTextOrNull = R"({"type":["string","null"]})";
inline constexpr std::string_view kInteger = R"({"type":"integer"})";
inline constexpr std::string_view kNumber = R"({"type":"number"})";
inline constexpr std::string_view kBoolean = R"({"type":"boolean"})";
inline constexpr std::string_view kUuid = R"({"type":"string","format":"uuid"})";
inline constexpr std::string_view kTime = R"({"type":"string","format":"date-time"})";
inline constexpr std::string_view kTimeOrNull = R"({"type":["string","null"],"format":"date-time"})";
inline constexpr std::string_view kDuration = R"({"$ref":"#/components/schemas/Duration"})";
inline constexpr std::string_view kName = R"({"$ref":"#/components/schemas/Name"})";
inline constexpr std::string_view kQueueName = R"({"$ref":"#/components/schemas/QueueName"})";

// The schema that also allows null. Values that may be anything allow it already.
std::string or_null(std::string_view schema);

}  // namespace schema

struct Property {
  std::string_view name;
  std::string schema;
  bool is_required = false;
};

template <typename T>
std::vector<Property> properties_of(const FieldTable<T>& table) {
  std::vector<Property> properties;
  for (const Field<T>& row : table.rows) {
    const bool is_nullable = row.read != nullptr && !row.is_required;  // a body may give null for absent
    properties.push_back({.name = row.name,
                          .schema = is_nullable ? schema::or_null(row.schema) : std::string(row.schema),
                          .is_required = row.is_required});
  }
  return properties;
}

// The schema of an object with these properties. `more` is what else it says: "additionalProperties":false.
std::string object_schema(const std::vector<Property>& properties, std::string_view more = {});

}  // namespace horae
