#include "stores/postgres/connection/params.h"

#include <array>
#include <bit>

#include "stores/postgres/connection/time.h"

namespace horae::postgres {
namespace {

std::uint32_t array_of(Type type) {
  switch (type) {
    case Type::kBool:
      return 1000;
    case Type::kBytes:
      return 1001;
    case Type::kInt2:
      return 1005;
    case Type::kInt4:
      return 1007;
    case Type::kText:
      return 1009;
    case Type::kInt8:
      return 1016;
    case Type::kFloat8:
      return 1022;
    case Type::kTime:
      return 1185;
    case Type::kUuid:
      return 2951;
  }
  return 0;
}

}  // namespace

void Params::begin(Type type, bool is_array) {
  types_.push_back(is_array ? array_of(type) : static_cast<std::uint32_t>(type));
  places_.push_back({bytes_.size(), bytes_.size(), false});
}

void Params::put_null() { places_.back().null = true; }

// Network byte order, as everything on the wire.
template <typename Number>
void Params::put_number(Number value) {
  std::array<char, sizeof(Number)> bytes;
  int shift = static_cast<int>(sizeof(Number)) * 8;
  for (char& byte : bytes) byte = static_cast<char>(value >> (shift -= 8) & 0xff);
  bytes_.append(bytes.data(), bytes.size());
  places_.back().to = bytes_.size();
}
template void Params::put_number<std::uint32_t>(std::uint32_t);

void Params::write_number(std::size_t at, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes_[at++] = static_cast<char>(value >> shift & 0xff);
}

void Params::put(bool value) { put_number(static_cast<std::uint8_t>(value)); }
void Params::put(std::int16_t value) { put_number(static_cast<std::uint16_t>(value)); }
void Params::put(std::int32_t value) { put_number(static_cast<std::uint32_t>(value)); }
void Params::put(std::int64_t value) { put_number(static_cast<std::uint64_t>(value)); }
void Params::put(double value) { put_number(std::bit_cast<std::uint64_t>(value)); }
void Params::put(Instant time) { put(to_postgres(time)); }

void Params::put(std::string_view text) {
  bytes_.append(text);
  places_.back().to = bytes_.size();
}

void Params::put(const Uuid& uuid) {
  bytes_.append(reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size());
  places_.back().to = bytes_.size();
}

void Params::begin_array(Type type, std::size_t size, bool has_nulls) {
  if (!rows_) rows_ = size;
  put_number(std::uint32_t{size > 0 ? 1U : 0U});  // dimensions
  put_number(static_cast<std::uint32_t>(has_nulls));
  put_number(static_cast<std::uint32_t>(type));
  if (size == 0) return;
  put_number(static_cast<std::uint32_t>(size));
  put_number(std::uint32_t{1});  // the first index
}

std::vector<const char*> Params::values() const {
  std::vector<const char*> values;
  values.reserve(places_.size());
  for (const Place& place : places_) values.push_back(place.null ? nullptr : bytes_.data() + place.from);
  return values;
}

std::vector<int> Params::lengths() const {
  std::vector<int> lengths;
  lengths.reserve(places_.size());
  for (const Place& place : places_) lengths.push_back(static_cast<int>(place.to - place.from));
  return lengths;
}

}  // namespace horae::postgres
