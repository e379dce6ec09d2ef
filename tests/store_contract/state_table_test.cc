// The whole state table through the store: every event in every state.

#include "tests/store_contract/contract.h"

namespace horae::testing {

// In a queue of its own, so that nothing else is claimed, and with nothing that makes an event end in two ways.
Lease StateTable::task_in(std::optional<State> state, const std::string& queue) {
  if (!state) return {{.id = new_id(), .queue = queue, .attempt = 1}, kOwner};
  if (*state == State::kScheduled) {
    const TaskId id = submit({.queue = queue, .run_at = now() + 1s});
    return {{.id = id, .queue = queue, .attempt = 0}, kOwner};
  }
  const Lease lease = start({.queue = queue});
  if (*state == State::kReady) (void)lose_leases();
  if (*state == State::kCompleted) (void)complete(lease);
  if (*state == State::kAborted) (void)abort(lease);
  if (*state == State::kCancelled) (void)cancel(lease.id);
  return lease;
}

void StateTable::apply(Event event, const Lease& lease) {
  switch (event) {
    case Event::kSubmit:
      (void)try_submit({.id = lease.id, .queue = lease.queue, .spec = "\"another\""});
      return;
    case Event::kPromote:
      advance(1h);
      (void)promote();
      return;
    case Event::kClaim:
      (void)claim_up_to(10, "worker-2", {lease.queue});
      return;
    case Event::kExpire:
      (void)start({.queue = lease.queue + "-bystander"});  // so that there is a lease, and a stamp
      (void)lose_leases();
      return;
    case Event::kCancel:
      (void)cancel(lease.id);
      return;
    case Event::kPurge:
      advance(kDefaultRetention + 1us);
      (void)purge();
      return;
    default:
      (void)settle(settlement(event, lease));
  }
}

std::optional<State> StateTable::state_now(const TaskId& id) {
  const auto task = find(id);
  return task ? std::optional(task->state) : std::nullopt;
}

namespace {

std::string in_words(std::optional<State> state) { return state ? std::string(to_string(*state)) : "absent"; }

std::vector<std::optional<State>> all_states_and_none() {
  std::vector<std::optional<State>> states = {std::nullopt};
  states.insert(states.end(), kAllStates.begin(), kAllStates.end());
  return states;
}

TEST_P(StateTable, EveryEventInEveryState) {
  for (const auto& from : all_states_and_none()) {
    for (const Event event : kAllEvents) {
      const std::string queue = in_words(from) + "-" + std::string(to_string(event));
      SCOPED_TRACE(queue);
      const Lease lease = task_in(from, queue);
      ASSERT_EQ(state_now(lease.id), from);
      const auto before = find(lease.id);

      apply(event, lease);
      const auto expected = next_state(lease.id, event, from);
      EXPECT_EQ(state_now(lease.id), expected.ok() ? *expected : from);
      if (expected.ok() || !before) continue;

      // A refusal leaves no trace but the evidence of a late result.
      Task after = get(lease.id);
      const bool brings_result = event == Event::kComplete || event == Event::kAbort;
      if (brings_result) after.history = before->history;
      EXPECT_EQ(after, *before);
    }
  }
}

// The same for the conditions that lead to another state.
TEST_P(StateTable, EveryConditionOfTheTable) {
  const auto expect = [&](Event event, std::optional<State> from, Condition condition, const TaskId& id) {
    EXPECT_EQ(state_now(id), *next_state(id, event, from, condition)) << to_string(event);
  };
  const TaskId later = submit({.run_at = now() + 1h});
  expect(Event::kSubmit, std::nullopt, Condition::kDueLater, later);

  const Lease recurring = start({.recurring = 1h});
  (void)complete(recurring);
  expect(Event::kComplete, State::kRunning, Condition::kRecurs, recurring.id);

  const Lease retried = start({.retry = {.kind = RetryPolicy::Kind::kFixed}});
  (void)abort(retried);
  expect(Event::kAbort, State::kRunning, Condition::kRetried, retried.id);

  const Lease exhausted = start({.max_attempts = 1});
  (void)lose_leases();
  expect(Event::kExpire, State::kRunning, Condition::kExhausted, exhausted.id);
}

// The outcome of each refused settlement: the state of the task, and its newest attempt.
TEST_P(StateTable, EveryRefusalReportsTheStateOfTheTask) {
  for (const State from : kAllStates) {
    if (from == State::kRunning) continue;
    for (const Event event : {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease}) {
      const std::string queue = in_words(from) + "-" + std::string(to_string(event));
      SCOPED_TRACE(queue);
      Lease lease = task_in(from, queue);
      lease.owner = "worker-9";  // never the one whose end would be repeated
      const SettleOutcome outcome = settle(settlement(event, lease));
      EXPECT_EQ(outcome.verdict, from == State::kCancelled ? Verdict::kCancelled : Verdict::kWrongState);
      EXPECT_EQ(outcome.state, from);
      EXPECT_EQ(outcome.attempt, lease.attempt);
      EXPECT_EQ(outcome.lease_expires, std::nullopt);
    }
  }
}

TEST_P(StateTable, TerminalStatesAreFinal) {
  for (const State from : {State::kCompleted, State::kAborted, State::kCancelled}) {
    const std::string queue = in_words(from);
    SCOPED_TRACE(queue);
    const Lease lease = task_in(from, queue);
    for (const Event event : kAllEvents) {
      if (event != Event::kPurge) apply(event, lease);
    }
    EXPECT_EQ(state_now(lease.id), from);
  }
}

}  // namespace
}  // namespace horae::testing
