// Publishes readied messages at their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log_rate_limiter.h"
#include "engine/loop.h"
#include "engine/relay/relay_context.h"

namespace horae {

// Readied messages wait in memory, by due time. Each is handed to the sink when the store's clock has certainly reached
// due - advance, never before. One that would be handed over later than RelayOptions::latest_hand_over() after its hold
// began is given back, because another node may take it over while the sink still tries. While the sink is stalled, only
// a few messages are handed over, as probes.
//
// It also collects the reports of the sinks, for all parts of the relay.
//
// run_once() from one thread at a time; everything else is thread-safe.
class Firing final : public Loop, private DeliveryTaker {
 public:
  // The context must outlive the loop.
  explicit Firing(RelayContext& context) : context_(context) {}

  // Messages that the store has readied for this node. Those that are held already are ignored.
  void add(std::vector<ReadiedMessage> readied);

  // From now on what is not yet due is given back, also what comes later. Cannot be undone.
  void drain();

  std::size_t waiting() const;

  std::string_view name() const override { return "relay firing"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  // How often the publish of each message failed.
  class BackOff {
   public:
    Duration next(RelayContext& context, const std::string& id);
    void forget(const std::string& id);

   private:
    std::map<std::string, int> failures_;
  };

  struct Shot {
    HoldId id = 0;
    ReadiedMessage readied;
  };
  using Shots = std::map<std::pair<Instant, HoldId>, Shot>;  // by due

  void on_deliveries(std::span<const Delivery> deliveries, MonotonicTime now) override;
  void note_published(HoldId id, const Delivery& delivery, MonotonicTime now);
  MonotonicTime hand_over(MonotonicTime now);
  std::vector<Shot> take_due(MonotonicTime now, std::size_t most);
  MonotonicTime fires_at(const Shot& shot, Duration advance) const;
  bool is_over(const Shot& shot, Duration advance, MonotonicTime now) const;
  void give_back_undue(MonotonicTime now);
  void give_back_old(MonotonicTime now);

  RelayContext& context_;
  mutable std::mutex mutex_;
  Shots shots_;               // guarded by mutex_
  bool is_draining_ = false;  // guarded by mutex_

  // Used by run_once() only.
  BackOff back_off_;
  LogRateLimiter log_limit_{5};
};

}  // namespace horae
