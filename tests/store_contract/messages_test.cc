// Delayed messages: how they come in, are readied by one node, fired and forgotten.

#include "base/time_text.h"
#include "tests/store_contract/contract.h"

namespace horae::testing {

const Uuid Messages::kNode = *parse_uuid("00000000-0000-7000-8000-00000000000a");
const Uuid Messages::kPeer = *parse_uuid("00000000-0000-7000-8000-00000000000b");

std::optional<StoredMessage> Messages::find(std::string_view id, std::string_view queue) {
  return value_of(messages().get(queue, std::vector{std::string(id)})).at(0);
}

StoredMessage Messages::message(std::string_view id, std::string_view queue) {
  const auto found = find(id, queue);
  if (!found) throw std::runtime_error("there is no message " + std::string(id));
  return *found;
}

EnqueueKind Messages::enqueue(Message message, std::optional<RecordPlace> place) {
  const std::vector<NewMessage> batch = {{std::move(message), place}};
  const EnqueueWish wish{.delay_queue = "delay", .node = kNode, .stores_late = true, .messages = batch};
  return value_of(messages().enqueue(wish)).kinds.at(0);
}

EnqueueOutcome Messages::take_in(const std::vector<NewMessage>& batch, Duration horizon, Duration advance) {
  return value_of(messages().enqueue({.delay_queue = "delay",
                                      .node = kNode,
                                      .advance = advance,
                                      .horizon = horizon,
                                      .ready = {.max = 100, .max_bytes = 1000},
                                      .messages = batch}));
}

std::vector<Readying> Messages::ready_due(Duration horizon, std::size_t max, const Uuid& node) {
  std::vector<Readying> readied;
  const TurnWish wish{
      .delay_queue = "delay", .node = node, .horizon = horizon, .ready = {.max = max, .max_bytes = 1 << 20}};
  for (const ReadiedMessage& each : value_of(messages().turn(wish)).readied) readied.push_back(each.readying);
  return readied;
}

std::vector<bool> Messages::remove(const std::vector<Readying>& fired, std::string queue) {
  return value_of(messages().turn({.delay_queue = std::move(queue), .node = kNode, .fired = fired})).removed;
}

std::vector<bool> Messages::give_back(const std::vector<GiveBack>& failed, Duration advance) {
  return value_of(messages().turn({.delay_queue = "delay", .node = kNode, .advance = advance, .failed = failed}))
      .given_back;
}

std::vector<bool> Messages::reset(const std::vector<Readying>& stuck) {
  return value_of(messages().reset("delay", stuck));
}

std::vector<Readying> Messages::stuck(Duration hold, Duration advance, std::size_t max) {
  return value_of(messages().stuck({.delay_queue = "delay", .hold = hold, .advance = advance, .max = max})).messages;
}

Verdict Messages::cancel(const std::string& id, std::string_view queue) {
  return value_of(messages().cancel(queue, std::vector{id})).at(0);
}

Verdict Messages::move(const std::string& id, Instant deadline, std::string_view queue) {
  return value_of(messages().move(queue, std::vector<MoveWish>{{id, deadline}})).at(0);
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> names_of(const std::vector<Readying>& readied) {
  std::vector<std::string> names;
  for (const Readying& each : readied) names.push_back(each.id);
  return names;
}

// ---- Enqueue, get ----

TEST_P(Messages, AMessageIsKeptByteForByte) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  const Message sent{.id = "\u00fc 1",
                     .deadline = now() + 5s + 1us,
                     .key = every_byte,
                     .value = every_byte + every_byte,
                     .headers = {{"trace", "1"},
                                 {"trace", "2"},
                                 {"", every_byte},
                                 {"none", std::nullopt},
                                 {"empty", ""},
                                 {"\xff", "\u00fc\""}}};
  EXPECT_EQ(enqueue(sent, RecordPlace{3, 1L << 40}), EnqueueKind::kWaiting);
  EXPECT_EQ(message("\u00fc 1"), (StoredMessage{sent, sent.deadline, RecordPlace{3, 1L << 40}, std::nullopt}));
  EXPECT_THAT(ready_due(1h), SizeIs(1));
  EXPECT_EQ(message("\u00fc 1").message, sent);
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
  EXPECT_EQ(enqueue(first), EnqueueKind::kWaiting);
  EXPECT_EQ(enqueue({.id = "m", .deadline = now() + 9s, .value = "2"}), EnqueueKind::kRepeated);
  EXPECT_EQ(message("m").message, first);
  (void)ready_due(1s);
  EXPECT_EQ(enqueue(first), EnqueueKind::kRepeated);
}

TEST_P(Messages, TheSameIdTwiceInABatchIsOneMessage) {
  const NewMessage first{{.id = "m", .deadline = now() + 1s, .value = "1"}};
  const NewMessage second{{.id = "m", .deadline = now() + 1s, .value = "2"}};
  EXPECT_THAT(take_in({first, second}).kinds, ElementsAre(EnqueueKind::kWaiting, EnqueueKind::kRepeated));
  EXPECT_EQ(message("m").message, first.message);
}

TEST_P(Messages, OfAnIdThatIsLateTwiceInABatchTheFirstOneFires) {
  const NewMessage first{{.id = "m", .deadline = now(), .value = "1"}};
  EXPECT_THAT(take_in({first, first}).kinds, ElementsAre(EnqueueKind::kLate, EnqueueKind::kRepeated));
}

TEST_P(Messages, WhatIsLateIsNotStoredUnlessItIsAskedFor) {
  const NewMessage late{{.id = "late", .deadline = now() + 50ms}};
  const NewMessage just{{.id = "just", .deadline = now() + 50ms + 1us}};
  EXPECT_THAT(take_in({late, just}, 0s, 50ms).kinds, ElementsAre(EnqueueKind::kLate, EnqueueKind::kWaiting));
  EXPECT_FALSE(find("late"));
  EXPECT_TRUE(find("just"));
  EXPECT_EQ(enqueue(late.message), EnqueueKind::kWaiting);
}

TEST_P(Messages, WhatIsDueWithinTheHorizonIsReadiedAtOnce) {
  const NewMessage soon{{.id = "soon", .deadline = now() + 550ms, .value = "v"}, RecordPlace{1, 2}};
  const NewMessage later{{.id = "later", .deadline = now() + 550ms + 1us}};
  const EnqueueOutcome outcome = take_in({later, soon}, 500ms, 50ms);
  EXPECT_EQ(outcome.now, now());
  EXPECT_THAT(outcome.kinds, ElementsAre(EnqueueKind::kWaiting, EnqueueKind::kReadied));
  const Readying readying{.id = "soon", .readied_at = now(), .readied_by = kNode};
  EXPECT_THAT(outcome.readied, ElementsAre(ReadiedMessage{soon.message, readying, soon.message.deadline}));
  EXPECT_EQ(message("soon"), (StoredMessage{soon.message, soon.message.deadline, RecordPlace{1, 2}, readying}));
  EXPECT_THAT(remove({readying}), ElementsAre(true));
}

TEST_P(Messages, EnqueueReadiesNoMoreThanThereIsRoomForTheSoonestFirst) {
  const auto of = [&](std::string id, Duration ahead) {
    return NewMessage{{.id = std::move(id),
                       .deadline = now() + std::chrono::floor<std::chrono::microseconds>(ahead),
                       .value = "12345678"}};
  };
  const std::vector batch = {of("c", 3ms), of("b", 2ms), of("a", 2ms), of("d", 4ms)};
  EnqueueWish wish{
      .delay_queue = "delay", .node = kNode, .horizon = 1s, .ready = {.max = 9, .max_bytes = 20}, .messages = batch};
  EXPECT_THAT(value_of(messages().enqueue(wish)).kinds,
              ElementsAre(EnqueueKind::kWaiting, EnqueueKind::kReadied, EnqueueKind::kReadied, EnqueueKind::kWaiting));
  wish.delay_queue = "another";
  wish.ready = {.max = 1, .max_bytes = 0};  // one always fits
  const EnqueueOutcome outcome = value_of(messages().enqueue(wish));
  ASSERT_THAT(outcome.readied, SizeIs(1));
  EXPECT_EQ(outcome.readied[0].message.id, "a");
}

TEST_P(Messages, DelayQueuesDoNotKnowEachOther) {
  (void)enqueue({.id = "m", .deadline = now()});
  const std::vector<NewMessage> other = {{{.id = "m", .deadline = now() + 1s, .value = "other"}}};
  EXPECT_THAT(value_of(messages().enqueue({.delay_queue = "another", .messages = other})).kinds,
              ElementsAre(EnqueueKind::kWaiting));
  EXPECT_EQ(message("m", "another").message, other[0].message);
  EXPECT_THAT(ready_due(1h), SizeIs(1));
  EXPECT_EQ(message("m", "another").state(), MessageState::kWaiting);
}

TEST_P(Messages, ADelayQueueIsNoQueueOfTasks) {
  (void)enqueue({.id = "m", .deadline = now()});
  EXPECT_FALSE(find_queue("delay"));
}

TEST_P(Messages, AnUnknownDelayQueueIsEmpty) {
  EXPECT_FALSE(find("m", "nowhere"));
  EXPECT_EQ(cancel("m", "nowhere"), Verdict::kNotFound);
  EXPECT_EQ(move("m", now(), "nowhere"), Verdict::kNotFound);
  const TurnOutcome outcome =
      value_of(messages().turn({.delay_queue = "nowhere", .node = kNode, .horizon = 1h, .ready = {10, 1000}}));
  EXPECT_THAT(outcome.readied, IsEmpty());
  EXPECT_EQ(outcome.next_in, std::nullopt);
  EXPECT_FALSE(outcome.has_rows);
}

TEST_P(Messages, IdsAreComparedByteForByte) {
  (void)enqueue({.id = "m", .deadline = now() + 1s});
  EXPECT_EQ(enqueue({.id = "M", .deadline = now() + 1s}), EnqueueKind::kWaiting);
  EXPECT_FALSE(find("m "));
}

// ---- An id that comes again while its message fires ----

TEST_P(Messages, AnIdThatIsAboutToFireIsAskedForAgainUntilItIsGone) {
  const auto again = [&] { return take_in({{{.id = "m", .deadline = now() + 1h}}}, 0s, 50ms).kinds.at(0); };
  (void)enqueue({.id = "m", .deadline = now() + 1s + 50ms});
  advance(1s - 1us);
  EXPECT_EQ(again(), EnqueueKind::kRepeated);
  advance(1us);
  EXPECT_EQ(again(), EnqueueKind::kFiring) << "it waits although it is due";
  const auto readied = ready_due(1s);
  EXPECT_EQ(again(), EnqueueKind::kFiring);
  (void)remove(readied);
  EXPECT_EQ(again(), EnqueueKind::kWaiting);
}

TEST_P(Messages, AnIdMayBeAboutToFireByTheAdvanceOfAnotherNode) {
  (void)enqueue({.id = "m", .deadline = now() + 1s});
  advance(850ms);
  const NewMessage again{.message = {.id = "m", .deadline = now() + 1h}};
  EnqueueWish wish{.delay_queue = "delay", .node = kNode, .messages = std::span(&again, 1)};
  EXPECT_EQ(messages().enqueue(wish).value().kinds.at(0), EnqueueKind::kRepeated);
  wish.longest_advance = 200ms;
  EXPECT_EQ(messages().enqueue(wish).value().kinds.at(0), EnqueueKind::kFiring);
}

TEST_P(Messages, TheVerySameRecordIsARepetitionEvenWhileItFires) {
  const Message sent{.id = "m", .deadline = now()};
  (void)enqueue(sent, RecordPlace{1, 7});
  EXPECT_EQ(enqueue(sent, RecordPlace{1, 7}), EnqueueKind::kRepeated);
  EXPECT_EQ(enqueue(sent, RecordPlace{1, 8}), EnqueueKind::kFiring);
  EXPECT_EQ(enqueue(sent, RecordPlace{2, 7}), EnqueueKind::kFiring);
  EXPECT_EQ(enqueue(sent), EnqueueKind::kFiring);
  (void)enqueue({.id = "by rest", .deadline = now()});
  EXPECT_EQ(enqueue({.id = "by rest", .deadline = now()}), EnqueueKind::kFiring) << "no place is not the same place";
}

TEST_P(Messages, ARecordThatIsReadAgainBesideItsSuccessorIsNoReasonToDropThat) {
  const Message sent{.id = "m", .deadline = now()};
  (void)enqueue(sent, RecordPlace{1, 7});
  EXPECT_THAT(take_in({{sent, RecordPlace{1, 7}}, {sent, RecordPlace{1, 8}}}).kinds,
              ElementsAre(EnqueueKind::kRepeated, EnqueueKind::kFiring));
}

TEST_P(Messages, AnIdThatMayBePublishedIsFiringEvenIfItIsDueLater) {
  const auto again = [&](const std::string& id) { return enqueue({.id = id, .deadline = now() + 1h}); };
  for (const char* id : {"failed", "unknown"}) (void)enqueue({.id = id, .deadline = now()});
  const auto readied = ready_due(0s);
  (void)give_back({{readied.at(0), 1min, false}, {readied.at(1), 1min, true}});
  EXPECT_EQ(again("failed"), EnqueueKind::kRepeated);
  EXPECT_EQ(again("unknown"), EnqueueKind::kFiring);
  advance(2min);
  (void)give_back({{ready_due(0s).at(1), 1min, false}});
  EXPECT_EQ(again("unknown"), EnqueueKind::kFiring) << "the first publish may still have happened";
  EXPECT_EQ(move("unknown", now() + 1h), Verdict::kAccepted);
  EXPECT_EQ(again("unknown"), EnqueueKind::kRepeated);
}

TEST_P(Messages, AResetMessageMayBePublished) {
  (void)enqueue({.id = "m", .deadline = now()});
  (void)reset(ready_due(0s));
  (void)give_back({{ready_due(0s).at(0), 1min, false}});
  EXPECT_EQ(enqueue({.id = "m", .deadline = now() + 1h}), EnqueueKind::kFiring);
}

// ---- Ready ----

TEST_P(Messages, AMessageIsDueWhenItsDeadlineComesWithinAdvanceAndHorizon) {
  (void)enqueue({.id = "m", .deadline = now() + 10s});
  const TurnWish wish{.delay_queue = "delay", .node = kNode, .advance = 200ms, .horizon = 800ms, .ready = {10, 1000}};
  advance(9s - 1us);
  EXPECT_THAT(value_of(messages().turn(wish)).readied, IsEmpty());
  advance(1us);
  EXPECT_THAT(value_of(messages().turn(wish)).readied, SizeIs(1));
}

TEST_P(Messages, AReadiedMessageSaysByWhomAndWhen) {
  const Message sent{.id = "m", .deadline = now() + 700ms, .key = "k", .value = "v", .headers = {{"a", "b"}}};
  (void)enqueue(sent);
  const TurnOutcome outcome =
      value_of(messages().turn({.delay_queue = "delay", .node = kNode, .horizon = 1s, .ready = {10, 1000}}));
  const Readying readying{.id = "m", .readied_at = now(), .readied_by = kNode};
  EXPECT_EQ(outcome.now, now());
  EXPECT_THAT(outcome.readied, ElementsAre(ReadiedMessage{sent, readying, sent.deadline}));
  EXPECT_EQ(message("m").state(), MessageState::kReady);
  EXPECT_EQ(message("m").readying, readying);
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
  (void)enqueue({.id = "\u00e4", .deadline = now() + 2s});
  (void)enqueue({.id = "B", .deadline = now() + 2s});
  (void)enqueue({.id = "d", .deadline = now() + 2s - 1us});
  EXPECT_THAT(names_of(ready_due(1h)), ElementsAre("c", "d", "B", "a", "b", "\u00e4"));
}

TEST_P(Messages, TakesNoMoreThanAskedForAndSaysThatMoreAreDue) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now() - 3s});
  const TurnWish wish{.delay_queue = "delay", .node = kNode, .advance = 1s, .ready = {2, 1000}};
  const TurnOutcome some = value_of(messages().turn(wish));
  EXPECT_THAT(some.readied, SizeIs(2));
  EXPECT_EQ(some.next_in, -Duration(4s));
  const TurnOutcome rest = value_of(messages().turn(wish));
  EXPECT_THAT(rest.readied, SizeIs(1));
  EXPECT_EQ(rest.next_in, std::nullopt);
  EXPECT_TRUE(rest.has_rows);
}

TEST_P(Messages, TakesNoMoreBytesThanThereIsRoomForButAlwaysOne) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now(), .value = std::string(100, 'x')});
  const auto take = [&](std::size_t bytes) {
    std::vector<Readying> readied;
    const TurnWish wish{.delay_queue = "delay", .node = kNode, .ready = {10, bytes}};
    for (const ReadiedMessage& each : value_of(messages().turn(wish)).readied) readied.push_back(each.readying);
    return names_of(readied);
  };
  EXPECT_THAT(take(50), ElementsAre("a"));
  EXPECT_THAT(take(250), ElementsAre("b", "c"));
}

TEST_P(Messages, AMessageThatFindsNoRoomIsTakenNextTime) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now()});
  EXPECT_THAT(ready_due(0s, 0), IsEmpty());
  EXPECT_THAT(names_of(ready_due(0s, 2)), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(ready_due(0s, 2, kPeer)), ElementsAre("c"));
}

TEST_P(Messages, SaysWhenTheNextOneFires) {
  (void)enqueue({.id = "a", .deadline = now() + 10s});
  const TurnWish wish{.delay_queue = "delay", .node = kNode, .advance = 50ms};
  EXPECT_EQ(value_of(messages().turn(wish)).next_in, Duration(9950ms));
  advance(9s);
  EXPECT_EQ(value_of(messages().turn(wish)).next_in, Duration(950ms));
  (void)enqueue({.id = "b", .deadline = now() + 100ms});
  EXPECT_EQ(value_of(messages().turn(wish)).next_in, Duration(50ms));
  EXPECT_EQ(cancel("b"), Verdict::kAccepted);
  EXPECT_EQ(value_of(messages().turn(wish)).next_in, Duration(950ms));
}

TEST_P(Messages, DeadlinesAtBothEndsOfTime) {
  (void)enqueue({.id = "last", .deadline = latest_instant()});
  (void)enqueue({.id = "first", .deadline = earliest_instant()});
  const TurnOutcome outcome =
      value_of(messages().turn({.delay_queue = "delay", .node = kNode, .horizon = 1s, .ready = {10, 1000}}));
  ASSERT_THAT(outcome.readied, SizeIs(1));
  EXPECT_EQ(outcome.readied[0].message.deadline, earliest_instant());
  // Reading: what a Duration of 292 years cannot hold is as long as it can be.
  ASSERT_TRUE(outcome.next_in);
  EXPECT_GT(*outcome.next_in, Duration(24h * 365 * 200));
  EXPECT_EQ(message("last").message.deadline, latest_instant());
}

// ---- Remove, give back ----

TEST_P(Messages, AFiredMessageIsForgottenAndItsIdMayComeAgain) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto readied = ready_due(0s);
  const TurnOutcome outcome = value_of(messages().turn({.delay_queue = "delay", .node = kNode, .fired = readied}));
  EXPECT_THAT(outcome.removed, ElementsAre(true));
  EXPECT_FALSE(outcome.has_rows);
  EXPECT_FALSE(find("m"));
  EXPECT_THAT(remove(readied), ElementsAre(false));
  EXPECT_EQ(enqueue({.id = "m", .deadline = now()}), EnqueueKind::kWaiting);
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
  EXPECT_THAT(remove({wrong_time, wrong_node, wrong_id}), ElementsAre(false, false, false));
  EXPECT_THAT(give_back({{wrong_time}, {wrong_node}, {wrong_id}}), ElementsAre(false, false, false));
  EXPECT_EQ(message("m").readying, mine);
  EXPECT_THAT(remove({mine}, "elsewhere"), ElementsAre(false));
  EXPECT_THAT(remove({wrong_node, mine, mine}), ElementsAre(false, true, false));
}

TEST_P(Messages, AWaitingMessageIsNotRemovedByAnOldReadying) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto old = ready_due(0s);
  (void)reset(old);
  EXPECT_THAT(remove(old), ElementsAre(false));
  EXPECT_EQ(message("m").state(), MessageState::kWaiting);
}

TEST_P(Messages, AMessageThatCameAgainIsNotRemovedByItsPredecessor) {
  (void)enqueue({.id = "m", .deadline = now()});
  const auto old = ready_due(0s);
  (void)remove(old);
  advance(1us);
  (void)enqueue({.id = "m", .deadline = now()});
  (void)ready_due(0s);
  EXPECT_THAT(remove(old), ElementsAre(false));
  EXPECT_EQ(message("m").state(), MessageState::kReady);
}

TEST_P(Messages, AMessageThatIsGivenBackWaitsForItsDeadlineOrForTheDelay) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now() + 1s});
  const auto readied = ready_due(1s);
  EXPECT_THAT(give_back({{readied.at(0), 0s}, {readied.at(1), 10s}, {readied.at(2), 500ms}}, 100ms),
              ElementsAre(true, true, true));
  EXPECT_EQ(message("a").due, now() + 1s);
  EXPECT_EQ(message("b").due, now() + 10s + 100ms);
  EXPECT_EQ(message("b").message.deadline, now() + 1s);
  EXPECT_EQ(message("c").due, now() + 1s);
  EXPECT_EQ(message("a").state(), MessageState::kWaiting);
  EXPECT_THAT(names_of(ready_due(1s, 10, kPeer)), ElementsAre("a", "c"));
}

TEST_P(Messages, OneTurnRemovesGivesBackAndReadies) {
  for (const char* id : {"a", "b", "c"}) (void)enqueue({.id = id, .deadline = now()});
  const auto readied = ready_due(0s, 2);
  const std::vector<Readying> fired = {readied.at(0)};
  const std::vector<GiveBack> failed = {{readied.at(1), 1s}};
  const TurnOutcome outcome = value_of(
      messages().turn({.delay_queue = "delay", .node = kNode, .fired = fired, .failed = failed, .ready = {10, 1000}}));
  EXPECT_THAT(outcome.removed, ElementsAre(true));
  EXPECT_THAT(outcome.given_back, ElementsAre(true));
  ASSERT_THAT(outcome.readied, SizeIs(1));
  EXPECT_EQ(outcome.readied[0].message.id, "c");
  EXPECT_EQ(outcome.next_in, Duration(1s));
  EXPECT_TRUE(outcome.has_rows);
}

}  // namespace
}  // namespace horae::testing
