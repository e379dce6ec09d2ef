// Hands messages to a sink and brings each report to the part of the relay that published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/relay/sink.h"

namespace horae {

// What became of one publication.
struct Delivery {
  std::uint64_t ticket = 0;  // of the one that published
  PublishEnd end = PublishEnd::kFailed;
  std::string reason;
  Duration taken{};  // from publish to report
};

class DeliveryTaker {
 public:
  virtual ~DeliveryTaker() = default;

  // Called on the thread of collect().
  virtual void on_deliveries(std::span<const Delivery> deliveries, MonotonicTime now) = 0;
};

// It also watches over the sink: while a publication is unacknowledged for longer than kStall, and until one that came
// after is acknowledged, the sink is stalled: probe it by a few messages, and give it no more.
//
// Thread-safe; collect() by one thread at a time.
class Publisher {
 public:
  static constexpr Duration kStall = std::chrono::seconds(1);
  static constexpr std::size_t kProbes = 10;

  // The sink must outlive the publisher.
  explicit Publisher(Sink& sink) : sink_(sink) {}

  // Returns how many of `messages`, from the front, were taken: these are moved out of, and each is reported to `taker`
  // exactly once, under its own ticket. Fewer than all if the sink's queue is full.
  std::size_t publish(std::vector<Publication>& messages, DeliveryTaker& taker, MonotonicTime now);

  // Passes on the reports that have arrived.
  void collect(MonotonicTime now);

  bool is_stalled(MonotonicTime now);
  bool was_stalled() const;  // at the last look at it

  // How many more may be published now: all, or probes while the sink is stalled.
  std::size_t room(MonotonicTime now);

  std::size_t in_flight() const;
  SinkStatus status() const { return sink_.status(); }

 private:
  struct InFlight {
    DeliveryTaker* taker = nullptr;
    std::uint64_t ticket = 0;
    MonotonicTime since;
  };

  bool update_stall(MonotonicTime now);  // with mutex_ held

  Sink& sink_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, InFlight> in_flight_;  // guarded by mutex_; by the sink's ticket: the oldest first
  std::uint64_t last_ticket_ = 0;                // guarded by mutex_
  bool is_stalled_ = false;                      // guarded by mutex_
  bool has_answered_ = false;                    // guarded by mutex_; a publication was acknowledged since the stall
};

}  // namespace horae
