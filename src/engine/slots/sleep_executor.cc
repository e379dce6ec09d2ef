#include "engine/slots/sleep_executor.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/duration.h"
#include "engine/slots/spec.h"

namespace horae {
namespace {

constexpr Duration kIdle = std::chrono::minutes(1);  // until the next run without sleeps

Result<Duration> read_length(std::string_view spec) {
  auto text = read_spec_text(spec, "for");
  if (!text.ok()) return text.error();
  auto length = parse_duration(*text);
  if (length.ok() && *length > kLongestSleep) return Error{ErrorCode::kRefused, "a sleep is a year long at most"};
  return length;
}

}  // namespace

void SleepExecutor::start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) {
  const auto length = read_length(task.spec);
  if (!length.ok()) return on_end(run_failed("bad_spec", length.error().message));
  if (*length == Duration::zero()) return on_end(run_done());
  {
    const std::lock_guard lock(mutex_);
    sleeps_.emplace(run, Sleep{now, now + *length, std::move(on_end)});
    by_end_.emplace(now + *length, run);
  }
  wake_();
}

void SleepExecutor::stop(ChoreId run, MonotonicTime now) {
  std::optional<Sleep> stopped;
  {
    const std::lock_guard lock(mutex_);
    auto found = sleeps_.extract(run);
    if (found.empty()) return;
    stopped = std::move(found.mapped());
    by_end_.erase({stopped->end, run});
  }
  stopped->on_end(run_stopped({.progress = share(*stopped, now), .checkpoint = std::nullopt}));
}

RunProgress SleepExecutor::progress(ChoreId run, MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = sleeps_.find(run);
  if (found == sleeps_.end()) return {};
  return {.progress = share(found->second, now), .checkpoint = std::nullopt};
}

MonotonicTime SleepExecutor::run_once(MonotonicTime now) {
  std::vector<OnEnd> ended;
  MonotonicTime next = now + kIdle;
  {
    const std::lock_guard lock(mutex_);
    while (!by_end_.empty() && by_end_.begin()->first <= now) {
      ended.push_back(std::move(sleeps_.extract(by_end_.begin()->second).mapped().on_end));
      by_end_.erase(by_end_.begin());
    }
    if (!by_end_.empty()) next = std::min(next, by_end_.begin()->first);
  }
  for (const OnEnd& on_end : ended) on_end(run_done());
  return next;
}

double SleepExecutor::share(const Sleep& sleep, MonotonicTime now) {
  const double whole = std::chrono::duration<double>(sleep.end - sleep.begin).count();
  return std::clamp(std::chrono::duration<double>(now - sleep.begin).count() / whole, 0.0, 1.0);
}

}  // namespace horae
