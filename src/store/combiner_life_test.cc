#include "store/combiner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "store/combiner_test_world.h"

namespace horae {
namespace {

// The limit, start and stop, and callbacks; what is gathered and how it fails is in combiner_test.cc.

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Ne;
using testing::SizeIs;
using testing::StartsWith;

// ---- The limit ----

constexpr const char* kTooMany =
    "over_limit: 3 items are waiting for the store, which is busy or away, and at most 3 may: nothing was done; try "
    "again later";

TEST(Combiner, RefusesAtOnceWhatWouldPassTheLimit) {
  World world({.max_pending = 3});
  world.hold();  // the first, inside the store, counts
  world.submit("second");
  world.submit("third");
  world.submit("fourth");
  EXPECT_EQ(world.answers.only("fourth"), kTooMany);
  EXPECT_EQ(world.combiner.submit(submission("fifth")).error().code, ErrorCode::kOverLimit);

  world.finish();
  EXPECT_THAT(world.calls(), ElementsAre("submit second third"));
  EXPECT_EQ(world.answers.only("third"), "ok");
}

TEST(Combiner, TakesABatchWholeOrNotAtAll) {
  World world({.max_pending = 3});
  world.hold();
  world.submit("second");
  world.combiner.submit(submissions(2), world.answers.of_batch("batch"));
  EXPECT_THAT(world.answers.only("batch"), MatchesRegex("over_limit: 2 items .*, over_limit: 2 items .*"));
  world.submit("third");

  world.finish();
  EXPECT_THAT(world.calls(), ElementsAre("submit second third"));
}

TEST(Combiner, RefusesForGoodABatchThatCouldNeverFit) {
  World world({.max_pending = 3});
  world.combiner.submit(submissions(4), world.answers.of_batch("batch"));
  EXPECT_THAT(world.answers.only("batch"), StartsWith("refused: 4 items in one call: give at most 3"));
}

TEST(Combiner, HasRoomAgainBeforeItAnswers) {
  World world({.max_pending = 1});
  world.combiner.submit(submission("a"), [&](const Result<SubmitOutcome>& /*outcome*/) { world.submit("b"); });
  while (world.answers.all().empty()) std::this_thread::yield();
  EXPECT_EQ(world.answers.only("b"), "ok");

  world.store.fail_on("bad", ErrorCode::kRefused);
  EXPECT_FALSE(world.combiner.submit(submission("bad")).ok());
  EXPECT_TRUE(world.combiner.submit(submission("c")).ok());
}

// ---- Start and stop ----

constexpr const char* kNotRunning =
    "unavailable: this node is starting or stopping: nothing was done; try again later or on another node";

TEST(Combiner, RefusesCallsBeforeItIsStartedAndAfterItIsStopped) {
  FakeStore store;
  Answers answers;
  Combiner combiner(store);
  combiner.submit(submission("early"), answers.of("early"));
  EXPECT_EQ(answers.only("early"), kNotRunning);

  combiner.start();
  EXPECT_TRUE(combiner.submit(submission("taken")).ok());
  combiner.stop();
  combiner.stop();

  combiner.submit(submission("late"), answers.of("late"));
  combiner.submit(submissions(2), answers.of_batch("batch"));
  EXPECT_EQ(answers.only("late"), kNotRunning);
  EXPECT_EQ(answers.only("batch"), std::string(kNotRunning) + ", " + kNotRunning);
  EXPECT_THAT(store.calls(), ElementsAre("submit taken"));
}

TEST(Combiner, MayBeStoppedWithoutAStartAndStartedAfterAStop) {
  FakeStore store;
  Combiner combiner(store);
  combiner.stop();
  combiner.start();
  combiner.stop();
  combiner.start();
  EXPECT_TRUE(combiner.submit(submission("a")).ok());
}

// Calls until an answer says that the combiner has begun to stop.
void wait_until_it_refuses(Combiner& combiner) {
  const auto refused = std::make_shared<std::atomic<bool>>(false);
  while (!*refused) {
    combiner.cancel(cancel_wish("x"), [refused](const Result<CancelOutcome>& outcome) {
      if (!outcome.ok() && outcome.error().code == ErrorCode::kUnavailable) *refused = true;
    });
    std::this_thread::yield();
  }
}

TEST(Combiner, StopRefusesNewCallsAndFinishesThoseThatItTook) {
  World world({.max_batch = 2});
  world.hold();
  world.settle(1, 1, "first-of-attempt");
  world.settle(1, 1, "second-of-attempt");
  for (const char* label : {"a", "b", "c"}) world.submit(label);
  std::atomic<int> stopped = 0;
  const auto stop = [&] {
    world.combiner.stop();
    ++stopped;
  };
  std::jthread first(stop);
  std::jthread second(stop);
  wait_until_it_refuses(world.combiner);
  EXPECT_EQ(stopped, 0);
  EXPECT_THAT(world.answers.all(), IsEmpty());

  world.store.open_gate();
  first.join();
  second.join();
  for (const char* label : {"first-of-attempt", "second-of-attempt", "a", "b", "c"}) {
    EXPECT_EQ(world.answers.only(label), "ok") << label;
  }
}

TEST(Combiner, ItsEndIsAStop) {
  FakeStore store;
  Answers answers;
  {
    Combiner combiner(store);
    combiner.start();
    combiner.submit(submissions(3), answers.of_batch("batch"));
  }
  EXPECT_EQ(answers.only("batch"), "ok, ok, ok");
}

// ---- Callbacks ----

TEST(Combiner, CallbacksRunOnOneThreadThatIsNotTheCallers) {
  World world;
  std::set<std::thread::id> threads;  // the stop orders all that the callbacks did before what follows
  const auto note = [&](const auto& /*outcome*/) { threads.insert(std::this_thread::get_id()); };
  world.combiner.submit(submission("a"), note);
  world.combiner.settle(settlement(1, 1, "b"), note);
  world.combiner.claim({claim_wish("c"), claim_wish("d")}, note);
  world.finish();

  EXPECT_THAT(threads, AllOf(SizeIs(1), Each(Ne(std::this_thread::get_id()))));
}

TEST(Combiner, ACallbackMayCallAgain) {
  World world;
  world.store.close_gate();
  world.combiner.submit(submission("a"), [&](const Result<SubmitOutcome>& /*outcome*/) {
    world.submit("b");
    world.settle(1, 1, "c");
  });
  world.store.wait_until_a_call_is_inside();
  world.store.open_gate();
  while (world.answers.all().size() < 2) std::this_thread::yield();

  EXPECT_EQ(world.answers.only("b"), "ok");
  EXPECT_EQ(world.answers.only("c"), "ok");
}

TEST(Combiner, ACallbackOfACallThatIsRefusedAtOnceMayCallAgain) {
  FakeStore store;
  Answers answers;
  Combiner combiner(store);
  combiner.submit(submission("a"),
                  [&](const Result<SubmitOutcome>& /*outcome*/) { combiner.submit(submission("b"), answers.of("b")); });
  EXPECT_EQ(answers.only("b"), kNotRunning);
}

TEST(Combiner, ACallbackMayCallAgainWhileStopping) {
  World world;
  world.hold();
  world.combiner.submit(submission("a"), [&](const Result<SubmitOutcome>& /*outcome*/) { world.submit("b"); });
  std::jthread stopper([&] { world.combiner.stop(); });
  wait_until_it_refuses(world.combiner);
  world.store.open_gate();
  stopper.join();

  EXPECT_EQ(world.answers.only("b"), kNotRunning);
}

TEST(Combiner, AnswersEachOfManyConcurrentCallsExactlyOnce) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 250;
  World world({.max_pending = 1'000, .max_batch = 7});
  world.store.fail_on("bad", ErrorCode::kRefused);
  std::vector<std::atomic<int>> answers(kThreads * kCalls);
  {
    std::vector<std::jthread> callers;
    for (int thread = 0; thread < kThreads; ++thread) {
      callers.emplace_back([&world, &answers, thread] {
        for (int call = 0; call < kCalls; ++call) {
          const auto count = [&answer = answers[static_cast<std::size_t>(thread * kCalls + call)]](
                                 const auto& /*outcome*/) { ++answer; };
          if (call % 6 == 0) world.combiner.submit(submission(call % 12 == 0 ? "bad" : "a"), count);
          if (call % 6 == 1) world.combiner.settle(settlement(thread % 2, call % 5, "b"), count);
          if (call % 6 == 2) world.combiner.cancel(cancel_wish("c"), count);
          if (call % 6 == 3) world.combiner.claim(claim_wish("d"), count);
          if (call % 6 == 4) world.combiner.submit(submissions(9), count);
          if (call % 6 == 5) count(world.combiner.settle(settlement(1, 1, "e")));
        }
      });
    }
  }
  world.finish();

  for (const auto& answer : answers) EXPECT_EQ(answer, 1);
  for (const std::string& call : world.calls()) {
    const std::size_t most = call.starts_with("exchange") ? 3 * (1 + 7) : 7;
    EXPECT_LE(words_of(call).size(), 1 + most + 1) << call;
  }
}

TEST(Combiner, StopsCleanlyUnderLoad) {
  for (int round = 0; round < 50; ++round) {
    World world;
    std::atomic<int> made = 0;
    std::atomic<int> answered = 0;
    std::vector<std::jthread> callers;
    for (int thread = 0; thread < 4; ++thread) {
      callers.emplace_back([&] {
        for (bool running = true; running;) {
          ++made;
          running = world.combiner.submit(submission("a")).ok();
          ++answered;
        }
      });
    }
    EXPECT_TRUE(world.combiner.submit(submission("first")).ok());
    world.combiner.stop();
    callers.clear();  // joins
    EXPECT_EQ(made, answered);
  }
}

// ---- Bugs ----

// ---- Rounds that its owner drives ----

TEST(Combiner, RunsOneRoundOfWhatHasArrived) {
  FakeStore store;
  Answers answers;
  int wakes = 0;
  Combiner combiner(store);
  combiner.open([&] { ++wakes; });
  EXPECT_FALSE(combiner.run_round());
  for (const char* label : {"a", "b"}) combiner.submit(submission(label), answers.of(label));
  EXPECT_EQ(wakes, 2);
  EXPECT_THAT(answers.all(), testing::IsEmpty()) << "nothing happens without a round";

  EXPECT_TRUE(combiner.run_round());
  EXPECT_THAT(store.calls(), testing::ElementsAre("submit a b"));
  EXPECT_THAT(answers.all(), testing::SizeIs(2));
  EXPECT_FALSE(combiner.run_round());
}

TEST(Combiner, ItsLastRoundsAreThoseOfTheStop) {
  FakeStore store;
  Answers answers;
  Combiner combiner(store);
  combiner.open([] {});
  combiner.submit(submission("a"), answers.of("a"));
  combiner.stop();
  EXPECT_EQ(answers.only("a"), "ok");
  combiner.submit(submission("b"), answers.of("b"));
  EXPECT_THAT(answers.only("b"), testing::StartsWith("unavailable"));
}

TEST(Combiner, WithoutAStopWhatItTookIsDropped) {
  FakeStore store;
  Answers answers;
  {
    Combiner combiner(store);
    combiner.open([] {});
    combiner.submit(submission("a"), answers.of("a"));
  }
  EXPECT_THAT(store.calls(), testing::IsEmpty());
  EXPECT_THAT(answers.all(), testing::IsEmpty());
}

class CombinerDeathTest : public testing::Test {
 protected:
  // Without it, the forked child has no combiner's thread.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  FakeStore store_;
};

TEST_F(CombinerDeathTest, ACallbackMustNotWait) {
  EXPECT_DEATH(
      {
        Combiner combiner(store_);
        combiner.start();
        combiner.submit(submission("a"), [&](const auto&) { std::ignore = combiner.submit(submission("b")); });
        combiner.stop();
      },
      "would wait for itself");
}

TEST_F(CombinerDeathTest, ACallbackMustNotStop) {
  EXPECT_DEATH(
      {
        Combiner combiner(store_);
        combiner.start();
        combiner.submit(submission("a"), [&](const auto&) { combiner.stop(); });
        std::ignore = combiner.submit(submission("b"));
      },
      "would wait for itself");
}

TEST_F(CombinerDeathTest, IsNotStartedTwice) {
  EXPECT_DEATH(
      {
        Combiner combiner(store_);
        combiner.start();
        combiner.start();
      },
      "cannot be started");
}

TEST_F(CombinerDeathTest, HasLimitsThatMakeSense) {
  EXPECT_DEATH(Combiner(store_, {.max_pending = 0}), "room for at least one");
  EXPECT_DEATH(Combiner(store_, {.max_batch = 0}), "one that a store takes");
  EXPECT_DEATH(Combiner(store_, {.max_batch = kMaxBatch + 1}), "one that a store takes");
}

}  // namespace
}  // namespace horae
