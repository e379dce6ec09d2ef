// Readies the next messages, and settles in the store what became of those before.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/log_rate_limiter.h"
#include "engine/loop.h"
#include "engine/relay/firing.h"
#include "engine/relay/relay_context.h"

namespace horae {

// Each pass is one commit: it removes the messages whose publish is acknowledged, gives back those that failed, and readies
// the next ones for this node. It comes each poll interval less the time that it takes, with jitter, or at once if there is
// more to do; a queue without rows rests until the turn is woken.
//
// An answer that was lost is resolved first: held_by() says what this node holds, and the same messages are removed and
// given back again. While the sink is stalled, only a few messages are held, as probes.
//
// A message that the output refuses for good goes to the dead letters. If there are none, or they refuse it too, it is
// tried again after RelayOptions::refused_back_off.
//
// run_once() from one thread at a time; everything else is thread-safe.
class Turn final : public Loop {
 public:
  static constexpr Duration kBehind = std::chrono::milliseconds(250);

  // Both must outlive the loop.
  Turn(RelayContext& context, Firing& firing) : context_(context), firing_(firing) {}

  // True while messages wait that are overdue by more than kBehind: take in no more.
  bool is_behind() const { return is_behind_; }

  // True if the queue had no rows at the last pass: wake the turn when there are some.
  bool is_idle() const { return context_.is_idle; }

  // From now on nothing is readied. Cannot be undone.
  void drain();

  std::string_view name() const override { return "relay turn"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  bool resolve();  // false if the store failed
  void dead_letter_refused(MonotonicTime now);
  void dead_letter(HoldId id, const Message& message, MonotonicTime now);
  void end_refused(HoldId id, const Delivery& delivery, MonotonicTime now);
  ReadyLimits limits(MonotonicTime now);
  std::optional<TurnOutcome> settle_and_ready(MonotonicTime now);
  bool has_more_than_bytes(const ReadyLimits& ready, const TurnOutcome& outcome) const;
  void note_gone(const TurnWork& work, const std::vector<bool>& removed, MonotonicTime now);
  void note_failure(std::string_view what, const Error& error, MonotonicTime now);
  MonotonicTime next_run(MonotonicTime began, bool is_full, const TurnOutcome& outcome);

  RelayContext& context_;
  Firing& firing_;
  std::atomic<bool> is_behind_ = false;
  std::atomic<bool> is_draining_ = false;

  // Used by run_once() only.
  int failures_ = 0;       // calls in a row
  bool was_full_ = false;  // there was as much to do as a pass does
  LogRateLimiter log_limit_{5};
};

}  // namespace horae
