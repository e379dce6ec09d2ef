// The store against the model: each event, in each situation that decides about its effect, must change the task as
// effect_of() says (model/effect.h), and in nothing else. Statements that repeat the rule in SQL are held to it here.

#include <algorithm>
#include <string>
#include <utility>

#include "model/effect.h"
#include "tests/store_contract/contract.h"
#include "tests/store_contract/describe.h"

namespace horae::testing {

// What decides about effects, apart from the event.
struct EffectTable::Situation {
  bool recurs = false;
  bool is_retried = false;
  int tries_left = 0;     // 0: without a limit; 1: the present one is the last
  bool has_past = false;  // earlier attempts and turns, a lost lease, progress, a checkpoint, a result
};

namespace {

using Situation = EffectTable::Situation;

std::vector<Situation> all_situations() {
  std::vector<Situation> all;
  for (const bool recurs : {false, true})
    for (const bool is_retried : {false, true})
      for (const int tries_left : {0, 1, 2})
        for (const bool has_past : {false, true}) all.push_back({recurs, is_retried, tries_left, has_past});
  return all;
}

// For events whose effect depends on none of it: nothing special, and everything.
std::vector<Situation> some_situations() {
  return {{}, {.has_past = true}, {true, true, 1, false}, {true, true, 1, true}};
}

std::string in_words(const Situation& situation) {
  std::string words = situation.has_past ? "past" : "new";
  if (situation.recurs) words += "-recurring";
  if (situation.is_retried) words += "-retried";
  if (situation.tries_left > 0) words += "-" + std::to_string(situation.tries_left) + "-left";
  return words;
}

}  // namespace

// An event and what comes with it.
struct EffectTable::Action {
  Event event;
  std::optional<Duration> lease = std::nullopt;
  std::optional<double> progress = std::nullopt;
  std::optional<std::string> checkpoint = std::nullopt;
  std::optional<std::string> result = std::nullopt;
  bool names_number = true;  // false: the store looks the task up by its id
};

namespace {

using Action = EffectTable::Action;

// Settlements whose effect depends on the situation.
std::vector<Action> ends_by_situation() {
  std::vector<Action> all;
  for (const bool names_number : {true, false}) {
    for (const auto& result : {std::optional<std::string>(), std::optional<std::string>(R"({"rows":3})")})
      all.push_back({.event = Event::kComplete, .result = result, .names_number = names_number});
    all.push_back({.event = Event::kAbort, .names_number = names_number});
  }
  return all;
}

// The other settlements, with everything that they may bring and without.
std::vector<Action> other_settlements() {
  std::vector<Action> all;
  for (const auto& progress : {std::optional<double>(), std::optional(0.5)})
    for (const auto& checkpoint : {std::optional<std::string>(), std::optional<std::string>("[2]")}) {
      all.push_back({.event = Event::kHeartbeat, .progress = progress, .checkpoint = checkpoint});
      all.push_back({.event = Event::kYield, .progress = progress, .checkpoint = checkpoint});
    }
  all.push_back({.event = Event::kHeartbeat, .lease = 25s});
  all.push_back({.event = Event::kRelease});
  return all;
}

TaskFacts facts_of(const Task& task, Duration lease) {
  return {.state = task.state,
          .tries = task.tries,
          .max_attempts = task.max_attempts,
          .recurring = task.recurring,
          .retry = task.retry,
          .progress = task.progress,
          .lease = lease};
}

EventFacts facts_of(const Settlement& said) {
  return {.lease = said.lease,
          .progress = said.progress,
          .has_checkpoint = said.checkpoint.has_value(),
          .chance = said.chance};
}

History without_assignment(const History& history, int attempt) {
  History kept(history.omitted());
  for (const HistoryEntry& entry : history.entries()) {
    if (entry.kind != HistoryKind::kAssignment || entry.attempt != attempt) kept.append(entry);
  }
  return kept;
}

Instant after(Instant from, Duration wait) { return from + std::chrono::floor<std::chrono::microseconds>(wait); }

// `task` as `effect` changes it at `now`. The event came from said.owner and brought what `said` carries.
Task changed(Task task, const Effect& effect, const Settlement& said, Instant now) {
  task.state = *effect.state;
  if (effect.owner == Effect::Owner::kNew) {
    ++task.attempt;
    task.owner = said.owner;
    task.started_at = now;
  }
  if (effect.history) {
    task.history.append({.kind = effect.history->kind,
                         .worker = *task.owner,
                         .time = now,
                         .attempt = task.attempt,
                         .progress = effect.history->progress,
                         .detail = effect.history->has_errors ? history_detail(to_json(said.errors)) : ""});
  }
  if (effect.removes_assignment) task.history = without_assignment(task.history, task.attempt);
  if (effect.owner == Effect::Owner::kCleared) {
    task.owner.reset();
    task.started_at.reset();
  }
  task.lease_expires = effect.lease ? std::optional(after(now, *effect.lease)) : std::nullopt;
  if (effect.due_in) task.run_at = after(now, *effect.due_in);
  task.tries = effect.tries;
  task.progress = effect.progress.value_or(task.progress);
  if (effect.checkpoint == Effect::Checkpoint::kReplaced) task.checkpoint = said.checkpoint;
  if (effect.checkpoint == Effect::Checkpoint::kDropped) task.checkpoint.reset();
  if (effect.replaces_result) task.result = said.result;
  if (effect.errors == Effect::Errors::kBrought) task.errors = said.errors;
  if (effect.errors == Effect::Errors::kExhausted) task.errors = {attempts_exhausted()};
  if (effect.is_update) task.updated_at = now;
  return task;
}

}  // namespace

// A task and what the store must remember of its attempts.
struct EffectTable::Case {
  std::string queue;
  Lease lease;                      // of the newest attempt; attempt 0 before the first
  std::optional<AttemptEnd> ended;  // of the newest attempt that has ended
};

// ---- Situations ----

namespace {

NewTask task_for(const Situation& situation, std::string queue) {
  const int tries = situation.has_past ? 1 : 0;
  NewTask task{.queue = std::move(queue)};
  if (situation.recurs) task.recurring = 1h;
  if (situation.is_retried) task.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 5s};
  if (situation.tries_left > 0) task.max_attempts = tries + situation.tries_left;
  return task;
}

}  // namespace

EffectTable::Case EffectTable::running(const NewTask& task, bool has_past) {
  Case made{.queue = task.queue, .lease = start(task), .ended = {}};
  if (!has_past) return made;
  if (task.recurring) {
    Settlement done = settlement(Event::kComplete, made.lease);
    done.result = R"("the turn before")";
    (void)settle(done);
    advance(*task.recurring);
    (void)promote();
    made.lease = claim(kOwner, made.queue);
  }
  Settlement given = settlement(Event::kYield, made.lease);
  given.progress = 0.125;
  given.checkpoint = "[1]";
  (void)settle(given);
  made.lease = claim("worker-2", made.queue);
  (void)lose_leases();
  made.ended = AttemptEnd{Event::kExpire, "worker-2"};
  made.lease = claim(kOwner, made.queue);
  Settlement beat = settlement(Event::kHeartbeat, made.lease);
  beat.progress = 0.25;
  (void)settle(beat);
  return made;
}

// Later in its queue than the task of the case, so that the order of the two shows whether that kept its rank.
void EffectTable::add_bystander(const Case& of) {
  advance(1s);
  (void)submit({.queue = of.queue});
  advance(1s);
}

// ---- What must hold afterwards ----

void EffectTable::expect_rank(const Case& of, const Effect& effect) {
  const auto ready = ids_in({.kind = ListKind::kReady, .queue = of.queue});
  ASSERT_EQ(ready.size(), effect.state == State::kReady ? 2U : 1U);
  if (effect.state != State::kReady) return;
  EXPECT_EQ(ready[effect.rank == Effect::Rank::kStays ? 0 : 1], of.lease.id);
}

// Each end that an owner may repeat gets the verdict for the remembered end. What would be accepted is left out.
void EffectTable::expect_memory(const Case& of, const Task& after, const Effect& effect) {
  Holding holding{.state = after.state,
                  .attempt = after.attempt,
                  .owner = after.state == State::kRunning ? after.owner.value_or("") : "",
                  .ended = of.ended};
  if (effect.ended) holding.ended = AttemptEnd{*effect.ended, of.lease.owner};
  std::vector<Settlement> again;
  std::vector<Verdict> expected;
  for (const Event event : {Event::kYield, Event::kRelease, Event::kComplete, Event::kAbort})
    for (const int attempt : {std::max(after.attempt - 1, 0), after.attempt})
      for (const std::string owner : {"worker-1", "worker-2"}) {
        const Verdict verdict = judge(holding, event, attempt, owner);
        if (verdict == Verdict::kAccepted) continue;
        again.push_back(settlement(event, of.lease));
        again.back().attempt = attempt;
        again.back().owner = owner;
        expected.push_back(verdict);
      }
  EXPECT_EQ(settle_all(again), expected);
}

void EffectTable::expect_effect(const Case& of, const Task& before, const Effect& effect, const Settlement& said) {
  const Task after = get(of.lease.id);
  EXPECT_EQ(describe(after), describe(changed(before, effect, said, now())));
  expect_rank(of, effect);
  expect_memory(of, after, effect);
}

// ---- The events ----

void EffectTable::expect_settlement(const Situation& situation, const Action& action, const std::string& queue) {
  SCOPED_TRACE(queue);
  const Case made = running(task_for(situation, queue), situation.has_past);
  add_bystander(made);
  Settlement said = settlement(action.event, made.lease);
  said.lease = action.lease;
  said.progress = action.progress;
  said.checkpoint = action.checkpoint;
  said.result = action.result;
  if (!action.names_number) said.number = 0;

  const Task before = get(made.lease.id);
  const Effect effect = effect_of(facts_of(before, kDefaultLease), action.event, facts_of(said));
  const SettleOutcome outcome = settle(said);
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.state, effect.state);
  EXPECT_EQ(outcome.lease_expires, effect.lease ? std::optional(after(now(), *effect.lease)) : std::nullopt);
  expect_effect(made, before, effect, said);
  (void)cancel(made.lease.id);
}

void EffectTable::expect_settlements(const std::vector<Situation>& situations, const std::vector<Action>& actions) {
  int count = 0;
  for (const Situation& situation : situations)
    for (const Action& action : actions) {
      expect_settlement(
          situation, action,
          std::string(to_string(action.event)) + "-" + in_words(situation) + "-" + std::to_string(count++));
    }
}

TEST_P(EffectTable, CompletionsAndAborts) { expect_settlements(all_situations(), ends_by_situation()); }

TEST_P(EffectTable, HeartbeatsYieldsAndReleases) { expect_settlements(some_situations(), other_settlements()); }

TEST_P(EffectTable, ExpiryOfARunningTask) {
  for (const Situation& situation : all_situations()) {
    SCOPED_TRACE(in_words(situation));
    const Case made = running(task_for(situation, in_words(situation)), situation.has_past);
    add_bystander(made);
    const Task before = get(made.lease.id);
    const Effect effect = effect_of(facts_of(before, kDefaultLease), Event::kExpire, {});
    const auto expired = lose_leases();
    ASSERT_EQ(expired.size(), 1U);
    EXPECT_EQ(expired[0], (ExpiredLease{.id = made.lease.id,
                                        .queue = made.queue,
                                        .owner = kOwner,
                                        .attempt = made.lease.attempt,
                                        .state = *effect.state}));
    expect_effect(made, before, effect, settlement(Event::kExpire, made.lease));
  }
}

TEST_P(EffectTable, ClaimOfAReadyTask) {
  for (const Situation& situation : some_situations()) {
    SCOPED_TRACE(in_words(situation));
    Case made = running(task_for(situation, in_words(situation)), situation.has_past);
    (void)yield(made.lease);
    made.ended = AttemptEnd{Event::kYield, kOwner};
    add_bystander(made);
    const Task before = get(made.lease.id);
    const Effect effect = effect_of(facts_of(before, kDefaultLease), Event::kClaim, {.lease = kDefaultLease});
    const Lease lease = claim("worker-2", made.queue);
    EXPECT_EQ(lease.id, made.lease.id);
    EXPECT_EQ(lease.checkpoint, before.checkpoint);
    expect_effect(made, before, effect, settlement(Event::kClaim, lease));
    (void)cancel(lease.id);
  }
}

TEST_P(EffectTable, PromotionOfAScheduledTask) {
  for (const Situation& situation : {Situation{}, {.recurs = true}, {.is_retried = true}, {true, true}}) {
    SCOPED_TRACE(in_words(situation));
    const Case made = scheduled(situation.recurs, situation.is_retried, in_words(situation));
    advance(1h);
    add_bystander(made);
    const Task before = get(made.lease.id);
    const Effect effect = effect_of(facts_of(before, kDefaultLease), Event::kPromote, {});
    EXPECT_EQ(promote().promoted, 1U);
    expect_effect(made, before, effect, settlement(Event::kPromote, made.lease));
  }
}

EffectTable::Case EffectTable::scheduled(bool recurs, bool is_retried, std::string queue) {
  NewTask task = task_for({.recurs = recurs, .is_retried = is_retried}, std::move(queue));
  if (!recurs && !is_retried) {  // it never began
    task.run_at = now() + 1min;
    return {.queue = task.queue, .lease = {{.id = submit(task), .queue = task.queue}, kOwner}, .ended = {}};
  }
  Case made = running(task, true);
  const Event event = is_retried ? Event::kAbort : Event::kComplete;
  (void)settle(settlement(event, made.lease));
  made.ended = AttemptEnd{event, kOwner};
  return made;
}

TEST_P(EffectTable, CancelInEachState) {
  for (const State from : {State::kScheduled, State::kReady, State::kRunning})
    for (const Situation& situation : some_situations()) {
      const std::string queue = std::string(to_string(from)) + "-" + in_words(situation);
      SCOPED_TRACE(queue);
      Case made = from == State::kScheduled ? scheduled(situation.recurs, situation.is_retried, queue)
                                            : running(task_for(situation, queue), situation.has_past);
      if (from == State::kReady) {
        (void)yield(made.lease);
        made.ended = AttemptEnd{Event::kYield, kOwner};
      }
      add_bystander(made);
      Task before = get(made.lease.id);
      ASSERT_EQ(before.state, from);
      const Effect effect = effect_of(facts_of(before, kDefaultLease), Event::kCancel, {});
      EXPECT_EQ(cancel(made.lease.id, "no longer needed"), Verdict::kAccepted);
      before.cancel_reason = "no longer needed";
      expect_effect(made, before, effect, settlement(Event::kCancel, made.lease));
    }
}

TEST_P(EffectTable, SubmitForNowAndForLater) {
  for (const bool is_due_later : {false, true})
    for (const Situation& situation : some_situations()) {
      const std::string queue = (is_due_later ? "later-" : "now-") + in_words(situation);
      SCOPED_TRACE(queue);
      NewTask task = task_for(situation, queue);
      (void)submit({.queue = queue});  // the bystander
      advance(1s);
      if (is_due_later) task.run_at = now() + 1h;
      const Case made{.queue = queue, .lease = {{.id = submit(task), .queue = queue}, kOwner}, .ended = {}};
      const Task after = get(made.lease.id);
      const Task before{.id = made.lease.id,
                        .number = after.number,
                        .queue = queue,
                        .spec = "{}",
                        .created_at = now(),
                        .updated_at = now(),
                        .run_at = task.run_at.value_or(now()),
                        .recurring = task.recurring,
                        .max_attempts = task.max_attempts,
                        .retry = task.retry,
                        .history = History()};
      const Effect effect = effect_of({}, Event::kSubmit, {.is_due_later = is_due_later});
      expect_effect(made, before, effect, settlement(Event::kSubmit, made.lease));
    }
}

TEST_P(EffectTable, PurgeOfAFinishedTask) {
  for (const State from : {State::kCompleted, State::kAborted, State::kCancelled}) {
    SCOPED_TRACE(to_string(from));
    const Lease lease = start({.queue = std::string(to_string(from))});
    if (from == State::kCompleted) (void)complete(lease);
    if (from == State::kAborted) (void)abort(lease);
    if (from == State::kCancelled) (void)cancel(lease.id);
    ASSERT_EQ(effect_of(facts_of(get(lease.id), kDefaultLease), Event::kPurge, {}).state, std::nullopt);
    advance(kDefaultRetention + 1us);
    (void)purge();
    EXPECT_EQ(find(lease.id), std::nullopt);
  }
}

}  // namespace horae::testing
