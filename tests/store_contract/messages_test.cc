// Delayed messages: waiting, ready, fired; and what happens when the node that readied them dies.

#include "base/time_text.h"
#include "tests/store_contract/contract.h"

namespace horae::testing {

StoredMessage Messages::message(std::string_view id, std::string_view queue) {
  const auto found = value_of(messages().get(queue, id));
  if (!found) throw std::runtime_error("there is no message " + std::string(id));
  return *found;
}

Verdict Messages::enqueue(Message message) {
  return value_of(messages().enqueue("delay", std::vector{std::move(message)})).at(0);
}

std::vector<Readying> Messages::ready_due(Duration horizon, std::size_t max, const Uuid& node) {
  std::vector<Readying> readied;
  const ReadyDueOutcome outcome = value_of(messages().ready_due("delay", node, horizon, max));
  for (const ReadiedMessage& each : outcome.messages) readied.push_back(each.readying);
  return readied;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const Uuid kNode = *parse_uuid("00000000-0000-7000-8000-00000000000a");
const Uuid kPeer = *parse_uuid("00000000-0000-7000-8000-00000000000b");

std::vector<std::string> names_of(const std::vector<Readying>& readied) {
  std::vector<std::string> names;
  for (const Readying& each : readied) names.push_back(each.id);
  return names;
}

// ---- Enqueue, get ----

TEST_P(Messages, AMessageIsKeptByteForByte) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  const Message sent{
      .id = "\u00fc 1",
      .deadline = now() + 5s + 1us,
      .key = every_byte,
      .value = every_byte + every_byte,
      .headers = {{"trace", "1"}, {"trace", "2"}, {"", every_byte}, {"none", std::nullopt}, {"empty", ""}}};
  EXPECT_EQ(enqueue(sent), Verdict::kAccepted);
  EXPECT_EQ(message("\u00fc 1").message, sent);
  EXPECT_EQ(message("\u00fc 1").readying, std::nullopt);
}

TEST_P(Messages, NullAndEmptyAreDifferent) {
  (void)enqueue({.id = "null", .deadline = now()});
  (void)enqueue({.id = "empty", .deadline = now(), .key = "", .value = ""});
  EXPECT_EQ(message("null").message.key, std::nullopt);
  EXPECT_EQ(message("null").message.value, std::nullopt);
  EXPECT_EQ(message("empty").message.key, "");
  EXPECT_EQ(message("empty").message.value, "");
}

TEST_P(Messages, AnIdThatIsThereIsARepetitionWhateverItHolds) {
  const Message first{.id = "m", .deadline = now() + 1s, .value = "1"};
  EXPECT_EQ(enqueue(first), Verdict::kAccepted);
  EXPECT_EQ(enqueue({.id = "m", .deadline = now() + 9s, .value = "2"}), Verdict::kRepeated);
  EXPECT_EQ(message("m").message, first);
  (void)ready_due(1s);
  EXPECT_EQ(enqueue(first), Verdict::kRepeated);
}

TEST_P(Messages, TheSameIdTwiceInABatchIsOneMessage) {
  const Message first{.id = "m", .deadline = now(), .value = "1"};
  const Message second{.id = "m", .deadline = now(), .value = "2"};
  EXPECT_THAT(value_of(messages().enqueue("delay", std::vector{first, second})),
              ElementsAre(Verdict::kAccepted, Verdict::kRepeated));
  EXPECT_EQ(message("m").message, first);
}

TEST_P(Messages, DelayQueuesDoNotKnowEachOther) {
  (void)enqueue({.id = "m", .deadline = now()});
  const Message other{.id = "m", .deadline = now() + 1s, .value = "other"};
  EXPECT_THAT(value_of(messages().enqueue("another", std::vector{other})), ElementsAre(Verdict::kAccepted));
  EXPECT_EQ(message("m", "another").message, other);
  EXPECT_THAT(ready_due(1h), SizeIs(1));
  EXPECT_EQ(message("m", "another").state(), MessageState::kWaiting);
}

TEST_P(Messages, ADelayQueueIsNoQueueOfTasks) {
  (void)enqueue({.id = "m", .deadline = now()});
  EXPECT_FALSE(find_queue("delay"));
}

TEST_P(Messages, AnUnknownDelayQueueIsEmpty) {
  EXPECT_FALSE(value_of(messages().get("nowhere", "m")));
  EXPECT_EQ(value_of(messages().cancel("nowhere", "m")), Verdict::kNotFound);
  EXPECT_EQ(value_of(messages().move("nowhere", "m", now())), Verdict::kNotFound);
  const ReadyDueOutcome outcome = value_of(messages().ready_due("nowhere", kNode, 1h, 10));
  EXPECT_THAT(outcome.messages, IsEmpty());
  EXPECT_EQ(outcome.next_in, std::nullopt);
  EXPECT_THAT(value_of(messages().stuck("nowhere", 0s, 0s, 10)), IsEmpty());
}

TEST_P(Messages, IdsAreComparedByteForByte) {
  (void)enqueue({.id = "m", .deadline = now()});
  EXPECT_EQ(enqueue({.id = "M", .deadline = now()}), Verdict::kAccepted);
  EXPECT_FALSE(value_of(messages().get("delay", "m ")));
}

// ---- Ready ----

TEST_P(Messages, AMessageIsDueWhenItsDeadlineComesWithinTheHorizon) {
  (void)enqueue({.id = "m", .deadline = now() + 10s});
  advance(9s - 1us);
  EXPECT_THAT(ready_due(1s), IsEmpty());
  advance(1us);
  EXPECT_THAT(names_of(ready_due(1s)), ElementsAre("m"));
}

TEST_P(Messages, AReadiedMessageSaysByWhomAndWhenAndHowLongThereIs) {
  const Message sent{.id = "m", .deadline = now() + 700ms, .key = "k", .value = "v", .headers = {{"a", "b"}}};
  (void)enqueue(sent);
  const ReadyDueOutcome outcome = value_of(messages().ready_due("delay", kNode, 1s, 10));
  ASSERT_THAT(outcome.messages, SizeIs(1));
  EXPECT_EQ(outcome.messages[0].message, sent);
  EXPECT_EQ(outcome.messages[0].readying, (Readying{.id = "m", .readied_at = now(), .readied_by = kNode}));
  EXPECT_EQ(outcome.messages[0].due_in, Duration(700ms));
  EXPECT_EQ(message("m").state(), MessageState::kReady);
  EXPECT_EQ(message("m").readying, outcome.messages[0].readying);
}

TEST_P(Messages, AMissedDeadlineIsNegative) {
  (void)enqueue({.id = "m", .deadline = now() - 3s});
  const ReadyDueOutcome outcome = value_of(messages().ready_due("delay", kNode, 0s, 10));
  EXPECT_EQ(outcome.messages.at(0).due_in, -Duration(3s));
}

TEST_P(Messages, AMessageIsGivenToOneNode) {
  (void)enqueue({.id = "m", .deadline = now()});
  EXPECT_THAT(ready_due(0s), SizeIs(1));
  EXPECT_THAT(ready_due(0s, 10, kPeer), IsEmpty());
}

TEST_P(Messages, ComeByDeadlineThenById) {
  (void)enqueue({.id = "b", .deadline = now() + 2s});
  (void)enqueue({.id = "c", .deadline = now() + 1s});
  (void)enqueue({.id = "a", .deadline = now() + 2s});
  (void)enqueue({.id = "d", .deadline = now() + 2s - 1us});
  EXPECT_THAT(names_of(ready_due(1h)), ElementsAre("c", "d", "a", "b"));
}

TEST_P(Messages, TakesNoMoreThanAskedForAndSaysThatMoreAreDue) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now()});
  const ReadyDueOutcome some = value_of(messages().ready_due("delay", kNode, 0s, 2));
  EXPECT_THAT(some.messages, SizeIs(2));
  EXPECT_EQ(some.next_in, Duration::zero());
  const ReadyDueOutcome rest = value_of(messages().ready_due("delay", kNode, 0s, 2));
  EXPECT_THAT(rest.messages, SizeIs(1));
  EXPECT_EQ(rest.next_in, std::nullopt);
}

TEST_P(Messages, SaysWhenTheNextComesWithinTheHorizon) {
  (void)enqueue({.id = "a", .deadline = now() + 10s});
  EXPECT_EQ(value_of(messages().ready_due("delay", kNode, 1s, 10)).next_in, Duration(9s));
  advance(9s - 1us);
  EXPECT_EQ(value_of(messages().ready_due("delay", kNode, 1s, 10)).next_in, Duration(1us));
}

TEST_P(Messages, DeadlinesAtBothEndsOfTime) {
  (void)enqueue({.id = "last", .deadline = latest_instant()});
  (void)enqueue({.id = "first", .deadline = earliest_instant()});
  const ReadyDueOutcome outcome = value_of(messages().ready_due("delay", kNode, 1s, 10));
  ASSERT_THAT(outcome.messages, SizeIs(1));
  EXPECT_EQ(outcome.messages[0].message.deadline, earliest_instant());
  // Reading: what a Duration of 292 years cannot hold is as long as it can be.
  EXPECT_LT(outcome.messages[0].due_in, -Duration(24h * 365 * 200));
  ASSERT_TRUE(outcome.next_in);
  EXPECT_GT(*outcome.next_in, Duration(24h * 365 * 200));
  EXPECT_EQ(message("last").message.deadline, latest_instant());
}

// ---- Remove ----

TEST_P(Messages, AFiredMessageIsForgottenAndItsIdMayComeAgain) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto readied = ready_due(0s);
  EXPECT_THAT(value_of(messages().remove("delay", readied)), ElementsAre(true));
  EXPECT_FALSE(value_of(messages().get("delay", "m")));
  EXPECT_THAT(value_of(messages().remove("delay", readied)), ElementsAre(false));
  EXPECT_EQ(enqueue({.id = "m", .deadline = now()}), Verdict::kAccepted);
}

TEST_P(Messages, OnlyThePresentReadyingRemoves) {
  (void)enqueue({.id = "m", .deadline = now()});
  const Readying mine = ready_due(0s).at(0);
  Readying wrong_time = mine;
  wrong_time.readied_at += 1us;
  Readying wrong_node = mine;
  wrong_node.readied_by = kPeer;
  Readying wrong_id = mine;
  wrong_id.id = "n";
  EXPECT_THAT(value_of(messages().remove("delay", std::vector{wrong_time, wrong_node, wrong_id})),
              ElementsAre(false, false, false));
  EXPECT_EQ(message("m").readying, mine);
  EXPECT_THAT(value_of(messages().remove("elsewhere", std::vector{mine})), ElementsAre(false));
  EXPECT_THAT(value_of(messages().remove("delay", std::vector{wrong_node, mine, mine})),
              ElementsAre(false, true, false));
}

TEST_P(Messages, AWaitingMessageIsNotRemovedByAnOldReadying) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto old = ready_due(0s);
  (void)value_of(messages().reset("delay", old));
  EXPECT_THAT(value_of(messages().remove("delay", old)), ElementsAre(false));
  EXPECT_EQ(message("m").state(), MessageState::kWaiting);
}

TEST_P(Messages, AMessageThatCameAgainIsNotRemovedByItsPredecessor) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto old = ready_due(0s);
  (void)value_of(messages().remove("delay", old));
  advance(1us);
  (void)enqueue({.id = "m", .deadline = now()});
  (void)ready_due(0s);
  EXPECT_THAT(value_of(messages().remove("delay", old)), ElementsAre(false));
  EXPECT_EQ(message("m").state(), MessageState::kReady);
}

// ---- Stuck, reset ----

TEST_P(Messages, AMessageIsStuckWhenItsHoldTimeHasPassed) {
  (void)enqueue({.id = "m", .deadline = now() - 1h});
  const auto readied = ready_due(0s);
  advance(5s);
  EXPECT_THAT(value_of(messages().stuck("delay", 5s, 0s, 10)), IsEmpty());
  advance(1us);
  EXPECT_EQ(value_of(messages().stuck("delay", 5s, 0s, 10)), readied);
}

TEST_P(Messages, TheHoldTimeCountsFromTheMomentOfFiring) {
  (void)enqueue({.id = "m", .deadline = now() + 1s});
  (void)ready_due(1s);
  advance(5s + 800ms);  // 5 s after deadline - advance
  EXPECT_THAT(value_of(messages().stuck("delay", 5s, 200ms, 10)), IsEmpty());
  advance(1us);
  EXPECT_THAT(value_of(messages().stuck("delay", 5s, 200ms, 10)), SizeIs(1));
}

TEST_P(Messages, WaitingMessagesAreNeverStuck) {
  (void)enqueue({.id = "m", .deadline = now() - 1h});
  EXPECT_THAT(value_of(messages().stuck("delay", 0s, 0s, 10)), IsEmpty());
}

TEST_P(Messages, StuckTellsNoMoreThanAskedFor) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now()});
  (void)ready_due(0s);
  advance(1s);
  EXPECT_THAT(value_of(messages().stuck("delay", 0s, 0s, 2)), SizeIs(2));
  EXPECT_THAT(names_of(value_of(messages().stuck("delay", 0s, 0s, 10))), UnorderedElementsAre("a", "b", "c"));
}

TEST_P(Messages, AResetMessageWaitsAgainForTheFirstNode) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto lost = ready_due(0s);
  advance(10s);
  EXPECT_THAT(value_of(messages().reset("delay", lost)), ElementsAre(true));
  EXPECT_EQ(message("m").state(), MessageState::kWaiting);
  const auto taken = ready_due(0s, 10, kPeer);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0], (Readying{.id = "m", .readied_at = now(), .readied_by = kPeer}));
  // The first node comes back: too late for it.
  EXPECT_THAT(value_of(messages().remove("delay", lost)), ElementsAre(false));
  EXPECT_THAT(value_of(messages().reset("delay", lost)), ElementsAre(false));
  EXPECT_EQ(message("m").readying, taken[0]);
}

TEST_P(Messages, AResetHappensOnce) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto lost = ready_due(0s);
  EXPECT_THAT(value_of(messages().reset("delay", std::vector{lost[0], lost[0]})), ElementsAre(true, false));
}

// ---- Cancel, move ----

TEST_P(Messages, AWaitingMessageCanBeCancelled) {
  (void)enqueue({.id = "m", .deadline = now() + 1s});
  EXPECT_EQ(value_of(messages().cancel("delay", "m")), Verdict::kAccepted);
  EXPECT_FALSE(value_of(messages().get("delay", "m")));
  EXPECT_EQ(value_of(messages().cancel("delay", "m")), Verdict::kNotFound);
  advance(1s);
  EXPECT_THAT(ready_due(0s), IsEmpty());
}

TEST_P(Messages, AWaitingMessageCanBeMoved) {
  const Message sent{.id = "m", .deadline = now() + 1s, .key = "k", .value = "v", .headers = {{"a", "b"}}};
  (void)enqueue(sent);
  EXPECT_EQ(value_of(messages().move("delay", "m", now() + 5s)), Verdict::kAccepted);
  Message moved = sent;
  moved.deadline = now() + 5s;
  EXPECT_EQ(message("m").message, moved);
  advance(1s);
  EXPECT_THAT(ready_due(0s), IsEmpty());
  EXPECT_EQ(value_of(messages().move("delay", "m", now())), Verdict::kAccepted);
  EXPECT_THAT(ready_due(0s), SizeIs(1));
}

TEST_P(Messages, AReadyMessageIsTooLateToChange) {
  const Message sent{.id = "m", .deadline = now() + 500ms};
  (void)enqueue(sent);
  (void)ready_due(1s);
  EXPECT_EQ(value_of(messages().cancel("delay", "m")), Verdict::kWrongState);
  EXPECT_EQ(value_of(messages().move("delay", "m", now() + 1h)), Verdict::kWrongState);
  EXPECT_EQ(message("m").message, sent);
}

TEST_P(Messages, AResetMessageCanBeChangedAgain) {
  (void)enqueue({.id = "m", .deadline = now()});
  (void)value_of(messages().reset("delay", ready_due(0s)));
  EXPECT_EQ(value_of(messages().move("delay", "m", now() + 1h)), Verdict::kAccepted);
  EXPECT_EQ(value_of(messages().cancel("delay", "m")), Verdict::kAccepted);
}

TEST_P(Messages, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(value_of(messages().cancel("delay", "m")), Verdict::kNotFound);
  EXPECT_EQ(value_of(messages().move("delay", "m", now())), Verdict::kNotFound);
}

}  // namespace
}  // namespace horae::testing
