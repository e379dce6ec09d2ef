// Delayed messages: what happens when the node that readied them dies, or does not know what it readied; and what people
// do with those that wait.

#include "base/time_text.h"
#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Stuck, reset ----

TEST_P(Messages, AMessageIsStuckWhenItsHoldTimeHasPassed) {
  (void)enqueue({.id = "m", .deadline = now() - 1h});
  const auto readied = ready_due(0s);
  advance(5s);
  EXPECT_THAT(stuck(5s), IsEmpty());
  advance(1us);
  EXPECT_EQ(stuck(5s), readied);
}

TEST_P(Messages, TheHoldTimeCountsFromTheMomentOfFiring) {
  (void)enqueue({.id = "m", .deadline = now() + 1s});
  (void)ready_due(1s);
  advance(5s + 800ms);  // 5 s after deadline - advance
  EXPECT_THAT(stuck(5s, 200ms), IsEmpty());
  advance(1us);
  EXPECT_THAT(stuck(5s, 200ms), SizeIs(1));
}

TEST_P(Messages, TheHoldTimeOfASecondTryCountsFromThatOne) {
  (void)enqueue({.id = "m", .deadline = now()});
  (void)give_back({{ready_due(0s).at(0), 1min}});
  (void)ready_due(1min);
  advance(1min + 5s);
  EXPECT_THAT(stuck(5s), IsEmpty());
  advance(1us);
  EXPECT_THAT(stuck(5s), SizeIs(1));
}

TEST_P(Messages, WaitingMessagesAreNeverStuck) {
  (void)enqueue({.id = "m", .deadline = now() - 1h});
  EXPECT_THAT(stuck(0s), IsEmpty());
}

TEST_P(Messages, StuckOnesComePageByPage) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now()});
  (void)ready_due(0s);
  advance(1s);
  StuckWish wish{.delay_queue = "delay", .max = 2};
  const StuckPage first = value_of(messages().stuck(wish));
  EXPECT_EQ(first.now, now());
  EXPECT_THAT(first.messages, SizeIs(2));
  ASSERT_TRUE(first.next);
  wish.after = first.next;
  const StuckPage second = value_of(messages().stuck(wish));
  ASSERT_THAT(second.messages, SizeIs(1));
  EXPECT_EQ(second.messages[0].id, "c");
  EXPECT_FALSE(second.next);
}

TEST_P(Messages, AResetMessageWaitsAgainForTheFirstNode) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto lost = ready_due(0s);
  advance(10s);
  EXPECT_THAT(reset(lost), ElementsAre(true));
  EXPECT_EQ(message("m").state(), MessageState::kWaiting);
  const auto taken = ready_due(0s, 10, kPeer);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0], (Readying{.id = "m", .readied_at = now(), .readied_by = kPeer}));
  // The first node comes back: too late for it.
  EXPECT_THAT(remove(lost), ElementsAre(false));
  EXPECT_THAT(reset(lost), ElementsAre(false));
  EXPECT_EQ(message("m").readying, taken[0]);
}

TEST_P(Messages, AResetHappensOnce) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto lost = ready_due(0s);
  EXPECT_THAT(reset({lost[0], lost[0]}), ElementsAre(true, false));
}

// ---- Held ----

TEST_P(Messages, ANodeFindsWhatItHolds) {
  const Message sent{.id = "a", .deadline = now() + 1s, .key = "k", .value = "v", .headers = {{"h", "1"}}};
  (void)enqueue(sent);
  (void)enqueue({.id = "b", .deadline = now() + 1s});
  (void)enqueue({.id = "waits", .deadline = now()});
  const auto mine = ready_due(1s, 2);  // "waits", "a"
  (void)ready_due(1s, 10, kPeer);      // "b"
  (void)remove({mine.at(0)});
  (void)enqueue({.id = "waits", .deadline = now()});
  const HeldPage page =
      value_of(messages().held_by({.delay_queue = "delay", .node = kNode, .horizon = 1s, .limits = {10, 1000}}));
  EXPECT_EQ(page.now, now());
  EXPECT_THAT(page.messages, ElementsAre(ReadiedMessage{sent, mine.at(1), sent.deadline}));
  EXPECT_FALSE(page.next);
}

TEST_P(Messages, WhatANodeHoldsComesPageByPage) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now(), .value = std::string(100, 'x')});
  (void)ready_due(0s);
  HeldWish wish{.delay_queue = "delay", .node = kNode, .limits = {.max = 10, .max_bytes = 250}};
  const HeldPage first = value_of(messages().held_by(wish));
  EXPECT_THAT(first.messages, SizeIs(2));
  ASSERT_TRUE(first.next);
  wish.after = first.next;
  const HeldPage second = value_of(messages().held_by(wish));
  ASSERT_THAT(second.messages, SizeIs(1));
  EXPECT_EQ(second.messages[0].message.id, "c");
  EXPECT_FALSE(second.next);
}

// ---- Cancel, move ----

TEST_P(Messages, AWaitingMessageCanBeCancelled) {
  (void)enqueue({.id = "m", .deadline = now() + 1s});
  EXPECT_EQ(cancel("m"), Verdict::kAccepted);
  EXPECT_FALSE(find("m"));
  EXPECT_EQ(cancel("m"), Verdict::kNotFound);
  advance(1s);
  EXPECT_THAT(ready_due(0s), IsEmpty());
}

TEST_P(Messages, AWaitingMessageCanBeMoved) {
  const Message sent{.id = "m", .deadline = now() + 1s, .key = "k", .value = "v", .headers = {{"a", "b"}}};
  (void)enqueue(sent);
  EXPECT_EQ(move("m", now() + 5s), Verdict::kAccepted);
  Message moved = sent;
  moved.deadline = now() + 5s;
  EXPECT_EQ(message("m").message, moved);
  EXPECT_EQ(message("m").due, moved.deadline);
  advance(1s);
  EXPECT_THAT(ready_due(0s), IsEmpty());
  EXPECT_EQ(move("m", now()), Verdict::kAccepted);
  EXPECT_THAT(ready_due(0s), SizeIs(1));
}

TEST_P(Messages, AMessageThatWaitsForItsSecondTryCanBeMovedToAnEarlierTime) {
  (void)enqueue({.id = "m", .deadline = now()});
  (void)give_back({{ready_due(0s).at(0), 1h}});
  EXPECT_THAT(ready_due(0s), IsEmpty());
  EXPECT_EQ(move("m", now() - 1s), Verdict::kAccepted);
  EXPECT_THAT(ready_due(0s), SizeIs(1));
}

TEST_P(Messages, AReadyMessageIsTooLateToChange) {
  const Message sent{.id = "m", .deadline = now() + 500ms};
  (void)enqueue(sent);
  (void)ready_due(1s);
  EXPECT_EQ(cancel("m"), Verdict::kWrongState);
  EXPECT_EQ(move("m", now() + 1h), Verdict::kWrongState);
  EXPECT_EQ(message("m").message, sent);
}

TEST_P(Messages, AResetMessageCanBeChangedAgain) {
  (void)enqueue({.id = "m", .deadline = now()});
  (void)reset(ready_due(0s));
  EXPECT_EQ(move("m", now() + 1h), Verdict::kAccepted);
  EXPECT_EQ(cancel("m"), Verdict::kAccepted);
}

TEST_P(Messages, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(cancel("m"), Verdict::kNotFound);
  EXPECT_EQ(move("m", now()), Verdict::kNotFound);
  EXPECT_EQ(cancel("\xff"), Verdict::kNotFound);
  EXPECT_FALSE(find("\xff"));
}

TEST_P(Messages, ManyAreChangedInOneCallEachOnce) {
  for (const char* id : {"b", "a", "r"}) (void)enqueue({.id = id, .deadline = now() + (*id == 'r' ? 0s : 1s)});
  (void)ready_due(0s);
  const std::vector<std::string> ids = {"b", "none", "r", "a"};
  EXPECT_THAT(value_of(messages().cancel("delay", ids)),
              ElementsAre(Verdict::kAccepted, Verdict::kNotFound, Verdict::kWrongState, Verdict::kAccepted));
  EXPECT_EQ(code_of(messages().cancel("delay", std::vector<std::string>{"x", "x"})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(messages().move("delay", std::vector<MoveWish>{{"x", now()}, {"x", now()}})), ErrorCode::kRefused);
}

// ---- Lists, counts ----

TEST_P(Messages, AreListedByDueTimeThenId) {
  (void)enqueue({.id = "b", .deadline = now() + 2s});
  (void)enqueue({.id = "a", .deadline = now() + 2s}, RecordPlace{1, 2});
  (void)enqueue({.id = "r", .deadline = now()});
  (void)ready_due(0s);
  EXPECT_THAT(value_of(messages().list({.delay_queue = "delay"})).messages,
              ElementsAre(message("r"), message("a"), message("b")));
  EXPECT_THAT(value_of(messages().list({.delay_queue = "delay", .state = MessageState::kReady})).messages,
              ElementsAre(message("r")));
  EXPECT_THAT(value_of(messages().list({.delay_queue = "delay", .state = MessageState::kWaiting})).messages,
              ElementsAre(message("a"), message("b")));
  EXPECT_THAT(value_of(messages().list({.delay_queue = "elsewhere"})).messages, IsEmpty());
}

TEST_P(Messages, AListComesPageByPage) {
  for (const char* id : {"a", "b", "c", "d"})
    (void)enqueue({.id = id, .deadline = now(), .value = std::string(100, 'x')});
  MessageQuery query{.delay_queue = "delay", .limit = 3};
  const MessagePage first = value_of(messages().list(query));
  EXPECT_THAT(first.messages, SizeIs(3));
  ASSERT_TRUE(first.next);
  query.after = first.next;
  const MessagePage second = value_of(messages().list(query));
  EXPECT_THAT(second.messages, ElementsAre(message("d")));
  EXPECT_FALSE(second.next);

  const MessagePage short_one = value_of(messages().list({.delay_queue = "delay", .max_bytes = 250}));
  EXPECT_THAT(short_one.messages, SizeIs(2));
  EXPECT_TRUE(short_one.next);
}

TEST_P(Messages, AreCountedUpToALimit) {
  for (const char* id : {"a", "b"}) (void)enqueue({.id = id, .deadline = now()});
  (void)ready_due(0s, 1);
  (void)enqueue({.id = "c", .deadline = now() + 2s});
  advance(1s);
  const MessageCounts counts = value_of(messages().counts("delay", 50ms, 100));
  EXPECT_EQ(counts.now, now());
  EXPECT_EQ(counts.waiting, 2U);
  EXPECT_EQ(counts.ready, 1U);
  EXPECT_EQ(counts.overdue, 1U);
  EXPECT_EQ(counts.oldest_overdue, Duration(1050ms));
  EXPECT_FALSE(counts.more);
  const MessageCounts some = value_of(messages().counts("delay", 0s, 2));
  EXPECT_EQ(some.waiting + some.ready, 2U);
  EXPECT_TRUE(some.more);
  EXPECT_EQ(value_of(messages().counts("elsewhere", 0s, 2)).oldest_overdue, std::nullopt);
}

TEST_P(Messages, OneLookTellsWhichQueuesHoldAny) {
  const std::vector<std::string> queues = {"empty", "delay", "nowhere"};
  (void)enqueue({.id = "m", .deadline = now() + 3s});
  const auto looks = value_of(messages().look(queues));
  ASSERT_THAT(looks, SizeIs(3));
  EXPECT_FALSE(looks[0].has_rows);
  EXPECT_TRUE(looks[1].has_rows);
  EXPECT_EQ(looks[1].next_in, Duration(3s));
  EXPECT_EQ(looks[2].next_in, std::nullopt);
  const auto readied = ready_due(1h);
  EXPECT_TRUE(value_of(messages().look(queues))[1].has_rows) << "it is ready";
  EXPECT_EQ(value_of(messages().look(queues))[1].next_in, std::nullopt);
  (void)remove(readied);
  EXPECT_FALSE(value_of(messages().look(queues))[1].has_rows);
}

}  // namespace
}  // namespace horae::testing
