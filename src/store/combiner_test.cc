#include "store/combiner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "store/combiner_test_world.h"

namespace horae {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// ---- Gathering ----

TEST(Combiner, GathersWhileACommitIsUnderWay) {
  World world;
  world.hold();
  for (const char* label : {"a", "b", "c"}) world.submit(label);
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit a b c"));
}

TEST(Combiner, AnswersOnlyAfterTheCommit) {
  World world;
  world.store.close_gate();
  world.submit("a");
  world.store.wait_until_a_call_is_inside();
  EXPECT_THAT(world.answers.all(), IsEmpty());

  world.finish();
  EXPECT_EQ(world.answers.only("a"), "ok");
}

TEST(Combiner, ARoundSettlesThenSubmitsThenCancelsThenClaims) {
  World world;
  world.hold();
  world.combiner.claim(claim_wish("claim1"), world.answers.as<ClaimOutcome>("claim1"));
  world.combiner.cancel(cancel_wish("cancel1"), world.answers.as<CancelOutcome>("cancel1"));
  world.submit("submit1");
  world.settle(1, 1, "settle1");
  world.combiner.claim(claim_wish("claim2"), world.answers.as<ClaimOutcome>("claim2"));
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("settle settle1", "submit submit1", "cancel cancel1", "claim claim1 claim2"));
  EXPECT_THAT(world.answers.all(), SizeIs(5));
}

TEST(Combiner, EachKindHasItsTurnInEachRound) {
  World world({.max_batch = 2});
  world.hold();
  for (int task = 1; task <= 3; ++task) world.settle(task, 1, "t" + std::to_string(task));
  for (const char* label : {"a", "b", "c"}) world.submit(label);
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("exchange settle t1 t2 submit a b", "exchange settle t3 submit c"));
}

// ---- Calls of several kinds ----

TEST(Combiner, KindsThatWaitTogetherShareACommit) {
  World world;
  world.hold();
  world.submit("a");
  world.settle(1, 1, "t");
  world.combiner.claim(claim_wish("w"), world.answers.as<ClaimOutcome>("w"));
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("exchange settle t submit a claim w"));
  for (const char* label : {"a", "t", "w"}) EXPECT_EQ(world.answers.only(label), "ok") << label;
}

TEST(Combiner, WithCancelsEachKindHasItsOwnCall) {
  World world;
  world.hold();
  world.combiner.claim(claim_wish("w"), world.answers.as<ClaimOutcome>("w"));
  world.combiner.cancel(cancel_wish("c"), world.answers.as<CancelOutcome>("c"));
  world.submit("a");
  world.settle(1, 1, "t");
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("settle t", "submit a", "cancel c", "claim w"));
}

TEST(Combiner, OneBadItemOfAnExchangeHarmsNoOther) {
  World world;
  world.store.fail_on("b", ErrorCode::kRefused);
  world.hold();
  for (const char* label : {"a", "b"}) world.submit(label);
  world.settle(1, 1, "t");
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("exchange settle t submit a b: refused", "settle t", "submit a b: refused",
                                         "submit a", "submit b: refused"));
  EXPECT_EQ(world.answers.only("t"), "ok");
  EXPECT_EQ(world.answers.only("a"), "ok");
  EXPECT_EQ(world.answers.only("b"), "refused: because of b");
}

TEST(Combiner, AnExchangeWithoutAnAnswerIsUnknownForAll) {
  World world;
  world.store.fail_on("a", ErrorCode::kUnavailable);
  world.hold();
  world.submit("a");
  world.settle(1, 1, "t");
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("exchange settle t submit a: unavailable"));
  EXPECT_EQ(world.answers.only("a"), "unavailable: because of a");
  EXPECT_EQ(world.answers.only("t"), "unavailable: because of a");
}

TEST(Combiner, AClaimLocksABoundedNumberOfTokens) {
  World world;
  world.hold();
  for (std::size_t i = 0; i < kMaxOnceInAClaim + 5; ++i) {
    ClaimWish wish = claim_wish("t");
    wish.once = true;
    world.combiner.claim(wish, world.answers.as<ClaimOutcome>("t"));
  }
  world.finish();

  const auto calls = world.calls();
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(words_of(calls[0]), SizeIs(1 + kMaxOnceInAClaim));
  EXPECT_THAT(words_of(calls[1]), SizeIs(1 + 5));
}

TEST(Combiner, WaitingCallsReturnTheirOwnOutcome) {
  World world;
  EXPECT_EQ(world.combiner.submit(numbered(7))->number, 7);
  EXPECT_EQ(world.combiner.settle(settlement(1, 1, "worker-1"))->owner, "worker-1");
  EXPECT_EQ(world.combiner.cancel(cancel_wish("why"))->verdict, Verdict::kAccepted);
  EXPECT_EQ(world.combiner.claim(claim_wish("worker-2"))->tasks.front().queue, "worker-2");
}

TEST(Combiner, WaitingBatchesReturnAnOutcomeForEachItem) {
  World world;
  const auto submitted = world.combiner.submit({numbered(7), numbered(8)});
  ASSERT_THAT(submitted, SizeIs(2));
  EXPECT_EQ(submitted[0]->number, 7);
  EXPECT_EQ(submitted[1]->number, 8);
  EXPECT_EQ(world.combiner.settle({settlement(1, 1, "a"), settlement(2, 1, "b")})[1]->owner, "b");
  EXPECT_THAT(world.combiner.cancel({cancel_wish("a"), cancel_wish("b")}), SizeIs(2));
  EXPECT_EQ(world.combiner.claim({claim_wish("a"), claim_wish("b")})[1]->tasks.front().queue, "b");
}

// ---- Batches of callers ----

TEST(Combiner, ABatchIsAnsweredOnceWithOutcomesInOrder) {
  World world({.max_batch = 2});
  std::vector<std::int64_t> numbers;
  world.hold();
  world.combiner.submit(submissions(5), [&](const std::vector<Result<SubmitOutcome>>& outcomes) {
    for (const auto& outcome : outcomes) numbers.push_back(outcome->number);
  });
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit s1 s2", "submit s3 s4", "submit s5"));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5));
}

TEST(Combiner, BatchesOfSeveralCallersShareAStoreCall) {
  World world({.max_batch = 4});
  world.hold();
  world.submit("a");
  world.combiner.submit(submissions(2), world.answers.of_batch("two"));
  world.combiner.submit(submissions(3), world.answers.of_batch("three"));
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit a s1 s2 s1", "submit s2 s3"));
  EXPECT_EQ(world.answers.only("two"), "ok, ok");
  EXPECT_EQ(world.answers.only("three"), "ok, ok, ok");
}

TEST(Combiner, ABatchMayFailInPart) {
  World world;
  world.store.fail_on("s2", ErrorCode::kRefused);
  world.combiner.submit(submissions(3), world.answers.of_batch("batch"));
  world.finish();

  EXPECT_EQ(world.answers.only("batch"), "ok, refused: because of s2, ok");
}

TEST(Combiner, ABatchOfNoneIsAnsweredAtOnce) {
  World world;
  bool answered = false;
  world.combiner.submit({}, [&](const std::vector<Result<SubmitOutcome>>& outcomes) { answered = outcomes.empty(); });

  EXPECT_TRUE(answered);
  EXPECT_THAT(world.combiner.claim(std::vector<ClaimWish>()), IsEmpty());
  EXPECT_THAT(world.store.calls(), IsEmpty());
}

TEST(Combiner, ClaimsOfOneCallAskForABatchOfTasksAtMost) {
  World world({.max_batch = 10});
  world.hold();
  for (const auto& [label, max] : std::vector<std::pair<std::string, int>>{
           {"a", 6}, {"b", 6}, {"c", 4}, {"d", 1}, {"huge", 1'000}, {"e", -1}, {"f", 0}}) {
    world.combiner.claim(claim_wish(label, max), world.answers.as<ClaimOutcome>(label));
  }
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("claim a", "claim b c", "claim d", "claim huge", "claim e f"));
}

// ---- Several of one attempt ----

TEST(Combiner, SettlementsOfAnAttemptShareACallInTheirOrder) {
  World world;
  world.hold();
  world.settle(1, 1, "beat");
  world.settle(1, 1, "yield");
  world.settle(2, 1, "other-task");
  world.settle(1, 2, "other-attempt");
  world.settle(1, 1, "complete");
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("settle beat yield other-task other-attempt complete"));
}

// Else a call that names one attempt a thousand times costs a thousand commits, and all other calls wait for them.
TEST(Combiner, AThousandResultsForOneAttemptCostOneCall) {
  World world;
  std::vector<Settlement> late;
  for (int i = 0; i < 1000; ++i) late.push_back(settlement(1, 1, "unknown-" + std::to_string(i)));
  EXPECT_THAT(world.combiner.settle(late), SizeIs(1000));
  EXPECT_THAT(world.calls(), SizeIs(1));
}

TEST(Combiner, WhatWaitsComesBeforeWhatArrivesLater) {
  World world({.max_batch = 2});
  world.hold();
  for (const char* label : {"a1", "a2", "a3"}) world.settle(1, 1, label);
  for (const char* label : {"b1", "b2"}) world.settle(2, 1, label);
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("settle a1 a2", "settle a3 b1", "settle b2"));
}

TEST(Combiner, OutcomesOfABatchThatNamesAnAttemptTwiceAreInTheOrderOfTheItems) {
  World world;
  const auto outcomes = world.combiner.settle({settlement(1, 1, "a"), settlement(1, 1, "b"), settlement(2, 1, "c")});

  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_EQ(outcomes[0]->owner, "a");
  EXPECT_EQ(outcomes[1]->owner, "b");
  EXPECT_EQ(outcomes[2]->owner, "c");
}

TEST(Combiner, SubmissionsOfOneIdMayMeetInOneCall) {
  World world;
  world.hold();
  world.submit("same");
  world.combiner.submit(submission("same"), world.answers.of("same"));
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit same same"));
}

RC_GTEST_PROP(Combiner, KeepsTheOrderOfEachAttempt, ()) {
  World world({.max_batch = *rc::gen::inRange<std::size_t>(1, 6)});
  const auto tasks = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 4));
  world.hold();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    world.settle(tasks[i], 1, std::to_string(tasks[i]) + "." + std::to_string(100 + i));
  }
  world.finish();

  std::map<char, std::string> newest;
  for (const std::string& call : world.calls()) {
    for (const std::string& word : words_of(call)) {
      if (word == "settle") continue;
      RC_ASSERT(newest[word[0]] < word);
      newest[word[0]] = word;
    }
  }
  RC_ASSERT(world.answers.all().size() == tasks.size());
}

// ---- Failures ----

TEST(Combiner, ARefusedBatchIsHalvedUntilTheBadItemIsAlone) {
  World world;
  world.store.fail_on("c", ErrorCode::kRefused);
  world.hold();
  for (const char* label : {"a", "b", "c", "d", "e"}) world.submit(label);
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit a b c d e: refused", "submit a b", "submit c d e: refused",
                                         "submit c: refused", "submit d e"));
  EXPECT_EQ(world.answers.only("c"), "refused: because of c");
  for (const char* label : {"a", "b", "d", "e"}) EXPECT_EQ(world.answers.only(label), "ok") << label;
}

TEST(Combiner, WhateverIsNotRetryableIsHalved) {
  for (const ErrorCode code : {ErrorCode::kMalformed, ErrorCode::kRefused, ErrorCode::kNotFound, ErrorCode::kConflict,
                               ErrorCode::kForbidden, ErrorCode::kInternal}) {
    World world;
    world.store.fail_on("bad", code);
    world.hold();
    for (const char* label : {"a", "bad"}) world.settle(label[0], 1, label);
    world.finish();

    EXPECT_EQ(world.answers.only("a"), "ok");
    EXPECT_EQ(world.answers.only("bad"), std::string(to_string(code)) + ": because of bad");
  }
}

TEST(Combiner, AStoreThatIsAwayFailsAllItemsOfTheCallAndNoOthers) {
  World world({.max_batch = 3});
  world.store.fail_on("b", ErrorCode::kUnavailable);
  world.hold();
  for (const char* label : {"a", "b", "c", "d"}) world.submit(label);
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit a b c: unavailable", "submit d"));
  for (const char* label : {"a", "b", "c"}) EXPECT_EQ(world.answers.only(label), "unavailable: because of b");
  EXPECT_EQ(world.answers.only("d"), "ok");
}

TEST(Combiner, ALimitOfTheStoreIsNotHalved) {
  World world;
  world.store.fail_on("b", ErrorCode::kOverLimit);
  world.hold();
  for (const char* label : {"a", "b"}) world.submit(label);
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit a b: over_limit"));
  EXPECT_EQ(world.answers.only("a"), "over_limit: because of b");
}

TEST(Combiner, AStoreThatGoesAwayDuringTheHalvingFailsOnlyThatHalf) {
  World world;
  world.store.fail_on("a", ErrorCode::kRefused);  // found first
  world.store.fail_on("d", ErrorCode::kUnavailable);
  world.hold();
  for (const char* label : {"a", "b", "c", "d"}) world.submit(label);
  world.finish();

  EXPECT_THAT(world.calls(), ElementsAre("submit a b c d: refused", "submit a b: refused", "submit a: refused",
                                         "submit b", "submit c d: unavailable"));
  EXPECT_EQ(world.answers.only("b"), "ok");
  EXPECT_EQ(world.answers.only("c"), "unavailable: because of d");
}

RC_GTEST_PROP(Combiner, FailsExactlyTheBadItemsAndCommitsTheOthersOnce, ()) {
  World world;
  const auto bad = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
  world.hold();
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::string label = "s" + std::to_string(i);
    if (bad[i]) world.store.fail_on(label, ErrorCode::kRefused);
    world.submit(label);
  }
  world.finish();

  std::map<std::string, int> committed;
  for (const std::string& call : world.calls()) {
    if (call.find(':') != std::string::npos) continue;
    for (const std::string& word : words_of(call)) ++committed[word];
  }
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::string label = "s" + std::to_string(i);
    RC_ASSERT(world.answers.only(label) == (bad[i] ? "refused: because of " + label : "ok"));
    RC_ASSERT(committed[label] == (bad[i] ? 0 : 1));
  }
}

// ---- Settlements and a claim of one caller ----

std::string text_of(const Exchanged& exchanged) {
  std::string text;
  for (const auto& each : exchanged.settled) text += each.ok() ? "settled " : each.error().message + " ";
  if (!exchanged.leased.ok()) return text + exchanged.leased.error().message;
  for (const LeasedTask& task : exchanged.leased->tasks) text += "leased " + task.queue;
  return text;
}

// An exchange whose answer is kept as text.
struct Asked {
  Asked(World& world, std::vector<Settlement> settlements, const std::string& claim) {
    world.combiner.exchange(std::move(settlements), claim_wish(claim),
                            [this](const Exchanged& exchanged) { answers.push_back(text_of(exchanged)); });
  }
  std::vector<std::string> answers;  // to be read when the combiner has stopped
};

TEST(Combiner, ExchangesInOneCommitWithAllThatWaits) {
  World world;
  world.hold();
  world.submit("a");
  const Asked asked(world, {settlement(1, 1, "x"), settlement(2, 1, "y")}, "w");
  world.finish();
  EXPECT_THAT(world.calls(), ElementsAre("exchange settle x y submit a claim w"));
  EXPECT_THAT(asked.answers, ElementsAre("settled settled leased w"));
}

TEST(Combiner, ExchangesWithoutSettlements) {
  World world;
  world.hold();
  const Asked asked(world, {}, "w");
  world.finish();
  EXPECT_THAT(asked.answers, ElementsAre("leased w"));
}

TEST(Combiner, LosesNoSettlementWhenTheClaimOfAnExchangeFails) {
  World world;
  world.store.fail_on("w", ErrorCode::kRefused);
  world.hold();
  const Asked asked(world, {settlement(1, 1, "x")}, "w");
  world.finish();
  EXPECT_THAT(world.calls(), ElementsAre("exchange settle x claim w: refused", "settle x", "claim w: refused"));
  EXPECT_THAT(asked.answers, ElementsAre("settled because of w"));
}

TEST(Combiner, RefusesAnExchangeAsAWholeBeyondTheLimit) {
  World world({.max_pending = 2});
  world.hold();
  const Asked asked(world, {settlement(1, 1, "x")}, "w");
  ASSERT_EQ(asked.answers.size(), 1U);
  world.finish();
  EXPECT_THAT(world.calls(), IsEmpty());
}

}  // namespace
}  // namespace horae
