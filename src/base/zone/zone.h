// Time zones: which offset from UTC holds when.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace horae {

using UtcSeconds = std::chrono::sys_seconds;
using LocalSeconds = std::chrono::local_seconds;  // what the clock on the wall shows

// The range of what is asked of a zone: the years 0 to 9999.
inline constexpr UtcSeconds kEarliestSecond = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
inline constexpr UtcSeconds kLatestSecond = std::chrono::sys_days(std::chrono::year(10000) / 1 / 1);

// The time from `begin` up to, but not including, `end`, during which the offset does not change. Local time is UTC plus
// the offset.
struct ZoneSpan {
  UtcSeconds begin = kEarliestSecond;
  UtcSeconds end = kLatestSecond;
  std::chrono::seconds offset{0};

  friend bool operator==(const ZoneSpan&, const ZoneSpan&) = default;
};

// Thread-safe.
class Zone {
 public:
  virtual ~Zone() = default;

  virtual std::string_view name() const = 0;

  // The span that contains `at`, which is from kEarliestSecond up to, but not including, kLatestSecond. The spans before
  // and after it may have the same offset.
  virtual ZoneSpan span_at(UtcSeconds at) const = 0;
};

// The zones of the system's time zone database ("Europe/Berlin"), in the folder that the environment variable TZDIR
// names, or else in /usr/share/zoneinfo. What has been read is kept, so a newer database needs a new process. UTC needs
// no database. Thread-safe.
class ZoneDatabase {
 public:
  // Reads the names from `folder`/tzdata.zi. The zones themselves come from the system's folder.
  explicit ZoneDatabase(const std::string& folder);

  // Fails with kRefused, and a message that names the nearest known name, if there is no such zone. Names are
  // case-sensitive.
  Result<std::shared_ptr<const Zone>> find(std::string_view name) const;

  const std::string& version() const { return version_; }  // "2025b", or "none" without a database
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::string nearest(std::string_view name) const;  // empty if nothing is similar

  std::string folder_;
  std::string version_ = "none";
  std::vector<std::string> names_;  // sorted
};

// The system's database, read at the first call.
const ZoneDatabase& system_zones();

}  // namespace horae
