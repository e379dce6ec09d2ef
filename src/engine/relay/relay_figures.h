// What a relay counts and measures, for metrics and for its status.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/meter.h"
#include "engine/relay/recent_durations.h"

namespace horae {

// A counter that the status can read as well. Thread-safe.
class Tally {
 public:
  explicit Tally(Counter& counter) : counter_(counter) {}

  void add(std::size_t by = 1) {
    if (by == 0) return;
    total_ += by;
    counter_.add(static_cast<double>(by));
  }
  std::uint64_t total() const { return total_; }

 private:
  Counter& counter_;
  std::atomic<std::uint64_t> total_ = 0;
};

// Thread-safe.
class RelayFigures {
 public:
  static constexpr std::array<std::string_view, 4> kBadReasons = {"missing_header", "repeated_header",
                                                                  "malformed_header", "refused_by_store"};

  // The meter must outlive the figures.
  RelayFigures(const std::string& queue, Meter& meter);

  Tally enqueued;       // records stored
  Tally repeated;       // records ignored, because their id waits or is ready, or because they were read again
  Tally late;           // records published at once
  Tally fired;          // messages published and acknowledged, late ones too
  Tally failed;         // publishes that are tried again
  Tally dead_lettered;  // records and messages
  Tally suspected;      // messages taken from nodes that seem to have failed
  Tally gone;           // messages that were fired, and whose row was not there any more

  void bad(std::string_view reason);  // one of kBadReasons
  std::vector<std::pair<std::string, std::uint64_t>> bad_by_reason() const;

  // A message was acknowledged: `lateness` after its deadline, in the store's time, below zero if before. Nothing: it was
  // late when it came.
  void note_fired(MonotonicTime now, std::optional<Duration> lateness);
  const RecentDurations& lateness() const { return lateness_; }

  // Of the last ten full seconds.
  double fired_per_second(MonotonicTime now) const;

 private:
  static constexpr std::size_t kSeconds = 10;

  struct Second {
    Duration::rep number = -1;
    std::uint64_t fired = 0;
  };

  std::map<std::string_view, std::unique_ptr<Tally>> bad_;
  Histogram& lateness_seconds_;
  RecentDurations lateness_;
  mutable std::mutex mutex_;
  std::array<Second, kSeconds + 1> seconds_;  // guarded by mutex_
};

}  // namespace horae
