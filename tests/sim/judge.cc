#include "tests/sim/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "model/retry.h"

namespace horae::sim {
namespace {

constexpr std::int64_t kLargestLead = kMaxPriority;  // of one priority over another, in points

// All that `attempt` of `owner` could have been given by the store.
bool has_begun(const Life& life, int attempt) { return attempt >= 1 && attempt <= life.attempt(); }

}  // namespace

void Judge::take(const Record& record) {
  now_ = record.at;
  node_ = record.node;
  std::visit([this](const auto& told) { take(told); }, record.what);
}

void Judge::violate(std::string_view rule, const TaskId& task, std::string text) {
  violate(rule, fmt::format("task {}: {}", short_id(task), text));
}

void Judge::violate(std::string_view rule, std::string text) {
  violations_.push_back({std::string(rule), now_, std::move(text)});
}

void Judge::take(const Submitted& told) {
  if (ledger_.find(told.task) != nullptr) violate("doubled", told.task, "was stored twice");
  if (told.intent > 0) {
    const auto [known, is_new] = intents_.emplace(told.intent, told.task);
    if (!is_new) violate("doubled", told.task, "is the same wish as task " + short_id(known->second));
  }
  if (ledger_.add(told, now_, node_).state != told.state) {
    violate("differs", told.task, fmt::format("begins as {}", std::string(to_string(told.state))));
  }
}

void Judge::take(const Acknowledged& told) {
  acknowledged_.insert(told.task);
  if (ledger_.find(told.task) == nullptr) violate("lost", told.task, "was acknowledged, but never stored");
}

void Judge::take(const Claimed& told) {
  judge_wait(told.owner);
  Life* life = ledger_.find(told.task);
  if (life == nullptr) return violate("overlap", told.task, "is leased, but does not exist");
  if (life->state != State::kReady) {
    violate("overlap", told.task,
            fmt::format("is leased to {} while it is {}", told.owner, std::string(to_string(life->state))));
    if (life->state == State::kScheduled) violate("early", told.task, "is leased before it is due");
  } else {
    judge_order_of_claim(*life);
  }
  if (told.attempt != life->attempt() + 1) {
    violate("doubled", told.task, fmt::format("attempt {} is given after attempt {}", told.attempt, life->attempt()));
  }
  const QueueLedger& queue = ledger_.queue(life->born.wish.queue);
  if (queue.settings.paused || !scheduler_running_) violate("paused", told.task, "is leased, but claims are stopped");
  ledger_.make_running(*life, told.owner, told.lease, now_);
  if (told.lease_expires && *told.lease_expires != life->lease_expires) {
    violate("differs", told.task, "has a lease that does not end when it should");
  }
}

void Judge::take(const GivenAgain& told) {
  const Life* life = ledger_.find(told.task);
  if (life != nullptr && life->is_held_by(told.attempt, told.owner)) return;
  violate("stale", told.task, fmt::format("is given again to {}, which does not hold it", told.owner));
}

void Judge::take(const TokenServed& told) {
  if (served_.insert(told.token).second) return;
  violate("token", fmt::format("the token {} has got a second batch", short_id(told.token)));
}

void Judge::judge_order_of_claim(const Life& life) {
  const QueueLedger& queue = ledger_.queue(life.born.wish.queue);
  const Life& first = *queue.ready.begin()->second;
  if (&first == &life) return;
  violate("order", life.born.task,
          fmt::format("is leased before task {}, which ranks before it", short_id(first.born.task)));
  if (first.ready_second < life.ready_second && first.rank + kLargestLead <= queue.points_at(life.ready_second)) {
    violate("ageing", first.born.task, "had waited longer than the bound when a later task was leased");
  }
}

// The wait of a worker is over. Was anything ready for it all the while?
void Judge::judge_wait(const std::string& owner) {
  const auto found = waiting_.find(owner);
  if (found == waiting_.end()) return;
  const Waiter waiter = std::move(found->second);
  waiting_.erase(found);
  if (!is_calm() || !scheduler_running_) return;
  for (const std::string& name : waiter.queues) {
    const QueueLedger& queue = ledger_.queue(name);
    if (queue.settings.paused) continue;
    const Instant claimable = std::max({queue.claimable_since, scheduler_since_, calm_since_});
    for (const auto& [node, ready] : queue.ready_at_node) {
      if (ready.empty()) continue;
      const Instant both = std::max(ready.begin()->first, waiter.since);
      const bool is_told = node == waiter.node && both >= claimable;  // nobody is told of a queue that is resumed
      const Duration waited = now_ - std::max(both, claimable);
      if (waited <= (is_told ? promises_.prompt : promises_.patient)) continue;
      violate("idle", fmt::format("{} waited for queue {} for {} while task number {} was ready", owner, name,
                                  format_duration(waited), ready.begin()->second));
      return;
    }
  }
}

void Judge::take(const Settled& told) {
  Life* life = ledger_.find(told.task);
  if (life == nullptr) {
    if (told.verdict != Verdict::kNotFound) violate("stale", told.task, "is settled, but does not exist");
    return;
  }
  if (told.verdict == Verdict::kAccepted) {
    if (life->is_held_by(told.attempt, told.owner)) return apply(told, *life);
    const bool has_ended = is_terminal(life->state);
    return violate(has_ended ? "final" : "stale", told.task,
                   fmt::format("accepts {} of attempt {} by {}, while it is {} with attempt {}",
                               std::string(to_string(told.event)), told.attempt, told.owner,
                               std::string(to_string(life->state)), life->attempt()));
  }
  judge_refusal(told, *life);
}

void Judge::judge_refusal(const Settled& told, Life& life) {
  if (life.is_held_by(told.attempt, told.owner)) {
    return violate("refused", told.task,
                   fmt::format("answers {} to its owner {}", std::string(to_string(told.verdict)), told.owner));
  }
  const bool is_repeated = told.verdict == Verdict::kRepeated;
  Attempt* attempt =
      has_begun(life, told.attempt) ? &life.attempts[static_cast<std::size_t>(told.attempt - 1)] : nullptr;
  const bool was_accepted = attempt != nullptr && attempt->ended == told.event && attempt->owner == told.owner;
  if (is_repeated && !was_accepted) {
    violate("stale", told.task,
            fmt::format("takes {} of attempt {} by {} for a repetition", std::string(to_string(told.event)),
                        told.attempt, told.owner));
  }
  if (is_repeated || attempt == nullptr || told.verdict == Verdict::kNotFound) return;
  if (was_accepted && told.attempt == life.attempt()) {
    violate("refused", told.task, "refuses the repetition of what it had accepted");
  }
  const bool brings_result = told.event == Event::kComplete || told.event == Event::kAbort;
  const bool is_noted = std::ranges::find(attempt->late, told.owner) != attempt->late.end();
  if (brings_result && !is_noted) attempt->late.push_back(told.owner);
}

void Judge::expect_state(const Settled& told, State expected) {
  if (told.state == expected) return;
  const bool recurs = expected == State::kScheduled && told.event == Event::kComplete;
  violate(recurs ? "recurrence" : "tries", told.task,
          fmt::format("is {} after {}, not {}", told.state ? std::string(to_string(*told.state)) : "unknown",
                      std::string(to_string(told.event)), std::string(to_string(expected))));
}

// The settlement was accepted from the present owner.
void Judge::apply(const Settled& told, Life& life) {
  if (told.event == Event::kHeartbeat) return ledger_.extend(life, told.lease.value_or(life.lease), now_);
  Attempt& attempt = life.attempts.back();
  attempt.ended = told.event;
  if (told.event == Event::kRelease && attempt.is_begun) {
    violate("taken", told.task, fmt::format("is taken from {}, which works on attempt {}", told.owner, told.attempt));
  }
  if (told.event == Event::kYield || told.event == Event::kRelease) {
    expect_state(told, State::kReady);
    return ledger_.return_to_ready(life, now_, node_);
  }
  const NewTask& wish = life.born.wish;
  std::optional<Duration> delay = wish.recurring;
  if (told.event == Event::kAbort) delay = retry_delay(wish.retry, life.tries + 1, wish.max_attempts, told.chance);
  const State end = told.event == Event::kComplete ? State::kCompleted : State::kAborted;
  expect_state(told, delay ? State::kScheduled : end);
  if (!delay) return ledger_.finish(life, end, now_);
  attempt.is_retried = told.event == Event::kAbort;
  life.tries = attempt.is_retried ? life.tries + 1 : 0;
  ledger_.make_scheduled(life, now_ + std::chrono::ceil<std::chrono::microseconds>(*delay), now_);
}

void Judge::take(const Cancelled& told) {
  Life* life = ledger_.find(told.task);
  if (told.verdict != Verdict::kAccepted) {
    const bool is_cancelled = life != nullptr && life->state == State::kCancelled;
    if (told.verdict == Verdict::kRepeated && !is_cancelled) violate("final", told.task, "was never cancelled before");
    if (told.verdict == Verdict::kWrongState && !is_terminal(life->state)) {
      violate("refused", told.task, "refuses to be cancelled");
    }
    return;
  }
  if (life == nullptr) return violate("lost", told.task, "is cancelled, but does not exist");
  if (is_terminal(life->state)) return violate("final", told.task, "is cancelled after its end");
  if (life->state == State::kRunning) life->attempts.back().ended = Event::kCancel;
  ledger_.finish(*life, State::kCancelled, now_);
}

void Judge::take(const Promoted& told) {
  std::vector<Life*> due;
  for (const auto& [run_at, numbered] : ledger_.scheduled()) {
    if (run_at > now_ || due.size() == told.max) break;
    due.push_back(numbered.second);
  }
  if (told.count != due.size()) {
    violate(told.count > due.size() ? "early" : "due",
            fmt::format("{} tasks became ready, but {} were due", told.count, due.size()));
  }
  for (Life* life : due) {
    if (is_calm() && now_ - std::max(life->run_at, calm_since_) > promises_.patient) {
      violate("due", life->born.task, "became ready " + format_duration(now_ - life->run_at) + " after it was due");
    }
    ledger_.make_ready(*life, now_, node_);
  }
}

void Judge::take(const Extended&) {
  for (const auto& [number, life] : ledger_.running()) ledger_.extend(*life, life->lease, now_);
}

void Judge::take(const Expired& told) {
  Life* life = ledger_.find(told.task);
  if (life == nullptr || !life->is_held_by(told.attempt, told.owner)) {
    const bool has_ended = life != nullptr && is_terminal(life->state);
    return violate(has_ended ? "final" : "stale", told.task, "expires, but nobody has that lease");
  }
  if (life->lease_expires >= now_) {
    violate("early", told.task, "loses its lease " + format_duration(life->lease_expires - now_) + " before its time");
  }
  if (life->granted < outage_end_) violate("outage", told.task, "loses its lease because the store was away");
  if (all_live()) violate("calm", told.task, fmt::format("loses the lease of {}, which lives", told.owner));

  ++life->tries;
  life->attempts.back().ended = Event::kExpire;
  const int most = life->born.wish.max_attempts;
  const State expected = most > 0 && life->tries >= most ? State::kAborted : State::kReady;
  if (told.state != expected) {
    violate("tries", told.task,
            fmt::format("is {} after {} of {} tries", std::string(to_string(told.state)), life->tries, most));
  }
  if (told.state == State::kReady) {
    ledger_.return_to_ready(*life, now_, node_);
  } else {
    ledger_.finish(*life, told.state, now_);
  }
}

void Judge::take(const Purged& told) {
  purged_ += told.count;
  if (told.count > 0) last_purge_ = now_;
}

void Judge::take(const QueueSet& told) { ledger_.queue(told.queue).set(told.settings, now_); }

void Judge::take(const SchedulerSet& told) {
  scheduler_running_ = told.running;
  scheduler_since_ = now_;
}

void Judge::take(const StoreAway& told) {
  if (told.away) {
    away_since_ = now_;
    return;
  }
  if (away_since_ && now_ - *away_since_ > promises_.silence) outage_end_ = now_;
  away_since_.reset();
}

void Judge::take(const Waiting& told) { waiting_[told.owner] = {told.queues, now_, node_}; }

void Judge::take(const WaitOver& told) { judge_wait(told.owner); }

void Judge::take(const RunBegins& told) {
  auto& runs = running_at_[node_];
  if (!runs.emplace(told.task, told.attempt).second) violate("doubled", told.task, "runs twice in the slots of a node");
  if (runs.size() > node_slots_) violate("doubled", told.task, "runs in a slot that is taken");
  const Life* life = ledger_.find(told.task);
  if (life == nullptr || !has_begun(*life, told.attempt)) violate("stale", told.task, "runs without a lease");
}

void Judge::take(const RunEnds& told) { running_at_[node_].erase({told.task, told.attempt}); }

void Judge::take(const WorkBegins& told) {
  Life* life = ledger_.find(told.task);
  if (life == nullptr || !has_begun(*life, told.attempt)) {
    return violate("stale", told.task, "is worked on without a lease");
  }
  life->attempts[static_cast<std::size_t>(told.attempt - 1)].is_begun = true;
}

void Judge::take(const NodeGone&) {
  running_at_.erase(node_);
  std::erase_if(waiting_, [this](const auto& entry) { return entry.second.node == node_; });
}

void Judge::take(const Phase& told) {
  phase_ = told.kind;
  if (told.kind == Phase::Kind::kCalm) calm_since_ = now_;
}

}  // namespace horae::sim
