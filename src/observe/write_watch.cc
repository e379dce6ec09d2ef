#include "observe/write_watch.h"

#include <fmt/format.h>

#include <chrono>

namespace horae {
namespace {

constexpr Duration kProbeEach = std::chrono::seconds(1);

}  // namespace

void WriteWatch::note_failed(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return;
  const std::lock_guard lock(mutex_);
  ++refusals_;
  is_refused_ = true;
}

void WriteWatch::note_stored() {
  if (!is_refused_) return;
  const std::lock_guard lock(mutex_);
  is_refused_ = false;
}

Result<void> WriteWatch::check(const std::function<Result<void>()>& probe) {
  if (!is_refused_) return {};
  const MonotonicTime now = clock_.now();
  std::uint64_t refusals = 0;
  {
    const std::lock_guard lock(mutex_);
    if (now < next_probe_) return last_probe_;
    next_probe_ = now + kProbeEach;
    refusals = refusals_;
  }
  Result<void> probed = probe();
  if (!probed.ok()) {
    probed = Error{probed.error().code, fmt::format("the store refuses writes: {}", probed.error().message)};
  }
  const std::lock_guard lock(mutex_);
  last_probe_ = probed;
  if (probed.ok() && refusals == refusals_) is_refused_ = false;
  return probed;
}

}  // namespace horae
