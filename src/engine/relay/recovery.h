// Takes messages over from nodes that seem to have failed.
#pragma once

#include <mutex>
#include <optional>

#include "base/log_rate_limiter.h"
#include "engine/loop.h"
#include "engine/relay/relay_context.h"

namespace horae {

// Each detection interval, as long as the queue has rows, it asks for the messages that a node holds for longer than the hold time, counted from the
// later of readied_at and due - advance, and lets each wait again, if it is still held by the same readying.
//
// A store that was away is not the nodes' fault: after a look that failed, or that came much too late, it waits for one
// hold time, in which living nodes remove what they have published. What this node itself still holds it leaves to the
// turn.
//
// run_once() from one thread at a time; everything else is thread-safe.
class Recovery final : public Loop {
 public:
  explicit Recovery(RelayContext& context) : context_(context) {}

  // The look of idle queues found no rows at `now`: that counts as a pass. Or it failed.
  void on_idle_look(MonotonicTime now, bool has_failed);

  // The counts of the last seconds, for the status.
  std::optional<MessageCounts> counts() const;

  std::string_view name() const override { return "relay recovery"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  bool may_reset(MonotonicTime now);
  bool look(MonotonicTime now, bool resets);  // true if there is more to do at once
  void reset(const std::vector<Readying>& stuck);
  void note_failure(const Error& error, MonotonicTime now);
  void count(MonotonicTime now);

  RelayContext& context_;
  mutable std::mutex mutex_;
  std::optional<MonotonicTime> last_look_;    // guarded by mutex_
  std::optional<MonotonicTime> quiet_until_;  // guarded by mutex_
  MessageCounts counts_;                      // guarded by mutex_
  bool has_counts_ = false;                   // guarded by mutex_

  // Used by run_once() only.
  std::optional<MonotonicTime> next_look_;
  std::optional<MessagePosition> after_;  // where the next look begins
  std::optional<MonotonicTime> next_count_;
  LogRateLimiter log_limit_{5};
  LogRateLimiter suspicion_limit_{1'000};
};

}  // namespace horae
