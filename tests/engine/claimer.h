// Helpers for tests of the claimer.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "engine/claims/claimer.h"
#include "tests/engine/engine.h"

namespace horae::testing {

// A claimer with a combiner of its own: each pass first runs the rounds that are due, and then those that it caused.
class CombinerOfAClaimer {
 protected:
  explicit CombinerOfAClaimer(TaskStore& tasks) : rounds_(tasks) {
    rounds_.open([] {});
  }

  Combiner rounds_;
};

class TestClaimer final : private CombinerOfAClaimer, public Claimer {
 public:
  TestClaimer(TaskStore& tasks, Logger log, std::function<void()> wake, ClaimerOptions options = {},
              Meter& meter = no_meter())
      : CombinerOfAClaimer(tasks), Claimer(rounds_, tasks, std::move(log), std::move(wake), options, meter) {}

  MonotonicTime run_once(MonotonicTime now) override {
    run_rounds();
    MonotonicTime next = Claimer::run_once(now);
    while (run_rounds()) next = Claimer::run_once(now);
    return next;
  }

  // Without the rounds.
  MonotonicTime run_pass(MonotonicTime now) { return Claimer::run_once(now); }

  // False if there was nothing to do.
  bool run_rounds() {
    bool any = false;
    while (rounds_.run_round()) any = true;
    return any;
  }
};

// A worker that waits, and the answers that it got.
struct WaitingWorker {
  std::vector<LeasedTask> tasks;
  int calls = 0;
  bool is_gone = false;
  std::optional<ErrorCode> failure;

  Claimer::Deliver deliver() {
    return [this](Result<std::vector<LeasedTask>> answer) {
      ++calls;
      if (answer.ok()) {
        if (!is_gone) tasks = std::move(*answer);
      } else {
        failure = answer.error().code;
      }
      return !is_gone;
    };
  }
};

// A claimer whose store fails.
class ClaimerOutage : public EngineTest {
 protected:
  // Adds workers whose claims got no answer.
  void let_wait(std::size_t count, Duration patience) {
    for (std::size_t i = 0; i < count; ++i) {
      claimer_.wait(wish(), node_now() + patience, workers_.emplace_back().deliver());
    }
    claimer_.on_wake_ups({.counted = {{kQueue, count}}});
    faulty().fault = FaultyTasks::Fault::kBefore;
    while (claimer_.run_once(node_now()) <= node_now()) {
    }
  }

  void let_give_up(std::size_t count) {
    let_wait(count, 500ms);
    pass(500ms);
    claimer_.run_once(node_now());
  }

  // The number of store calls of one pass.
  int calls_of_a_pass() {
    const int before = faulty().calls;
    claimer_.run_once(node_now());
    return faulty().calls - before;
  }

  // The store is back, and the retry is due.
  void mend() {
    faulty().fault = FaultyTasks::Fault::kNone;
    faulty().looks = 0;
    pass(1s);
  }

  TestClaimer claimer_{faulty(), log(), [] {}};
  std::deque<WaitingWorker> workers_;
};

}  // namespace horae::testing
