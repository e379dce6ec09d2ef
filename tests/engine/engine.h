// The world of a loop's test: a store with a clock that the test moves, and the monotonic clock of a node beside it.
#pragma once

#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/engine/faulty_tasks.h"
#include "tests/store_contract/contract.h"

namespace horae::testing {

class EngineTest : public Contract {
 protected:
  // Time passes for the store and for the node.
  void pass(Duration by) {
    advance(by);
    node_.advance(by);
  }

  // Of the node alone: the store's clock is moved by whoever takes its leases.
  void stand_still() { node_.advance(kDefaultLease + 1s); }

  MonotonicTime node_now() const { return node_.now(); }
  const Clock& node_clock() const { return node_; }
  Logger log() { return {said_, node_}; }
  std::string said() const { return said_.str(); }
  FaultyTasks& faulty() { return faulty_; }

  // What a loop tells about queues with ready tasks.
  std::function<void(const std::vector<std::string>&)> note_ready() {
    return [this](const std::vector<std::string>& queues) {
      const std::lock_guard lock(mutex_);  // two nodes may tell at once
      ready_.insert(ready_.end(), queues.begin(), queues.end());
    };
  }
  const std::vector<std::string>& ready() const { return ready_; }

 private:
  ManualClock node_;
  std::ostringstream said_;
  FaultyTasks faulty_{tasks()};
  std::mutex mutex_;
  std::vector<std::string> ready_;  // guarded by mutex_ while several nodes run
};

class PromoterLoop : public EngineTest {};
class MonitorLoop : public EngineTest {};
class ClaimerLoop : public EngineTest {
 protected:
  // Under a token that the worker has made.
  ClaimWish own_wish(int max = 1) {
    ClaimWish own = wish(max);
    own.once = true;
    return own;
  }
};
class LookoutLoop : public EngineTest {};

}  // namespace horae::testing

#define HORAE_ENGINE_TESTS(maker)                   \
  HORAE_STORE_CONTRACT_PART(PromoterLoop, maker)    \
  HORAE_STORE_CONTRACT_PART(MonitorLoop, maker)     \
  HORAE_STORE_CONTRACT_PART(ClaimerLoop, maker)     \
  HORAE_STORE_CONTRACT_PART(ClaimerOutage, maker)   \
  HORAE_STORE_CONTRACT_PART(LookoutLoop, maker)     \
  HORAE_STORE_CONTRACT_PART(DispatcherLoops, maker) \
  HORAE_STORE_CONTRACT_PART(DispatcherCrash, maker) \
  HORAE_STORE_CONTRACT_PART(ElevatorLoop, maker)    \
  HORAE_STORE_CONTRACT_PART(UpkeepLoop, maker)
