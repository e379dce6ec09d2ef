// The world of a loop's test: a store with a clock that the test moves, and the monotonic clock of a node beside it.
#pragma once

#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/claims/claimer.h"
#include "engine/schedules/schedule_loop.h"
#include "engine/wake_ups.h"
#include "observe/observed_tasks.h"
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

  // Of the node alone: the test moves the store's clock when a lease is to expire.
  void stand_still() { node_.advance(kDefaultLease + 1s); }

  MonotonicTime node_now() const { return node_.now(); }
  const Clock& node_clock() const { return node_; }
  Logger log() { return {said_, node_}; }
  std::string said() const { return said_.str(); }
  FaultyTasks& faulty() { return faulty_; }

  // The faulty store as a node uses it: ready() has the queues in which calls through it made tasks ready.
  TaskStore& observed() { return observed_; }
  const std::vector<std::string>& ready() const { return recorder_.ready; }

  // Calls through observed() wake this claimer from now on, as Engine does it.
  void connect(Claimer& claimer) { recorder_.claimer = &claimer; }

 private:
  struct Recorder final : ChangeObserver {
    void on_changes(std::span<const Change> changes) override {
      const std::lock_guard lock(mutex);  // two nodes may call at once
      const WakeUps wake_ups = wake_ups_of(changes);
      for (const std::string& queue : wake_ups.ready) ready.push_back(queue);
      for (const ReadyTasks& each : wake_ups.counted) ready.push_back(each.queue);
      if (claimer != nullptr) claimer->on_wake_ups(wake_ups);
    }
    Claimer* claimer = nullptr;
    std::mutex mutex;
    std::vector<std::string> ready;  // guarded by mutex while several nodes run
  };

  ManualClock node_;
  std::ostringstream said_;
  FaultyTasks faulty_{tasks()};
  Recorder recorder_;
  ObservedTasks observed_{faulty_, no_meter(), node_, recorder_};
};

class PromoterLoop : public EngineTest {};
class ScheduleLoops : public EngineTest {
 protected:
  ScheduleLoop loop(ScheduleLoopOptions options = {}) { return {schedules(), ids_, system_zones(), log(), options}; }
  void put(const NewSchedule& schedule);
  std::vector<FireRecord> fires(std::string_view name = "often");
  void pass_to_fire();  // to the next multiple of ten seconds

 private:
  SeededRandom random_{3};
  UuidSource ids_{node_clock(), random_};
};
class MonitorLoop : public EngineTest {};
class ClaimerLoop : public EngineTest {
 protected:
  // A claim that finds nothing: from now on the claimer asks only after an announcement.
  void prove_empty(Claimer& claimer) {
    claimer.exchange({.owner = "worker-0", .claim = wish(1, "worker-0"), .deliver = [](const auto&) { return true; }});
    claimer.run_once(node_now());
  }

  // A new task, through this store.
  TaskId submit_to(TaskStore& store) {
    const Submission made = submission();
    return value_of(store.submit(std::span(&made, 1)))[0].id;
  }

  std::vector<LeasedTask> lease(const ClaimWish& wish) { return value_of(tasks().claim(std::span(&wish, 1)))[0].tasks; }

  Settlement completion_of(const LeasedTask& task) {
    return {.event = Event::kComplete, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = kOwner};
  }

  // Under a token that the worker has made.
  ClaimWish own_wish(int max = 1) {
    ClaimWish own = wish(max);
    own.once = true;
    return own;
  }
};
class ClusterPollerLoop : public EngineTest {};

}  // namespace horae::testing

#define HORAE_ENGINE_TESTS(maker)                     \
  HORAE_STORE_CONTRACT_PART(PromoterLoop, maker)      \
  HORAE_STORE_CONTRACT_PART(ScheduleLoops, maker)     \
  HORAE_STORE_CONTRACT_PART(MonitorLoop, maker)       \
  HORAE_STORE_CONTRACT_PART(ClaimerLoop, maker)       \
  HORAE_STORE_CONTRACT_PART(ClaimerOutage, maker)     \
  HORAE_STORE_CONTRACT_PART(ClusterPollerLoop, maker) \
  HORAE_STORE_CONTRACT_PART(DispatcherLoops, maker)   \
  HORAE_STORE_CONTRACT_PART(DispatcherCrash, maker)   \
  HORAE_STORE_CONTRACT_PART(ElevatorLoop, maker)      \
  HORAE_STORE_CONTRACT_PART(SlotLoops, maker)         \
  HORAE_STORE_CONTRACT_PART(UpkeepLoop, maker)
