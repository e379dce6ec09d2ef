// The shared state of a simulated world: time, randomness, the store and the history.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/uuid.h"
#include "store/store.h"
#include "tests/sim/chance.h"
#include "tests/sim/events.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"

namespace horae::sim {

// Unwinds the stack of a node that crashes. Only the simulator throws and catches it.
struct Crash {};

class World {
 public:
  // Writes every event to `trace`, if given, as text for people.
  World(const Plan& plan, std::ostream* trace);

  const Plan plan;
  Events events;
  Chance chance;
  UuidSource ids{events, chance.random()};
  std::unique_ptr<Store> store;
  History history;
  std::set<std::pair<TaskId, int>> given_once;  // attempts claimed under tokens of workers
  std::uint64_t faults = 0;
  bool store_is_down = false;
  Duration store_delay{};  // of each call, while the store is slow

  Instant now() const { return events.wall_now(); }
  bool in_chaos() const { return phase_ == Phase::Kind::kChaos; }
  bool is_flaky() const { return phase_ == Phase::Kind::kFlaky; }
  bool is_ending() const { return phase_ == Phase::Kind::kEnd; }
  void enter(Phase::Kind phase);

  void record(What what, int node = -1);

  // Counts an injected fault and writes it to the trace.
  void fault(std::string_view what);

  // Writes a line to the trace.
  void note(std::string_view text) {
    if (trace_ != nullptr) say(text);
  }

  // The node's own log; silent unless there is a trace.
  Logger log() const { return log_; }

 private:
  void say(std::string_view text);

  Phase::Kind phase_ = Phase::Kind::kChaos;
  std::ostream* trace_;
  Logger log_;
};

}  // namespace horae::sim
