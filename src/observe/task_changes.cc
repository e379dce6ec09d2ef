#include "observe/task_changes.h"

namespace horae {
namespace {

// Tasks without names: those of one queue, or of several if it is empty.
void add_unnamed(Changes& changes, Event event, std::size_t count) {
  if (count > 0) changes.push_back({.kind = Change::Kind::kTasks, .event = event, .count = count});
}

}  // namespace

void add_submitted(Changes& changes, std::span<const Submission> submissions,
                   const std::vector<SubmitOutcome>& outcomes) {
  changes.reserve(changes.size() + outcomes.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const SubmitOutcome& outcome = outcomes[i];
    const bool is_new = outcome.kind == SubmitOutcome::Kind::kCreated;
    if (!is_new && outcome.kind != SubmitOutcome::Kind::kPresent) continue;
    changes.push_back({.event = Event::kSubmit,
                       .task = outcome.id,
                       .queue = submissions[i].task.queue,
                       .state = outcome.state,
                       .is_new = is_new});
  }
}

void add_claimed(Changes& changes, const std::vector<ClaimOutcome>& claimed) {
  for (const ClaimOutcome& outcome : claimed) {
    changes.reserve(changes.size() + outcome.tasks.size());
    for (const LeasedTask& task : outcome.tasks) {
      changes.push_back({.event = Event::kClaim,
                         .task = task.id,
                         .queue = task.queue,
                         .state = State::kRunning,
                         .is_new = outcome.kind == ClaimOutcome::Kind::kNew});
    }
  }
}

// Heartbeats without progress are summed up: they change nothing that anybody shows.
void add_settled(Changes& changes, std::span<const Settlement> settlements,
                 const std::vector<SettleOutcome>& outcomes) {
  changes.reserve(changes.size() + outcomes.size() + 1);
  std::size_t beats = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const SettleOutcome& outcome = outcomes[i];
    const Settlement& settlement = settlements[i];
    if (!is_success(outcome.verdict)) continue;
    if (settlement.event == Event::kHeartbeat && !settlement.progress) {
      ++beats;
      continue;
    }
    changes.push_back({.event = settlement.event,
                       .task = settlement.id,
                       .queue = settlement.queue,
                       .state = outcome.state,
                       .is_new = outcome.verdict == Verdict::kAccepted});
  }
  add_unnamed(changes, Event::kHeartbeat, beats);
}

void add_cancelled(Changes& changes, std::span<const CancelWish> wishes, const std::vector<CancelOutcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!is_success(outcomes[i].verdict)) continue;
    changes.push_back({.event = Event::kCancel,
                       .task = wishes[i].id,
                       .owner = outcomes[i].owner ? std::string_view(*outcomes[i].owner) : std::string_view(),
                       .state = State::kCancelled,
                       .is_new = outcomes[i].verdict == Verdict::kAccepted});
  }
}

// The store names the queues, and counts the tasks of all of them together.
void add_promoted(Changes& changes, const PromoteOutcome& outcome) {
  if (outcome.queues.size() != 1) add_unnamed(changes, Event::kPromote, outcome.promoted);
  for (const std::string& queue : outcome.queues) {
    changes.push_back({.kind = Change::Kind::kTasks,
                       .event = Event::kPromote,
                       .queue = queue,
                       .state = State::kReady,
                       .count = outcome.queues.size() == 1 ? outcome.promoted : 0});
  }
}

void add_expired(Changes& changes, const ExpireOutcome& outcome) {
  for (const ExpiredLease& each : outcome.expired) {
    changes.push_back({.event = Event::kExpire, .task = each.id, .queue = each.queue, .state = each.state});
  }
}

void add_purged(Changes& changes, const PurgeOutcome& outcome) { add_unnamed(changes, Event::kPurge, outcome.purged); }

}  // namespace horae
