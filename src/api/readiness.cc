#include "api/readiness.h"

#include <fmt/format.h>

#include <chrono>

namespace horae {
namespace {

constexpr Duration kInterval = std::chrono::seconds(1);
constexpr Duration kFresh = std::chrono::milliseconds(1'500);  // an answer this old needs no query
constexpr Duration kSilence = std::chrono::seconds(5);         // a check may be under way for so long

}  // namespace

MonotonicTime Readiness::run_once(MonotonicTime now) {
  const auto checked = check(now);
  const std::lock_guard lock(mutex_);
  failure_ = checked.ok() ? std::nullopt : std::optional(checked.error());
  return now + kInterval;
}

Result<void> Readiness::check(MonotonicTime now) {
  if (also_) {
    if (auto ready = also_(); !ready.ok()) return ready;
  }
  {
    const std::lock_guard lock(mutex_);
    if (answered_at_ && !failure_ && now - *answered_at_ < kFresh) return {};
  }
  // Any read will do: the point is that the store answers.
  if (const auto running = store_.scheduler_running(); !running.ok()) {
    return Error{ErrorCode::kUnavailable, "the store does not answer: " + running.error().message};
  }
  note_answer();
  return {};
}

void Readiness::note_answer() {
  const std::lock_guard lock(mutex_);
  answered_at_ = clock_.now();
}

Result<void> Readiness::state() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  if (!answered_at_) return Error{ErrorCode::kUnavailable, "the node is starting: the store has not answered yet"};
  const Duration silent = clock_.now() - *answered_at_;
  if (silent <= kSilence) return {};
  return Error{ErrorCode::kUnavailable, fmt::format("the store has not answered for {} s",
                                                    std::chrono::duration_cast<std::chrono::seconds>(silent).count())};
}

}  // namespace horae
