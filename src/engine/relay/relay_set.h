// All delay queues of a node, driven by threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/waker.h"
#include "engine/loop.h"
#include "engine/relay/relay.h"
#include "engine/runner.h"

namespace horae {

inline constexpr std::size_t kMaxDelayQueues = 64;

// One look a second at all queues without rows, by one call of the store, wakes those that got some at another node.
//
// Not thread-safe: one thread at a time.
class IdleLook final : public Loop {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(1);

  // The store must outlive the loop.
  IdleLook(MessageStore& store, Logger log) : store_(store), log_(std::move(log)) {}

  // Before it runs. The relay must outlive the loop.
  void add(Relay& relay) { relays_.push_back(&relay); }

  std::string_view name() const override { return "idle look"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  MessageStore& store_;
  Logger log_;
  std::vector<Relay*> relays_;
};

// Starts beside the engine and stops before it. Makes the random id of this node and logs it.
//
// add(), start() and stop() from one thread; everything else is thread-safe after the last add().
class RelaySet {
 public:
  // Connects a delay queue; `wakes` may be called at once, from any thread, until the ends are destroyed.
  using Connect = std::function<RelayEnds(const RelayWakes& wakes)>;

  // All references must outlive the set. The clock must be the system's, because the waits are real.
  RelaySet(MessageStore& store, const Clock& clock, Random& random, const Logger& log, Meter& meter = no_meter());
  ~RelaySet();

  // At most kMaxDelayQueues, before start(). `options` must pass faults_of().
  void add(const RelayOptions& options, const Connect& connect);

  void start();

  // Takes in nothing more, gives back what is not due, waits for the reports of what is published, and removes it, for
  // the grace time at most. True if nothing was left behind. The sources and sinks end with the set. May be called twice.
  bool stop(Duration grace);

  // Messages were put into this queue, or moved.
  void on_put(std::string_view queue);

  std::vector<RelayStatus> status() const;
  std::optional<RelayStatus> status(std::string_view queue) const;  // nothing: there is no such queue here
  const Uuid& node() const { return node_; }

 private:
  struct Wakers {
    Waker intake, firing, turn, recovery;
  };
  struct Member {
    std::unique_ptr<Wakers> wakers;
    std::unique_ptr<Relay> relay;
  };

  bool is_drained() const;

  MessageStore& store_;
  const Clock& clock_;
  Random& random_;
  Logger log_;
  Meter& meter_;
  const Uuid node_;
  Waker look_waker_;
  Waker drained_;  // of stop(); never woken
  IdleLook look_;
  std::vector<Member> members_;
  Runner runner_;  // last, so that it stops first
};

}  // namespace horae
