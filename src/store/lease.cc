#include "store/lease.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/quote.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "model/names.h"
#include "store/submission.h"

namespace horae {
namespace {

Error refused(std::string message) { return {ErrorCode::kRefused, std::move(message)}; }

Error not_text(std::string_view field) { return refused(fmt::format("{}: give UTF-8 without NUL", field)); }

Result<void> check_text(std::string_view field, const std::optional<std::string>& value, std::size_t most) {
  if (!value) return {};
  if (value->size() > most) {
    return refused(fmt::format("{}: {} bytes, at most {} are allowed", field, value->size(), most));
  }
  if (!is_text(*value)) return not_text(field);
  return {};
}

Result<void> check_errors(const std::vector<TaskError>& errors) {
  if (errors.empty()) return refused("errors: an abort needs at least one, with a code");
  if (errors.size() > kMaxErrors) {
    return refused(fmt::format("errors: {} of them, at most {} are allowed", errors.size(), kMaxErrors));
  }
  std::size_t bytes = 0;
  for (const TaskError& error : errors) {
    if (error.code.empty()) return refused("errors: each needs a code");
    if (!is_text(error.code) || !is_text(error.args) || !is_text(error.description)) return not_text("errors");
    bytes += error.code.size() + error.args.size() + error.description.size();
  }
  if (bytes > kMaxErrorBytes) {
    return refused(fmt::format("errors: {} bytes, at most {} are allowed", bytes, kMaxErrorBytes));
  }
  return {};
}

// What is not a number is refused, too.
Result<void> check_progress(const std::optional<double>& progress) {
  if (!progress || (*progress >= 0.0 && *progress <= 1.0)) return {};
  return refused(fmt::format("progress {}: give 0 to 1, the part that is done", *progress));
}

bool is_settle_event(Event event) {
  return event == Event::kHeartbeat || event == Event::kComplete || event == Event::kAbort || event == Event::kYield ||
         event == Event::kRelease;
}

Result<void> check_no_repetition(std::vector<std::string> queues) {
  std::ranges::sort(queues);
  const auto twice = std::ranges::adjacent_find(queues);
  if (twice == queues.end()) return {};
  return refused(fmt::format("queues: {} is named twice; name each queue once", *twice));
}

// The state of the task: "attempt 3 is running on worker-9, whose lease ends at 2026-11-16T02:14:17Z"
std::string present_state(const SettleOutcome& outcome) {
  const std::string_view state = to_string(*outcome.state);
  if (outcome.attempt == 0) return fmt::format("the task is {}, and no attempt has begun", state);
  if (outcome.state != State::kRunning) {
    return fmt::format("the task is {}, and attempt {} was the last one", state, outcome.attempt);
  }
  std::string where = fmt::format("attempt {} is running on {}", outcome.attempt, outcome.owner.value_or("?"));
  if (!outcome.lease_expires) return where;
  return fmt::format("{}, whose lease ends at {}", where, format_instant(*outcome.lease_expires));
}

std::string reason(const Settlement& settlement, const SettleOutcome& outcome) {
  if (outcome.verdict == Verdict::kCancelled) return "the task was cancelled";
  if (outcome.verdict == Verdict::kStaleAttempt) return present_state(outcome);
  return fmt::format("{}; it would have to be {}", present_state(outcome), allowed_states(settlement.event));
}

// A store keeps a late result only of an attempt that has begun, so nothing more is promised.
std::string_view advice(const Settlement& settlement, const SettleOutcome& outcome) {
  const bool brings_result = settlement.event == Event::kComplete || settlement.event == Event::kAbort;
  const bool has_begun = settlement.attempt >= 1 && settlement.attempt <= outcome.attempt;
  return brings_result && has_begun ? "Stop this run; its result is kept in the history." : "Stop this run.";
}

}  // namespace

Result<void> check_lease_length(Duration lease) {
  if (lease >= kMinLease && lease <= kMaxLease) return {};
  return refused(fmt::format("lease {}: give {} to {}", format_duration(lease), format_duration(kMinLease),
                             format_duration(kMaxLease)));
}

Result<void> check_owner(std::string_view owner) {
  if (is_free_form_name(owner, kMaxOwnerLength)) return {};
  return refused(fmt::format("owner {}: give 1 to {} characters of UTF-8 without control characters", quote(owner),
                             kMaxOwnerLength));
}

Result<void> check_claim_wish(const ClaimWish& wish) {
  if (auto checked = check_owner(wish.owner); !checked.ok()) return checked;
  if (wish.queues.empty() || wish.queues.size() > kMaxQueuesOfAClaim) {
    return refused(fmt::format("queues: {} of them, give 1 to {}", wish.queues.size(), kMaxQueuesOfAClaim));
  }
  for (const std::string& queue : wish.queues) {
    if (auto checked = check_queue_name(queue); !checked.ok()) return checked;
  }
  if (auto checked = check_no_repetition(wish.queues); !checked.ok()) return checked;
  if (wish.max < 1 || wish.max > static_cast<int>(kMaxBatch)) {
    return refused(fmt::format("max {}: give 1 to {}", wish.max, kMaxBatch));
  }
  return check_lease_length(wish.lease);
}

Result<void> check_settlement(const Settlement& settlement) {
  if (!is_settle_event(settlement.event)) {
    return refused(
        fmt::format("event {}: give heartbeat, complete, abort, yield or release", to_string(settlement.event)));
  }
  if (auto checked = check_owner(settlement.owner); !checked.ok()) return checked;
  if (auto checked = check_progress(settlement.progress); !checked.ok()) return checked;
  if (auto checked = check_text("checkpoint", settlement.checkpoint, kMaxCheckpointBytes); !checked.ok()) {
    return checked;
  }
  if (auto checked = check_text("result", settlement.result, kMaxResultBytes); !checked.ok()) return checked;
  if (settlement.event == Event::kHeartbeat && settlement.lease) return check_lease_length(*settlement.lease);
  if (settlement.event == Event::kAbort) return check_errors(settlement.errors);
  return {};
}

Result<void> check_cancel_wish(const CancelWish& wish) { return check_text("reason", wish.reason, kMaxReasonBytes); }

Error settle_error(const Settlement& settlement, const SettleOutcome& outcome) {
  HORAE_CHECK(!is_success(outcome.verdict), "a settlement that was taken has no error");
  if (outcome.verdict == Verdict::kNotFound) return refuse(settlement.id, settlement.event, std::nullopt);
  HORAE_CHECK(outcome.state.has_value(), "a task that exists has a state");
  return {ErrorCode::kConflict, fmt::format("task {}: cannot {} attempt {} of {}: {}. {}", to_string(settlement.id),
                                            to_string(settlement.event), settlement.attempt, settlement.owner,
                                            reason(settlement, outcome), advice(settlement, outcome))};
}

Error cancel_error(const CancelWish& wish, const CancelOutcome& outcome) {
  HORAE_CHECK(!is_success(outcome.verdict), "a cancel that was taken has no error");
  return refuse(wish.id, Event::kCancel, outcome.state);
}

Error other_owner_error(const ClaimWish& wish) {
  return {ErrorCode::kConflict,
          fmt::format("token {}: {} cannot claim with it: tasks of another owner are leased under this token; make a "
                      "token of its own for each claim, and repeat it only as the same owner",
                      to_string(wish.token), wish.owner)};
}

}  // namespace horae
