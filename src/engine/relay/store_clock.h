// What a node learns about the store's clock from the store's answers.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace horae {

// Each answer says what the store's clock showed at some moment between the call and its answer. The one with the
// shortest trip of the last kMemory counts; if the store has been silent for longer, the best of the last answers.
//
// Thread-safe.
class StoreClock {
 public:
  static constexpr Duration kMemory = std::chrono::seconds(10);
  static constexpr Duration kSlice = std::chrono::milliseconds(200);  // one answer is kept of each

  // The node's own clock showed `sent` before the call and `received` after it. An answer that contradicts the earlier
  // ones (a clock was set, or the node was suspended) replaces them.
  void note(MonotonicTime sent, MonotonicTime received, Instant store);

  // When the store's clock has certainly reached `instant`: late by the shortest trip at most, never early. Nothing
  // before the first answer.
  std::optional<MonotonicTime> surely_after(Instant instant) const;

  // When the store's clock has certainly not reached `instant` yet, or just reaches it.
  std::optional<MonotonicTime> surely_before(Instant instant) const;

  // The store's time at `own`, give or take half of the trip.
  std::optional<Instant> estimate(MonotonicTime own) const;

 private:
  struct Sample {
    MonotonicTime sent;
    MonotonicTime received;
    Instant store;

    Duration trip() const { return received - sent; }
    Duration::rep slice() const { return received.time_since_epoch() / kSlice; }
  };

  void choose_best();  // with mutex_ held

  mutable std::mutex mutex_;
  std::deque<Sample> samples_;  // guarded by mutex_; the best of each kSlice, by time
  std::optional<Sample> best_;  // guarded by mutex_
};

}  // namespace horae
