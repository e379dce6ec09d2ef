// Parameters of a statement in PostgreSQL's binary format: values, and arrays for batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/uuid.h"

namespace horae::postgres {

// The types that we send, by PostgreSQL's numbers for them (pg_type.oid), which never change.
enum class Type : std::uint32_t {
  kBool = 16,
  kBytes = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kFloat8 = 701,
  kTime = 1184,  // timestamptz
  kUuid = 2950,
};

// Bytes that are not text.
struct Blob {
  std::string_view bytes;
};

// The parameters of one statement, $1 first. Durations go as whole nanoseconds.
class Params {
 public:
  template <typename... Values>
  static Params of(const Values&... values) {
    Params params;
    (params.add(values), ...);
    return params;
  }

  // A value, an optional one (null if absent), or a vector of either.
  template <typename T>
  Params& add(const T& value) {
    begin(Trait<T>::kType, Trait<T>::kIsArray);
    Trait<T>::write(*this, value);
    return *this;
  }

  std::size_t size() const { return types_.size(); }

  // The elements of the first array; 0 without one.
  std::size_t rows() const { return rows_.value_or(0); }

  const std::vector<std::uint32_t>& types() const { return types_; }

  // What libpq wants. The pointers are valid until the next add().
  std::vector<const char*> values() const;
  std::vector<int> lengths() const;

 private:
  template <typename T>
  struct Trait;

  void begin(Type type, bool is_array);
  void put_null();
  void put(bool value);
  void put(std::int16_t value);
  void put(std::int32_t value);
  void put(std::int64_t value);
  void put(double value);
  void put(std::string_view text);
  void put(Blob blob) { put(blob.bytes); }
  void put(const Uuid& uuid);
  void put(Instant time);
  void put(Duration length) { put(static_cast<std::int64_t>(length.count())); }

  // An array is a header and elements, each with its length before it.
  void begin_array(Type type, std::size_t size, bool has_nulls);
  template <typename T>
  void put_element(const T& value);

  // Only saves growing step by step.
  template <typename T>
  void make_room(const std::vector<T>& values);

  template <typename Number>
  void put_number(Number value);
  void write_number(std::size_t at, std::uint32_t value);

  struct Place {
    std::size_t from = 0;
    std::size_t to = 0;
    bool null = false;
  };

  std::vector<std::uint32_t> types_;
  std::optional<std::size_t> rows_;
  std::vector<Place> places_;
  std::string bytes_;
};

// ---- Which C++ types are which PostgreSQL types ----

template <typename T>
struct TypeOf;
template <>
struct TypeOf<bool> {
  static constexpr Type kType = Type::kBool;
};
template <>
struct TypeOf<std::int16_t> {
  static constexpr Type kType = Type::kInt2;
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr Type kType = Type::kInt4;
};
template <>
struct TypeOf<std::int64_t> {
  static constexpr Type kType = Type::kInt8;
};
template <>
struct TypeOf<double> {
  static constexpr Type kType = Type::kFloat8;
};
template <>
struct TypeOf<std::string> {
  static constexpr Type kType = Type::kText;
};
template <>
struct TypeOf<std::string_view> {
  static constexpr Type kType = Type::kText;
};
template <>
struct TypeOf<Blob> {
  static constexpr Type kType = Type::kBytes;
};
template <>
struct TypeOf<Uuid> {
  static constexpr Type kType = Type::kUuid;
};
template <>
struct TypeOf<Instant> {
  static constexpr Type kType = Type::kTime;
};
template <>
struct TypeOf<Duration> {
  static constexpr Type kType = Type::kInt8;
};
template <typename T>
struct TypeOf<std::optional<T>> : TypeOf<T> {};

template <typename T>
struct Params::Trait {
  static constexpr Type kType = TypeOf<T>::kType;
  static constexpr bool kIsArray = false;
  static void write(Params& params, const T& value) { params.put(value); }
};

template <typename T>
struct Params::Trait<std::optional<T>> {
  static constexpr Type kType = TypeOf<T>::kType;
  static constexpr bool kIsArray = false;
  static void write(Params& params, const std::optional<T>& value) {
    if (value) {
      params.put(*value);
    } else {
      params.put_null();
    }
  }
};

template <typename T>
struct Params::Trait<std::optional<std::vector<T>>> {
  static constexpr Type kType = TypeOf<T>::kType;
  static constexpr bool kIsArray = true;
  static void write(Params& params, const std::optional<std::vector<T>>& values) {
    if (values) {
      Trait<std::vector<T>>::write(params, *values);
    } else {
      params.put_null();
    }
  }
};

template <typename T>
struct Params::Trait<std::vector<T>> {
  static constexpr Type kType = TypeOf<T>::kType;
  static constexpr bool kIsArray = true;
  static void write(Params& params, const std::vector<T>& values) {
    params.begin_array(kType, values.size(), true);
    params.make_room(values);
    for (const T& value : values) params.put_element(value);
  }
};

template <typename T>
void Params::make_room(const std::vector<T>& values) {
  std::size_t bytes = bytes_.size() + values.size() * (sizeof(std::uint32_t) + sizeof(T));
  if constexpr (requires(const T& text) { text.size(); }) {
    for (const T& text : values) bytes += text.size();
  }
  bytes_.reserve(bytes);
}

template <typename T>
void Params::put_element(const T& value) {
  const std::size_t length_at = bytes_.size();
  put_number(std::uint32_t{0});
  if constexpr (requires { value.has_value(); }) {
    if (!value) {
      write_number(length_at, 0xffffffffU);
      return;
    }
    put(*value);
  } else {
    put(value);
  }
  write_number(length_at, static_cast<std::uint32_t>(bytes_.size() - length_at - sizeof(std::uint32_t)));
  places_.back().to = bytes_.size();
}

}  // namespace horae::postgres
