// What calls of a store changed, for the parts of a node that act on it: wake-ups, events, metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/state.h"
#include "model/task.h"

namespace horae {

// One fact from the answer of one call. Its texts live as long as the call.
struct Change {
  enum class Kind : std::uint8_t {
    kTask,       // `event` happened to `task`, which is in `state` now
    kTasks,      // `event` happened to `count` tasks that are not named; 0 if only their `queue` is known
    kQueue,      // the settings of `queue` were written; `is_open`: it is not paused
    kClaims,     // claims were allowed (`is_open`) or stopped: from `queue`, or from all queues if that is empty
    kTokens,     // a token was created or revoked
    kSchedules,  // the definition of a schedule was written: it may be due
  };

  Kind kind = Kind::kTask;
  Event event = Event::kSubmit;
  TaskId task = {};
  std::string_view queue = {};      // empty if the call does not say it
  std::string_view owner = {};      // of the attempt that a cancel ended; empty if there was none
  std::optional<State> state = {};  // after the call
  std::size_t count = 1;            // of tasks
  bool is_new = true;               // false: the call repeats an earlier one, whose answer may have been lost
  bool is_open = false;

  friend bool operator==(const Change&, const Change&) = default;
};

// Thread-safe: called on the thread of each call of the store, after the store has answered and before the caller gets
// the answer. Must return soon. May call the store.
class ChangeObserver {
 public:
  virtual ~ChangeObserver() = default;

  // All changes of one call, in the order in which they happened.
  virtual void on_changes(std::span<const Change> changes) = 0;
};

// Passes changes on to several observers, in the order in which they were added.
//
// add() before the first change; then thread-safe, as the observers are. They must outlive it.
class ChangeObservers final : public ChangeObserver {
 public:
  void add(ChangeObserver& observer) { observers_.push_back(&observer); }

  void on_changes(std::span<const Change> changes) override {
    for (ChangeObserver* observer : observers_) observer->on_changes(changes);
  }

 private:
  std::vector<ChangeObserver*> observers_;
};

}  // namespace horae
