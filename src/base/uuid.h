// UUIDs, and a generator of version 7 (RFC 9562) for Horae's own ids: they sort by creation time.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace horae {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

// 36 characters, lower case: "0190f7c2-0a1b-7c3d-8e4f-0123456789ab".
std::string to_string(const Uuid& uuid);

// Reads the 36-character form, in upper or lower case. Accepts any version and variant, including the nil UUID.
Result<Uuid> parse_uuid(std::string_view text);

// The version number, 0 to 15: 7 for Horae's own ids.
int version_of(const Uuid& uuid);

// When a version 7 UUID was made, to the millisecond, by its maker's clock. Nothing for other versions and for times
// past latest_instant(), which only a forged id has.
std::optional<Instant> time_of(const Uuid& uuid);

// Makes version 7 UUIDs. Each is greater than all earlier ones of the same source, even if the clock steps back or more
// than 4,096 are made in one millisecond (the ids then run ahead of the clock).
//
// Thread-safe. The clock and the randomness must outlive the source.
class UuidSource {
 public:
  UuidSource(const Clock& clock, Random& random) : clock_(clock), random_(random) {}

  Uuid next();

 private:
  const Clock& clock_;
  Random& random_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;  // guarded by mutex_; milliseconds << 12 | counter of the newest id
};

}  // namespace horae

template <>
struct std::hash<horae::Uuid> {
  std::size_t operator()(const horae::Uuid& uuid) const noexcept;
};
