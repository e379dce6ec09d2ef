#include "tests/sim/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "model/retry.h"

namespace horae::sim {
namespace {

constexpr std::int64_t kLargestLead = kMaxPriority;  // of one priority over another, in points

// True if the store has handed out this attempt.
bool has_begun(const Life& life, int attempt) { return attempt >= 1 && attempt <= life.attempt(); }

}  // namespace

void Judge::take(const Record& record) {
  now_ = record.at;
  node_ = record.node;
  std::visit([this](const auto& fact) { take(fact); }, record.what);
}

void Judge::violate(std::string_view rule, const TaskId& task, std::string text) {
  violate(rule, fmt::format("task {}: {}", short_id(task), text));
}

void Judge::violate(std::string_view rule, std::string text) {
  violations_.push_back({std::string(rule), now_, std::move(text)});
}

void Judge::take(const Submitted& fact) {
  if (ledger_.find(fact.task) != nullptr) violate("doubled", fact.task, "was stored twice");
  if (fact.intent > 0) {
    const auto [known, is_new] = intents_.emplace(fact.intent, fact.task);
    if (!is_new) violate("doubled", fact.task, "fulfils the same submit as task " + short_id(known->second));
  }
  if (ledger_.add(fact, now_, node_).state != fact.state) {
    violate("differs", fact.task, fmt::format("begins as {}", std::string(to_string(fact.state))));
  }
}

void Judge::take(const Acknowledged& fact) {
  acknowledged_.insert(fact.task);
  if (ledger_.find(fact.task) == nullptr) violate("lost", fact.task, "was acknowledged, but never stored");
}

void Judge::take(const EndAcknowledged& fact) {
  const Life* life = ledger_.find(fact.task);
  const bool has_ended = life != nullptr && has_begun(*life, fact.attempt) &&
                         life->attempts[static_cast<std::size_t>(fact.attempt - 1)].ended.has_value();
  if (!has_ended) violate("lost", fact.task, "has an acknowledged end that was never stored");
}

void Judge::take(const Claimed& fact) {
  judge_wait(fact.owner);
  Life* life = ledger_.find(fact.task);
  if (life == nullptr) return violate("overlap", fact.task, "is leased, but does not exist");
  if (life->state != State::kReady) {
    violate("overlap", fact.task,
            fmt::format("is leased to {} while it is {}", fact.owner, std::string(to_string(life->state))));
    if (life->state == State::kScheduled) violate("early", fact.task, "is leased before it is due");
  } else {
    judge_order_of_claim(*life);
  }
  if (fact.attempt != life->attempt() + 1) {
    violate("doubled", fact.task,
            fmt::format("attempt {} is handed out after attempt {}", fact.attempt, life->attempt()));
  }
  const QueueLedger& queue = ledger_.queue(life->born.wish.queue);
  if (queue.settings.paused || !scheduler_running_)
    violate("paused", fact.task, "is leased, but its queue or the scheduler is stopped");
  ledger_.make_running(*life, fact.owner, fact.lease, now_);
  if (fact.lease_expires && *fact.lease_expires != life->lease_expires) {
    violate("differs", fact.task, "has a lease with a wrong end");
  }
}

void Judge::take(const GrantedAgain& fact) {
  const Life* life = ledger_.find(fact.task);
  if (life != nullptr && life->is_held_by(fact.attempt, fact.owner)) return;
  violate("stale", fact.task, fmt::format("is returned again to {}, which does not hold it", fact.owner));
}

void Judge::take(const TokenServed& fact) {
  if (served_.insert(fact.token).second) return;
  violate("token", fmt::format("the token {} got a second batch", short_id(fact.token)));
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

// A worker has stopped waiting. Checks that no task was ready for it for too long.
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
      const Instant first = ready.begin()->first;
      const Instant both = std::max(first, waiter.since);
      // Resuming a queue at one node wakes no worker at another. Tasks that another node made ready, which this one
      // learns by polling, may use up the permits of its own.
      const bool is_woken = node == waiter.node && first >= claimable && !queue.had_others(node, first);
      const Duration waited = now_ - std::max(both, claimable);
      if (waited <= (is_woken ? promises_.prompt : promises_.patient)) continue;
      violate("idle", fmt::format("{} waited for queue {} for {} while task number {} was ready", owner, name,
                                  format_duration(waited), ready.begin()->second));
      return;
    }
  }
}

void Judge::take(const Settled& fact) {
  Life* life = ledger_.find(fact.task);
  if (life == nullptr) {
    if (fact.verdict != Verdict::kNotFound) violate("stale", fact.task, "is settled, but does not exist");
    return;
  }
  if (fact.verdict == Verdict::kAccepted) {
    if (life->is_held_by(fact.attempt, fact.owner)) return apply(fact, *life);
    const bool has_ended = is_terminal(life->state);
    return violate(has_ended ? "final" : "stale", fact.task,
                   fmt::format("accepts {} of attempt {} by {}, while it is {} with attempt {}",
                               std::string(to_string(fact.event)), fact.attempt, fact.owner,
                               std::string(to_string(life->state)), life->attempt()));
  }
  judge_refusal(fact, *life);
}

void Judge::judge_refusal(const Settled& fact, Life& life) {
  if (life.is_held_by(fact.attempt, fact.owner)) {
    return violate("refused", fact.task,
                   fmt::format("returns {} to its owner {}", std::string(to_string(fact.verdict)), fact.owner));
  }
  const bool is_repeated = fact.verdict == Verdict::kRepeated;
  Attempt* attempt =
      has_begun(life, fact.attempt) ? &life.attempts[static_cast<std::size_t>(fact.attempt - 1)] : nullptr;
  const bool was_accepted = attempt != nullptr && attempt->ended == fact.event && attempt->owner == fact.owner;
  if (is_repeated && !was_accepted) {
    violate("stale", fact.task,
            fmt::format("treats {} of attempt {} by {} as a repetition", std::string(to_string(fact.event)),
                        fact.attempt, fact.owner));
  }
  if (is_repeated || attempt == nullptr || fact.verdict == Verdict::kNotFound) return;
  if (was_accepted && fact.attempt == life.attempt()) {
    violate("refused", fact.task, "refuses the repetition of an accepted settlement");
  }
  const bool brings_result = fact.event == Event::kComplete || fact.event == Event::kAbort;
  const bool is_noted = std::ranges::find(attempt->late, fact.owner) != attempt->late.end();
  if (brings_result && !is_noted) attempt->late.push_back(fact.owner);
}

void Judge::expect_state(const Settled& fact, State expected) {
  if (fact.state == expected) return;
  const bool recurs = expected == State::kScheduled && fact.event == Event::kComplete;
  violate(recurs ? "recurrence" : "tries", fact.task,
          fmt::format("is {} after {}, not {}", fact.state ? std::string(to_string(*fact.state)) : "unknown",
                      std::string(to_string(fact.event)), std::string(to_string(expected))));
}

// Applies a settlement that was accepted from the present owner.
void Judge::apply(const Settled& fact, Life& life) {
  if (fact.event == Event::kHeartbeat) return ledger_.extend(life, fact.lease.value_or(life.lease), now_);
  Attempt& attempt = life.attempts.back();
  attempt.ended = fact.event;
  if (fact.event == Event::kRelease && attempt.is_begun) {
    violate("taken", fact.task,
            fmt::format("is released from {}, which works on attempt {}", fact.owner, fact.attempt));
  }
  if (fact.event == Event::kYield || fact.event == Event::kRelease) {
    expect_state(fact, State::kReady);
    return ledger_.return_to_ready(life, now_, node_);
  }
  const NewTask& wish = life.born.wish;
  std::optional<Duration> delay = wish.recurring;
  if (fact.event == Event::kAbort) delay = retry_delay(wish.retry, life.tries + 1, wish.max_attempts, fact.chance);
  const State end = fact.event == Event::kComplete ? State::kCompleted : State::kAborted;
  expect_state(fact, delay ? State::kScheduled : end);
  if (!delay) return ledger_.finish(life, end, now_);
  attempt.is_retried = fact.event == Event::kAbort;
  life.tries = attempt.is_retried ? life.tries + 1 : 0;
  ledger_.make_scheduled(life, now_ + std::chrono::ceil<std::chrono::microseconds>(*delay), now_);
}

void Judge::take(const Cancelled& fact) {
  Life* life = ledger_.find(fact.task);
  if (fact.verdict != Verdict::kAccepted) {
    const bool is_cancelled = life != nullptr && life->state == State::kCancelled;
    if (fact.verdict == Verdict::kRepeated && !is_cancelled)
      violate("final", fact.task, "is reported as cancelled before, but was not");
    if (fact.verdict == Verdict::kWrongState && !is_terminal(life->state)) {
      violate("refused", fact.task, "refuses a cancel");
    }
    return;
  }
  if (life == nullptr) return violate("lost", fact.task, "is cancelled, but does not exist");
  if (is_terminal(life->state)) return violate("final", fact.task, "is cancelled after its end");
  if (life->state == State::kRunning) life->attempts.back().ended = Event::kCancel;
  ledger_.finish(*life, State::kCancelled, now_);
}

void Judge::take(const Promoted& fact) {
  std::vector<Life*> due;
  for (const auto& [run_at, numbered] : ledger_.scheduled()) {
    if (run_at > now_ || due.size() == fact.max) break;
    due.push_back(numbered.second);
  }
  if (fact.count != due.size()) {
    violate(fact.count > due.size() ? "early" : "due",
            fmt::format("{} tasks became ready, but {} were due", fact.count, due.size()));
  }
  for (Life* life : due) {
    if (is_calm() && now_ - std::max(life->run_at, calm_since_) > promises_.patient) {
      violate("due", life->born.task, "became ready " + format_duration(now_ - life->run_at) + " after it was due");
    }
    ledger_.make_ready(*life, now_, node_);
  }
}

void Judge::take(const Extended& fact) {
  for (const auto& [number, life] : ledger_.running()) {
    if (fact.last_stamp) {
      const Duration out_of_sight = now_ - std::max(*fact.last_stamp, life->granted);
      if (life->lease_expires < *fact.last_stamp || (out_of_sight - fact.slack) * 3 <= life->lease) continue;
    }
    ledger_.extend(*life, life->lease, now_);
  }
}

void Judge::take(const Expired& fact) {
  Life* life = ledger_.find(fact.task);
  if (life == nullptr || !life->is_held_by(fact.attempt, fact.owner)) {
    const bool has_ended = life != nullptr && is_terminal(life->state);
    return violate(has_ended ? "final" : "stale", fact.task, "expires, but that lease does not exist");
  }
  if (life->lease_expires >= now_) {
    violate("early", fact.task, "loses its lease " + format_duration(life->lease_expires - now_) + " before its time");
  }
  if (is_excused_by_outage(*life)) violate("outage", fact.task, "loses its lease because of an outage of the store");
  if (all_live()) violate("calm", fact.task, fmt::format("loses the lease of {}, which is alive", fact.owner));

  ++life->tries;
  life->attempts.back().ended = Event::kExpire;
  const int most = life->born.wish.max_attempts;
  const State expected = most > 0 && life->tries >= most ? State::kAborted : State::kReady;
  if (fact.state != expected) {
    violate("tries", fact.task,
            fmt::format("is {} after {} of {} tries", std::string(to_string(fact.state)), life->tries, most));
  }
  if (fact.state == State::kReady) {
    ledger_.return_to_ready(*life, now_, node_);
  } else {
    ledger_.finish(*life, fact.state, now_);
  }
}

void Judge::take(const Purged& fact) {
  purged_ += fact.count;
  if (fact.count > 0) last_purge_ = now_;
}

void Judge::take(const QueueSet& fact) { ledger_.queue(fact.queue).set(fact.settings, now_); }

void Judge::take(const SchedulerSet& fact) {
  scheduler_running_ = fact.running;
  scheduler_since_ = now_;
}

void Judge::take(const StoreOutage& fact) {
  if (fact.is_down) {
    outage_began_ = now_;
    return;
  }
  if (outage_began_) outages_.push_back({now_, now_ - *outage_began_});
  outage_began_.reset();
}

// Heartbeats come every third of a lease: an outage of that length, since it was granted or extended, may have stopped
// the one that counted.
bool Judge::is_excused_by_outage(const Life& life) const {
  for (auto outage = outages_.rbegin(); outage != outages_.rend() && outage->end > life.granted; ++outage) {
    if ((outage->length - promises_.slack) * 3 > life.lease) return true;
  }
  return false;
}

void Judge::take(const Waiting& fact) { waiting_[fact.owner] = {fact.queues, now_, node_}; }

void Judge::take(const WaitOver& fact) { judge_wait(fact.owner); }

void Judge::take(const RunBegins& fact) {
  auto& runs = running_at_[node_];
  if (!runs.emplace(fact.task, fact.attempt).second) violate("doubled", fact.task, "runs twice in the slots of a node");
  if (runs.size() > node_slots_) violate("doubled", fact.task, "runs in an occupied slot");
  Life* life = ledger_.find(fact.task);
  if (life == nullptr || !has_begun(*life, fact.attempt)) {
    return violate("stale", fact.task, "runs without a lease");
  }
  Attempt& attempt = life->attempts[static_cast<std::size_t>(fact.attempt - 1)];
  if (attempt.ended == Event::kRelease) violate("taken", fact.task, "runs, although its node has released it");
  attempt.is_begun = true;
}

void Judge::take(const RunEnds& fact) { running_at_[node_].erase({fact.task, fact.attempt}); }

void Judge::take(const WorkBegins& fact) {
  Life* life = ledger_.find(fact.task);
  if (life == nullptr || !has_begun(*life, fact.attempt)) {
    return violate("stale", fact.task, "is worked on without a lease");
  }
  life->attempts[static_cast<std::size_t>(fact.attempt - 1)].is_begun = true;
}

void Judge::take(const NodeGone&) {
  running_at_.erase(node_);
  std::erase_if(waiting_, [this](const auto& entry) { return entry.second.node == node_; });
}

void Judge::take(const Phase& fact) {
  phase_ = fact.kind;
  if (fact.kind == Phase::Kind::kCalm) calm_since_ = now_;
}

}  // namespace horae::sim
