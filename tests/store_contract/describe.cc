#include "tests/store_contract/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time_text.h"

namespace horae::testing {
namespace {

std::string text_of(const std::optional<Instant>& instant) { return instant ? format_instant(*instant) : "none"; }
std::string text_of(const std::optional<Duration>& length) {
  return length ? fmt::format("{}ns", length->count()) : "none";
}
std::string text_of(const std::optional<std::string>& text) { return text ? fmt::format("<{}>", *text) : "none"; }
std::string text_of(const std::optional<double>& number) { return number ? fmt::format("{}", *number) : "none"; }
std::string text_of(const std::optional<State>& state) { return state ? std::string(to_string(*state)) : "none"; }

// The words of the error that the store itself makes are its own.
std::string text_of(const std::vector<TaskError>& errors) {
  if (errors.size() == 1 && errors[0].code == "attempts_exhausted") return errors[0].code;
  return to_json(errors);
}

std::string text_of(const RetryPolicy& policy) {
  return fmt::format("{} {} {} {} {}", static_cast<int>(policy.kind), policy.delay.count(), policy.factor,
                     policy.cap.count(), policy.jitter);
}

std::string text_of(const HistoryEntry& entry) {
  return fmt::format("\n    {} of attempt {} by {} at {} progress {} detail {}", to_string(entry.kind), entry.attempt,
                     entry.worker, format_instant(entry.time), text_of(entry.progress), entry.detail);
}

}  // namespace

std::string describe(bool value) { return value ? "true" : "false"; }
std::string describe(const std::string& text) { return text; }
std::string describe(const Uuid& uuid) { return to_string(uuid); }
std::string describe(Verdict verdict) { return std::string(to_string(verdict)); }

std::string describe(const Task& task) {
  std::string text = fmt::format(
      "task {} key {} queue {} priority {} spec {} state {} progress {} created {} updated {} run_at {} recurring {} "
      "attempt {} tries {} max_attempts {} retry {} owner {} started {} lease_expires {} errors {} result {} "
      "checkpoint {} cancel_reason {} omitted {}",
      to_string(task.id), text_of(task.key), task.queue, task.priority, task.spec, to_string(task.state), task.progress,
      text_of(task.created_at), text_of(task.updated_at), text_of(task.run_at), text_of(task.recurring), task.attempt,
      task.tries, task.max_attempts, text_of(task.retry), text_of(task.owner), text_of(task.started_at),
      text_of(task.lease_expires), text_of(task.errors), text_of(task.result), text_of(task.checkpoint),
      text_of(task.cancel_reason), task.history.omitted());
  for (const HistoryEntry& entry : task.history.entries()) text += text_of(entry);
  return text;
}

std::string describe(const SubmitOutcome& outcome) {
  if (outcome.kind == SubmitOutcome::Kind::kOverLimit) return "over limit";
  return fmt::format("kind {} id {} state {}", static_cast<int>(outcome.kind), to_string(outcome.id),
                     to_string(outcome.state));
}

std::string describe(const LeasedTask& leased) {
  return fmt::format("lease of {} queue {} priority {} spec {} attempt {} checkpoint {} until {}", to_string(leased.id),
                     leased.queue, leased.priority, leased.spec, leased.attempt, text_of(leased.checkpoint),
                     format_instant(leased.lease_expires));
}

std::string describe(const SettleOutcome& outcome) {
  return fmt::format("{} state {} attempt {} owner {} until {}", to_string(outcome.verdict), text_of(outcome.state),
                     outcome.attempt, text_of(outcome.owner), text_of(outcome.lease_expires));
}

std::string describe(const ClaimOutcome& outcome) {
  return fmt::format("claim {} {}", static_cast<int>(outcome.kind), describe(outcome.tasks));
}

std::string describe(const BundleOutcome& outcome) {
  return fmt::format("settled {}\nsubmitted {}\nleased {}", describe(outcome.settled), describe(outcome.submitted),
                     describe(outcome.leased));
}

std::string describe(const CancelOutcome& outcome) {
  return fmt::format("{} state {} owner {}", to_string(outcome.verdict), text_of(outcome.state),
                     outcome.owner.value_or("-"));
}

std::string describe(const PromoteOutcome& outcome) {
  auto queues = outcome.queues;
  std::ranges::sort(queues);
  return fmt::format("promoted {} next in {} queues {}", outcome.promoted, text_of(outcome.next_in), describe(queues));
}

std::string describe(const Watch& watch) {
  return fmt::format("now {} stamp {} leases {} next in {}", format_instant(watch.now), text_of(watch.stamp),
                     watch.has_leases, text_of(watch.next_expiry_in));
}

std::string describe(const ExpireOutcome& outcome) {
  std::string text = fmt::format("kind {} extended {}", static_cast<int>(outcome.kind), outcome.extended);
  for (const ExpiredLease& lease : outcome.expired) {
    text += fmt::format("\n  {} queue {} owner {} attempt {} state {}", to_string(lease.id), lease.queue, lease.owner,
                        lease.attempt, to_string(lease.state));
  }
  return text;
}

std::string describe(const PurgeOutcome& outcome) {
  return fmt::format("purged {} more {}", outcome.purged, outcome.more);
}

std::string describe(const QueueSettings& settings) {
  return fmt::format("paused {} rate {} retention {}", settings.paused, settings.ageing_rate,
                     settings.retention.count());
}

std::string describe(const QueueInfo& info) {
  return fmt::format("queue {} {}: scheduled {} ready {} running {} completed {} aborted {} cancelled {} oldest {}",
                     info.name, describe(info.settings), info.scheduled, info.ready, info.running, info.completed,
                     info.aborted, info.cancelled, text_of(info.oldest_ready));
}

std::string describe(const Readying& readying) {
  return fmt::format("{} readied at {} by {}", readying.id, format_instant(readying.readied_at),
                     to_string(readying.readied_by));
}

std::string describe(const Message& message) {
  std::string text = fmt::format("message {} deadline {} key {} value {}", message.id, format_instant(message.deadline),
                                 text_of(message.key), text_of(message.value));
  for (const MessageHeader& header : message.headers) text += fmt::format(" {}={}", header.name, text_of(header.value));
  return text;
}

std::string describe(const StoredMessage& stored) {
  const std::string place =
      stored.place ? fmt::format("{}:{}", stored.place->partition, stored.place->offset) : std::string("nowhere");
  return fmt::format("{} due {} from {}, {}", describe(stored.message), format_instant(stored.due), place,
                     describe(stored.readying));
}

std::string describe(const MessagePosition& position) {
  return fmt::format("{} {}", format_instant(position.due), position.id);
}

namespace {

std::string list_of(const std::vector<ReadiedMessage>& messages) {
  std::string text;
  for (const auto& [message, readying, due] : messages) {
    text += "\n  " + describe(StoredMessage{message, due, std::nullopt, readying});
  }
  return text;
}

}  // namespace

std::string describe(const EnqueueOutcome& outcome) {
  std::string text = "at " + format_instant(outcome.now);
  for (const EnqueueKind kind : outcome.kinds) text += fmt::format(" {}", static_cast<int>(kind));
  text += list_of(outcome.readied);
  return text;
}

std::string describe(const TurnOutcome& outcome) {
  std::string text = fmt::format("at {}, next in {}, {}", format_instant(outcome.now), text_of(outcome.next_in),
                                 outcome.has_rows ? "has rows" : "empty");
  for (const bool removed : outcome.removed) text += removed ? " removed" : " not-removed";
  for (const bool given_back : outcome.given_back) text += given_back ? " given-back" : " not-given-back";
  text += list_of(outcome.readied);
  return text;
}

std::string describe(const HeldPage& page) {
  std::string text = fmt::format("at {}, next {}", format_instant(page.now), describe(page.next));
  text += list_of(page.messages);
  return text;
}

std::string describe(const StuckPage& page) {
  std::string text = fmt::format("at {}, next {}", format_instant(page.now), describe(page.next));
  for (const Readying& each : page.messages) text += "\n  " + describe(each);
  return text;
}

std::string describe(const MessagePage& page) {
  std::string text = "next " + describe(page.next);
  for (const StoredMessage& each : page.messages) text += "\n  " + describe(each);
  return text;
}

std::string describe(const MessageCounts& counts) {
  return fmt::format("at {} waiting {} ready {} overdue {} oldest {} {}", format_instant(counts.now), counts.waiting,
                     counts.ready, counts.overdue, text_of(counts.oldest_overdue), counts.more ? "more" : "all");
}

std::string describe(const DelayLook& look) {
  return fmt::format("{} next in {}", look.has_rows ? "has rows" : "empty", text_of(look.next_in));
}

}  // namespace horae::testing
