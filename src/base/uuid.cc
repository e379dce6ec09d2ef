#include "base/uuid.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/quote.h"
#include "base/time_text.h"

namespace horae {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kTextLength = 36;
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr int kCounterBits = 12;

bool is_hyphen_place(std::size_t place) { return place == 8 || place == 13 || place == 18 || place == 23; }

// 0 to 15; -1 if `c` is not a hexadecimal digit.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error malformed(std::string_view text, std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("UUID {}: {}", quote(text), what)};
}

// True for the layout of RFC 9562, in which the version has its meaning.
bool has_rfc_variant(const Uuid& uuid) { return uuid.bytes[8] >> 6 == 0b10; }

// Writes the low bytes of `value` into `bytes`, the highest first.
template <std::size_t kCount>
void put(std::array<std::uint8_t, 16>& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < kCount; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> 8 * (kCount - 1 - i));
}

}  // namespace

std::string to_string(const Uuid& uuid) {
  std::string out;
  out.reserve(kTextLength);
  for (const std::uint8_t byte : uuid.bytes) {
    if (is_hyphen_place(out.size())) out += '-';
    out += kHexDigits[byte >> 4];
    out += kHexDigits[byte & 0xf];
  }
  return out;
}

Result<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kTextLength) {
    return malformed(
        text, fmt::format("has {} characters, not the 36 of \"0190f7c2-0a1b-7c3d-8e4f-0123456789ab\"", text.size()));
  }
  Uuid uuid;
  std::size_t digits = 0;
  for (std::size_t place = 0; place < kTextLength; ++place) {
    const int value = hex_value(text[place]);
    if (is_hyphen_place(place)) {
      if (text[place] != '-') return malformed(text, fmt::format("'-' is expected as character {}", place + 1));
      continue;
    }
    if (value < 0) {
      return malformed(text, fmt::format("character {} is not a hexadecimal digit (0-9, a-f)", place + 1));
    }
    auto& byte = uuid.bytes[digits / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
    ++digits;
  }
  return uuid;
}

int version_of(const Uuid& uuid) { return uuid.bytes[6] >> 4; }

std::optional<Instant> time_of(const Uuid& uuid) {
  if (version_of(uuid) != 7 || !has_rfc_variant(uuid)) return std::nullopt;
  std::int64_t since_epoch = 0;
  for (std::size_t i = 0; i < 6; ++i) since_epoch = since_epoch << 8 | uuid.bytes[i];
  const Instant made = Instant(milliseconds(since_epoch));
  if (made > latest_instant()) return std::nullopt;
  return made;
}

Uuid UuidSource::next() {
  // Drawn before the lock, because it may be a system call.
  const std::uint64_t random = random_.next();
  std::uint64_t stamp = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto since_epoch = std::chrono::floor<milliseconds>(clock_.wall_now().time_since_epoch()).count();
    const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(since_epoch, 0)) << kCounterBits;
    last_ = std::max(now, last_ + 1);
    stamp = last_;
  }
  HORAE_CHECK(stamp >> (48 + kCounterBits) == 0, "48 bits of milliseconds last until the year 10889");

  Uuid uuid;
  put<6>(uuid.bytes, 0, stamp >> kCounterBits);
  put<2>(uuid.bytes, 6, 0x7000 | (stamp & 0xfff));
  put<8>(uuid.bytes, 8, random);
  uuid.bytes[8] = static_cast<std::uint8_t>(0x80 | (uuid.bytes[8] & 0x3f));
  return uuid;
}

}  // namespace horae

std::size_t std::hash<horae::Uuid>::operator()(const horae::Uuid& uuid) const noexcept {
  // All of the bytes: ids from outside may differ anywhere.
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()});
}
