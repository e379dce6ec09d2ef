// Virtual time: a queue of events in one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace horae::sim {

inline constexpr Instant kStart{std::chrono::seconds(1'800'000'000)};

// Thrown when more events happen than in any correct world, as in a busy loop. Only the simulator throws and catches it.
struct Endless {};

// The queue of events, which is also the clock of the store.
//
// An event may let time pass itself (run_until), like a call that waits for its response: other events run meanwhile.
// Such waits end in reverse order of their beginnings, because they share one stack; beyond kMaxDepth nested waits, time
// passes without events.
class Events final : public Clock {
 public:
  using What = std::function<void()>;
  static constexpr int kMaxDepth = 24;
  static constexpr std::uint64_t kMost = 50'000'000;

  Instant wall_now() const override { return now_; }
  MonotonicTime now() const override { return MonotonicTime(now_.time_since_epoch()); }

  // Events of the same time run in the order in which they were planned. An event in the past runs now.
  void at(Instant when, What what) { planned_.push({std::max(when, now_), ++count_, std::move(what)}); }
  void after(Duration delay, What what) { at(now_ + to_microseconds(delay), std::move(what)); }

  void run_until(Instant end) {
    if (depth_ < kMaxDepth) {
      ++depth_;
      while (!planned_.empty() && planned_.top().when <= end) run_next();
      --depth_;
    }
    now_ = std::max(now_, end);
  }
  void pass(Duration time) { run_until(now_ + to_microseconds(time)); }

  std::uint64_t happened() const { return happened_; }

 private:
  struct Planned {
    Instant when;
    std::uint64_t number;
    What what;

    bool operator<(const Planned& other) const {  // std::priority_queue returns the largest first
      return std::pair(other.when, other.number) < std::pair(when, number);
    }
  };

  static std::chrono::microseconds to_microseconds(Duration time) {
    return std::chrono::ceil<std::chrono::microseconds>(time);
  }

  void run_next() {
    const What what = std::move(const_cast<Planned&>(planned_.top()).what);  // it is removed at once
    now_ = std::max(now_, planned_.top().when);
    planned_.pop();
    if (++happened_ > kMost) throw Endless{};
    what();
  }

  Instant now_ = kStart;
  std::uint64_t count_ = 0;
  std::uint64_t happened_ = 0;
  int depth_ = 0;
  std::priority_queue<Planned> planned_;
};

}  // namespace horae::sim
