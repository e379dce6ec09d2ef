// Whether the node can serve requests.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "engine/loop.h"
#include "store/queue_store.h"

namespace horae {

// Checks the store once a second, so that /readyz costs nothing, however often it is called. No query is needed while
// other calls of the node show that the store answers.
//
// state() and note_answer() are thread-safe.
class Readiness final : public Loop {
 public:
  // `also` is asked as well; null: nothing else. All that is passed must outlive it.
  Readiness(QueueStore& store, std::function<Result<void>()> also, const Clock& clock)
      : store_(store), also_(std::move(also)), clock_(clock) {}

  std::string_view name() const override { return "readiness"; }
  MonotonicTime run_once(MonotonicTime now) override;

  // The store has answered to another part of the node.
  void note_answer();

  // kUnavailable, and why, after a failed check, before the first one, and while the store does not answer at all.
  Result<void> state() const;

 private:
  Result<void> check(MonotonicTime now);

  QueueStore& store_;
  const std::function<Result<void>()> also_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::optional<Error> failure_;              // guarded by mutex_; of the last check
  std::optional<MonotonicTime> answered_at_;  // guarded by mutex_
};

}  // namespace horae
