// Simulated work: {"run": "sleep", "for": "5s"}.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "engine/loop.h"
#include "engine/slots/executor.h"

namespace horae {

inline constexpr Duration kLongestSleep = std::chrono::hours(24 * 366);  // beyond: bad_spec

// Sleeps as an executor, wakes up as a loop. The progress is the share of the time that has passed.
class SleepExecutor final : public Executor, public Loop {
 public:
  // `wake` has run_once() called soon.
  explicit SleepExecutor(std::function<void()> wake) : wake_(std::move(wake)) {}

  void start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) override;
  void stop(ChoreId run, MonotonicTime now) override;
  RunProgress progress(ChoreId run, MonotonicTime now) override;

  std::string_view name() const override { return "sleepers"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  struct Sleep {
    MonotonicTime begin;
    MonotonicTime end;
    OnEnd on_end;
  };

  static double share(const Sleep& sleep, MonotonicTime now);

  const std::function<void()> wake_;
  std::mutex mutex_;
  std::map<ChoreId, Sleep> sleeps_;                     // guarded by mutex_
  std::set<std::pair<MonotonicTime, ChoreId>> by_end_;  // guarded by mutex_; of all sleeps
};

}  // namespace horae
