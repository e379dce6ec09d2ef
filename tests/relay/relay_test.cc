// The relay of a delay queue, on a manual clock and a real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/relay/world.h"

namespace horae::testing {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::string_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Fault = FaultyMessages::Fault;

// ---- Firing ----

TEST(Relay, PublishesAtDeadlineMinusAdvanceAndNotBefore) {
  RelayWorldKit world;
  world.send("a", 3s);
  world.pass(2949ms);
  EXPECT_THAT(world.node().output->ids(), IsEmpty());
  EXPECT_THAT(world.stored(), SizeIs(1));
  EXPECT_EQ(world.node().source->committed(), 1);
  world.pass(2ms);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a"));
  world.pass(200ms);
  EXPECT_THAT(world.stored(), IsEmpty());
}

TEST(Relay, PublishesInTheOrderOfDeadlines) {
  RelayWorldKit world;
  world.send("late", 3s);
  world.send("soon", 1s);
  world.send("between", 2s);
  world.pass(4s);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("soon", "between", "late"));
}

TEST(Relay, RelaysKeyValueAndHeadersByteForByteWithoutTheTwoHeaders) {
  for (const Duration delay : {Duration(2s), Duration(-1s)}) {  // stored, and late
    RelayWorldKit world;
    std::vector<MessageHeader> headers =
        headers_of("a", world.now() + std::chrono::floor<std::chrono::microseconds>(delay));
    const MessageHeader first{"trace", "\0\xFF"s}, second{"trace", std::nullopt}, third{"empty", ""};
    headers.insert(headers.begin(), first);
    headers.push_back(second);
    headers.push_back(third);
    world.node().source->send(std::nullopt, ""s, headers);
    world.pass(3s);
    ASSERT_THAT(world.node().output->messages, SizeIs(1));
    const Publication& published = world.node().output->messages[0];
    EXPECT_EQ(published.key, std::nullopt);
    EXPECT_EQ(published.value, "");
    EXPECT_THAT(published.headers, ElementsAre(first, second, third));
  }
}

TEST(Relay, RemovesARowOnlyAfterItsReport) {
  RelayWorldKit world;
  world.node().output->answer = [](const Publication&) { return std::nullopt; };
  world.send("a", 1s);
  world.pass(1500ms);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a"));
  EXPECT_THAT(world.stored(), SizeIs(1));
  world.node().output->report(PublishEnd::kPublished);
  world.pass(200ms);
  EXPECT_THAT(world.stored(), IsEmpty());
}

TEST(Relay, GivesBackWhatFailedAndTriesItAgainAfterABackOff) {
  RelayWorldKit world;
  int publishes = 0;
  world.node().output->answer = [&](const Publication&) {
    return ++publishes < 3 ? PublishEnd::kFailed : PublishEnd::kPublished;
  };
  world.send("a", 1s);
  world.pass(960ms);
  EXPECT_EQ(publishes, 1);
  world.pass(100ms);
  EXPECT_EQ(publishes, 1);
  world.pass(5s);
  EXPECT_EQ(publishes, 3);
  EXPECT_THAT(world.stored(), IsEmpty());
  EXPECT_EQ(world.node().relay().status().failed, 2U);
}

TEST(Relay, HoldsOnlyProbesWhileTheOutputIsStalled) {
  RelayWorldKit world;
  world.node().output->answer = [](const Publication&) { return std::nullopt; };
  for (int i = 0; i < 50; ++i) world.send("first " + std::to_string(i), 1s);
  world.pass(2500ms);
  EXPECT_TRUE(world.node().relay().status().is_stalled);
  EXPECT_FALSE(world.node().source->is_open());
  world.node().output->report(PublishEnd::kUnknown);
  world.pass(8s);
  EXPECT_EQ(world.node().output->unreported(), Publisher::kProbes);

  world.node().output->answer = [](const Publication&) { return PublishEnd::kPublished; };
  world.node().output->report(PublishEnd::kPublished);
  world.pass(8s);
  EXPECT_THAT(world.stored(), IsEmpty());
  EXPECT_TRUE(world.node().source->is_open());
}

TEST(Relay, LearnsTheAdvanceFromThePublishTimes) {
  RelayWorldKit world({.timing_advance = std::nullopt});
  world.node().output->answer = [](const Publication&) { return std::nullopt; };
  world.send("a", 1s);
  world.pass(1s);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a")) << "without an advance";
  world.pass(30ms);
  world.node().output->report(PublishEnd::kPublished);
  world.send("b", 1s);
  world.pass(969ms);
  EXPECT_THAT(world.node().output->ids(), SizeIs(1));
  world.pass(2ms);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a", "b"));
}

// ---- Intake ----

TEST(Relay, PublishesLateMessagesAtOnceAndIsDoneAfterTheReport) {
  RelayWorldKit world;
  world.node().output->answer = [](const Publication&) { return std::nullopt; };
  world.send("a", -10s);
  world.send("b", 40ms);  // within the advance
  world.send("c", 3s);
  world.pass(20ms);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a", "b"));
  EXPECT_EQ(world.node().source->committed(), 0);
  world.node().output->report(PublishEnd::kPublished);
  world.pass(20ms);
  EXPECT_EQ(world.node().source->committed(), 3);
  EXPECT_THAT(world.stored(), SizeIs(1));
  EXPECT_EQ(world.node().relay().status().late, 2U);
}

TEST(Relay, TriesALateMessageAgainIfItsPublishFails) {
  RelayWorldKit world;
  int publishes = 0;
  world.node().output->answer = [&](const Publication&) {
    return ++publishes < 3 ? PublishEnd::kUnknown : PublishEnd::kPublished;
  };
  world.send("a", -1s);
  world.pass(5s);
  EXPECT_EQ(publishes, 3);
  EXPECT_EQ(world.node().source->committed(), 1);
}

TEST(Relay, OfRepeatedIdsOneFires) {
  RelayWorldKit world;
  world.send("a", 2s);
  world.send("a", 1s);
  world.pass(100ms);
  world.send("a", -1s);
  world.pass(3s);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a"));
  EXPECT_EQ(world.node().source->committed(), 3);
  EXPECT_EQ(world.node().relay().status().repeated, 2U);
}

TEST(Relay, AnIdThatIsSentAgainOnReceiptFiresAgain) {
  RelayWorldKit world;
  int left = 5;
  world.node().output->answer = [&](const Publication& message) {
    if (--left > 0) world.send(message.id, 1s);
    return PublishEnd::kPublished;
  };
  world.send("a", 1s);
  world.pass(10s);
  EXPECT_EQ(left, 0);
  EXPECT_THAT(world.stored(), IsEmpty());
  EXPECT_EQ(world.node().source->committed(), 5);
}

TEST(Relay, LogsAndDeadLettersWhatIsNoMessage) {
  RelayWorldKit world;
  world.node().source->send("k", "v", {{"chronosDeadline", "2030-01-01T00:00:00"}, {"x", "y"}});
  world.send("good", 1s);
  world.pass(2s);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("good"));
  ASSERT_THAT(world.node().dead_letters->messages, SizeIs(1));
  const Publication& letter = world.node().dead_letters->messages[0];
  EXPECT_EQ(letter.value, "v");
  EXPECT_THAT(letter.headers,
              ElementsAre(MessageHeader{"chronosDeadline", "2030-01-01T00:00:00"}, MessageHeader{"x", "y"},
                          MessageHeader{"horaeReason", "header chronosMessageId is missing"},
                          MessageHeader{"horaeDelayQueue", "orders"}, MessageHeader{"horaeTopic", "orders.in"},
                          MessageHeader{"horaePartition", "0"}, MessageHeader{"horaeOffset", "0"}));
  EXPECT_THAT(world.node().log(),
              HasSubstr("topic=orders.in partition=0 offset=0 reason=\"header chronosMessageId is missing\""));
  EXPECT_EQ(world.node().source->committed(), 2);
}

TEST(Relay, DropsWhatIsNoMessageIfThereAreNoDeadLetters) {
  RelayWorldKit world({}, false);
  world.node().source->send("k", "v", {});
  world.pass(100ms);
  EXPECT_EQ(world.node().source->committed(), 1);
  const auto bad = world.node().relay().status().bad;
  EXPECT_THAT(bad, ::testing::Contains(std::pair("missing_header"s, std::uint64_t{1})));
}

TEST(Relay, KeepsABadRecordUntilTheDeadLettersAcknowledgeIt) {
  RelayWorldKit world;
  int publishes = 0;
  world.node().dead_letters->answer = [&](const Publication&) {
    return ++publishes < 3 ? PublishEnd::kFailed : PublishEnd::kPublished;
  };
  world.node().source->send("k", "v", {});
  world.pass(100ms);
  EXPECT_EQ(world.node().source->committed(), 0);
  world.pass(5s);
  EXPECT_EQ(world.node().source->committed(), 1);
}

TEST(Relay, TakesInNothingWhileOverdueMessagesWait) {
  RelayWorldKit world({.most_held = 1});
  world.node().output->answer = [](const Publication&) { return std::nullopt; };
  world.send("a", 1s);
  world.send("b", 1s);
  world.pass(900ms);
  EXPECT_TRUE(world.node().source->is_open());
  world.pass(600ms);
  EXPECT_TRUE(world.node().relay().status().is_behind);
  world.send("c", 1s);
  world.pass(100ms);
  EXPECT_FALSE(world.node().source->is_open());
  EXPECT_THAT(world.stored(), SizeIs(2));
}

TEST(Relay, ForgetsRecordsOfAPartitionThatItLost) {
  RelayWorldKit world;
  world.node().store.enqueues = Fault::kFails;
  world.send("a", 2s);
  world.pass(50ms);
  world.node().source->lose();
  world.node().store.enqueues = Fault::kNone;
  world.pass(5s);
  EXPECT_THAT(world.node().output->ids(), IsEmpty());
  EXPECT_EQ(world.node().source->committed(), 0);
}

// ---- Refused for good ----

TEST(Relay, DeadLettersWhatTheOutputRefusesForGood) {
  for (const Duration delay : {Duration(1s), Duration(-1s)}) {  // stored, and late
    RelayWorldKit world;
    world.node().output->answer = [](const Publication&) { return PublishEnd::kRefused; };
    world.send("a", delay);
    world.pass(3s);
    EXPECT_THAT(world.node().dead_letters->ids(), ElementsAre("a"));
    EXPECT_THAT(world.stored(), IsEmpty());
    EXPECT_EQ(world.node().source->committed(), 1);
  }
}

TEST(Relay, KeepsWhatAllRefuseAndTriesItEachMinute) {
  for (const bool has_dead_letters : {false, true}) {
    for (const Duration delay : {Duration(1s), Duration(-1s)}) {
      RelayWorldKit world({}, has_dead_letters);
      const auto refuse = [](const Publication&) { return PublishEnd::kRefused; };
      world.node().output->answer = refuse;
      if (has_dead_letters) world.node().dead_letters->answer = refuse;
      world.send("a", delay);
      world.pass(30s);
      EXPECT_THAT(world.stored(), SizeIs(1));
      EXPECT_EQ(world.node().source->committed(), 1);
      const std::size_t tried = world.node().output->messages.size();
      world.pass(61s);
      EXPECT_EQ(world.node().output->messages.size(), tried + 1);
      world.node().output->answer = [](const Publication&) { return PublishEnd::kPublished; };
      world.pass(61s);
      EXPECT_THAT(world.stored(), IsEmpty());
    }
  }
}

// ---- Lost answers ----

TEST(Relay, AdoptsWhatATurnReadiedWhoseAnswerWasLost) {
  RelayWorldKit world;
  world.send("a", 2s);
  world.pass(1400ms);
  world.node().store.turns = Fault::kLosesAnswer;
  world.pass(150ms);
  world.node().store.turns = Fault::kNone;
  world.pass(600ms);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a"));
  EXPECT_THAT(world.stored(), IsEmpty());
  EXPECT_THAT(world.node().log(), Not(HasSubstr("suspected")));
}

TEST(Relay, AdoptsWhatAnEnqueueReadiedWhoseAnswerWasLost) {
  RelayWorldKit world;
  world.node().store.enqueues = Fault::kLosesAnswer;
  world.send("a", 400ms);
  world.pass(10ms);
  world.node().store.enqueues = Fault::kNone;
  world.pass(600ms);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a"));
  EXPECT_EQ(world.node().source->committed(), 1);
}

TEST(Relay, ARepeatedRemovalIsNoWarning) {
  RelayWorldKit world;
  world.send("a", 1s);
  world.pass(900ms);
  world.node().store.turns = Fault::kLosesAnswer;
  world.pass(300ms);
  world.node().store.turns = Fault::kNone;
  world.pass(2s);
  EXPECT_THAT(world.stored(), IsEmpty());
  EXPECT_THAT(world.node().log(), Not(HasSubstr("is gone")));
  EXPECT_THAT(world.node().output->ids(), ElementsAre("a"));
}

// ---- Takeover ----

TEST(Relay, TakesMessagesOverFromANodeThatHasStopped) {
  RelayWorldKit world;
  RelayNode& second = world.add_node();
  world.send("a", 1s);
  world.pass(900ms);
  ASSERT_TRUE(world.stored().at(0).readying);
  RelayNode& holder = world.node().relay().status().held > 0 ? world.node() : second;
  RelayNode& other = &holder == &second ? world.node() : second;
  const std::string by = to_string(world.stored().at(0).readying->readied_by);
  holder.is_stopped = true;
  world.pass(5s);
  EXPECT_THAT(other.output->ids(), IsEmpty());
  world.pass(1200ms);  // deadline + hold + detection + 500 ms
  EXPECT_THAT(other.output->ids(), ElementsAre("a"));
  EXPECT_THAT(other.log(), HasSubstr("suspected failure of " + by + " for message a"));

  holder.is_stopped = false;
  world.pass(2s);
  EXPECT_THAT(holder.output->ids(), IsEmpty()) << "its hold time has run out";
}

TEST(Relay, AFiredMessageThatWasTakenOverIsAWarning) {
  RelayWorldKit world;
  world.node().output->answer = [](const Publication&) { return std::nullopt; };
  world.send("a", 1s);
  world.pass(1s);
  world.node().is_stopped = true;
  RelayNode& second = world.add_node();
  world.pass(7s);
  EXPECT_THAT(second.output->ids(), ElementsAre("a"));
  world.node().is_stopped = false;
  world.node().output->report(PublishEnd::kPublished);
  world.pass(1s);
  EXPECT_THAT(world.node().log(), HasSubstr("a fired message is gone"));
  EXPECT_EQ(world.node().relay().status().gone, 1U);
}

TEST(Relay, AnOutageOfTheStoreIsNotTheNodesFault) {
  RelayWorldKit world;
  RelayNode& second = world.add_node();
  world.send("a", 1s);
  world.pass(900ms);
  RelayNode& holder = world.node().relay().status().held > 0 ? world.node() : second;
  RelayNode& other = &holder == &second ? world.node() : second;
  for (RelayNode* each : {&holder, &other}) each->store.turns = each->store.looks = Fault::kFails;
  world.pass(20s);
  EXPECT_THAT(holder.output->ids(), ElementsAre("a")) << "firing goes on from memory";
  other.store.turns = other.store.looks = Fault::kNone;
  world.pass(3s);  // the holder finds the store a little later
  holder.store.turns = holder.store.looks = Fault::kNone;
  world.pass(10s);
  EXPECT_THAT(other.output->ids(), IsEmpty());
  EXPECT_THAT(holder.log() + other.log(), Not(HasSubstr("suspected")));
  EXPECT_THAT(world.stored(), IsEmpty());
}

// ---- Stop, idle, status ----

TEST(Relay, AStopGivesBackWhatIsNotDueAndAwaitsTheReportsOfTheRest) {
  RelayWorldKit world;
  world.node().output->answer = [](const Publication&) { return std::nullopt; };
  world.send("due", 960ms);
  world.send("undue", 1300ms);
  world.pass(950ms);
  ASSERT_EQ(world.node().relay().status().held, 2U);
  world.node().relay().drain();
  world.pass(100ms);
  EXPECT_FALSE(world.node().relay().is_drained());
  EXPECT_FALSE(world.node().source->is_open());
  world.node().output->report(PublishEnd::kPublished);
  world.pass(100ms);
  EXPECT_TRUE(world.node().relay().is_drained());
  ASSERT_THAT(world.stored(), SizeIs(1));
  EXPECT_EQ(world.stored()[0].message.id, "undue");
  EXPECT_FALSE(world.stored()[0].readying);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("due"));
}

TEST(Relay, AnIdleQueueCostsOneCallOfTheStoreASecond) {
  RelayWorldKit world;
  world.pass(5s);
  const int before = world.node().store.calls;
  world.pass(20s);
  EXPECT_THAT(world.node().store.calls - before, ::testing::AllOf(::testing::Ge(19), ::testing::Le(41)));

  const NewMessage put{.message = {.id = "put", .deadline = world.now() + 3s}, .place = {}};
  (void)world.store->messages()
      .enqueue({.delay_queue = "orders", .stores_late = true, .messages = std::span(&put, 1)})
      .value();
  world.pass(3s);
  EXPECT_THAT(world.node().output->ids(), ElementsAre("put")) << "a look finds what others put";
}

TEST(Relay, TheStatusCounts) {
  RelayWorldKit world;
  for (int i = 0; i < 3; ++i) world.send("message " + std::to_string(i), 2s);
  world.send("late", -1s);
  world.pass(1s);
  RelayStatus status = world.node().relay().status();
  EXPECT_EQ(status.enqueued, 3U);
  EXPECT_EQ(status.fired, 1U);
  world.pass(10s);
  status = world.node().relay().status();
  EXPECT_EQ(status.fired, 4U);
  EXPECT_EQ(status.held, 0U);
  EXPECT_EQ(status.pending, 0U);
  EXPECT_EQ(status.clock_offset, Duration::zero());
  EXPECT_EQ(status.lateness_p99, -50ms);
}

}  // namespace
}  // namespace horae::testing
