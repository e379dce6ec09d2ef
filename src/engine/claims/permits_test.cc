#include "engine/claims/permits.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

namespace horae {
namespace {

ClaimWish wish(std::vector<std::string> queues, int max = 1) {
  return {.owner = "worker-1", .queues = std::move(queues), .max = max};
}

ClaimOutcome got(const std::vector<std::string>& queues, std::size_t bytes = 1) {
  ClaimOutcome outcome;
  for (const std::string& queue : queues) outcome.tasks.push_back({.queue = queue, .spec = std::string(bytes, 'x')});
  return outcome;
}

// Permits of which a claim has proved that these queues are empty.
Permits of_empty(const std::vector<std::string>& queues) {
  Permits permits;
  const ClaimWish all = wish(queues);
  permits.note_outcome(permits.take(all), all, {});
  return permits;
}

// How many claims of one task each are worth sending at once.
int claims_of(Permits& permits, const std::string& queue) {
  int claims = 0;
  for (; permits.has_work(queue); ++claims) (void)permits.take(wish({queue}));
  return claims;
}

TEST(Permits, AnUnknownQueueIsWorthOneClaim) {
  Permits permits;
  EXPECT_EQ(claims_of(permits, "a"), 1);
}

TEST(Permits, AnEmptyQueueIsWorthNone) {
  Permits permits = of_empty({"a", "b"});
  EXPECT_FALSE(permits.has_work("a"));
  EXPECT_FALSE(permits.has_work(wish({"a", "b"})));
}

TEST(Permits, AnnouncedTasksAreWorthAsManyClaims) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 2);
  permits.announce("a", 1);
  EXPECT_EQ(claims_of(permits, "a"), 3);
}

TEST(Permits, AClaimTakesNoMoreThanItMayLease) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 5);
  (void)permits.take(wish({"a"}, 3));
  EXPECT_EQ(claims_of(permits, "a"), 2);
}

TEST(Permits, AClaimTakesThoseOfSeveralQueues) {
  Permits permits = of_empty({"a", "b", "c"});
  for (const char* queue : {"a", "b", "c"}) permits.announce(queue, 2);
  (void)permits.take(wish({"a", "b", "c"}, 3));
  EXPECT_EQ(claims_of(permits, "a"), 0);
  EXPECT_EQ(claims_of(permits, "b"), 1);
  EXPECT_EQ(claims_of(permits, "c"), 2);
}

TEST(Permits, AHintIsWorthOneClaimAndRepeatsWhileClaimsComeBackFull) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 0);
  const ClaimWish claim = wish({"a"}, 2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(permits.has_work("a"));
    const auto grant = permits.take(claim);
    EXPECT_FALSE(permits.has_work("a")) << "one at a time";
    permits.note_outcome(grant, claim, got({"a", "a"}));
  }
  permits.note_outcome(permits.take(claim), claim, got({"a"}));
  EXPECT_FALSE(permits.has_work("a"));
}

TEST(Permits, AFullClaimOfCountedTasksIsNoHint) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 1);
  const ClaimWish claim = wish({"a"});
  permits.note_outcome(permits.take(claim), claim, got({"a"}));
  EXPECT_FALSE(permits.has_work("a"));
}

TEST(Permits, ComeBackFromAFailedClaim) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 2);
  permits.note_failure(permits.take(wish({"a"}, 2)));
  EXPECT_EQ(claims_of(permits, "a"), 2);

  Permits hinted = of_empty({"a"});
  hinted.announce("a", 0);
  hinted.note_failure(hinted.take(wish({"a"})));
  EXPECT_EQ(claims_of(hinted, "a"), 1);
}

TEST(Permits, ComeBackFromAClaimThatGotATaskOfAnotherQueue) {
  Permits permits = of_empty({"a", "b"});
  permits.announce("a", 1);
  permits.announce("b", 1);
  const ClaimWish claim = wish({"a", "b"});
  permits.note_outcome(permits.take(claim), claim, got({"b"}));
  EXPECT_EQ(claims_of(permits, "a"), 1);
  EXPECT_EQ(claims_of(permits, "b"), 1) << "the task may be one that another node made ready";
}

TEST(Permits, AreGoneWhenTheQueueProvesEmpty) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 3);
  const ClaimWish claim = wish({"a"});
  permits.note_outcome(permits.take(claim), claim, {});
  EXPECT_FALSE(permits.has_work("a")) << "another node took them";
}

TEST(Permits, OfTasksThatCameDuringTheClaimStay) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 3);
  const ClaimWish claim = wish({"a"});
  const auto grant = permits.take(claim);
  permits.announce("a", 2);
  permits.announce("a", 0);
  permits.note_outcome(grant, claim, {});
  EXPECT_EQ(claims_of(permits, "a"), 2) << "the hint goes with the first of them";
}

TEST(Permits, AnAnswerThatIsFullOfBytesProvesNothing) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 10);
  const ClaimWish claim = wish({"a"}, 10);
  permits.note_outcome(permits.take(claim), claim, got(std::vector<std::string>(8, "a"), kMaxSpecBytes));
  EXPECT_EQ(claims_of(permits, "a"), 2);
}

TEST(Permits, ARepeatedTokenProvesNothing) {
  Permits permits = of_empty({"a"});
  permits.announce("a", 1);
  const ClaimWish claim = wish({"a"}, 2);
  ClaimOutcome repeated = got({"a"});
  repeated.kind = ClaimOutcome::Kind::kRepeated;
  permits.note_outcome(permits.take(claim), claim, repeated);
  EXPECT_EQ(claims_of(permits, "a"), 1);
}

TEST(Permits, AreForgottenWithTooManyQueues) {
  Permits permits;
  for (std::size_t i = 0; i < kMaxPermitQueues; ++i) {
    const ClaimWish claim = wish({std::to_string(i)});
    permits.note_outcome(permits.take(claim), claim, {});
  }
  EXPECT_FALSE(permits.has_work("0"));
  (void)permits.take(wish({"one more"}));
  EXPECT_TRUE(permits.has_work("0")) << "it is asked for once more";
}

// The store of the property below: ready tasks by queue.
using Ready = std::map<std::string, std::size_t>;

ClaimOutcome claim_from(Ready& ready, const ClaimWish& claim) {
  ClaimOutcome outcome;
  for (const std::string& queue : claim.queues) {
    while (ready[queue] > 0 && outcome.tasks.size() < static_cast<std::size_t>(claim.max)) {
      --ready[queue];
      outcome.tasks.push_back({.queue = queue, .spec = "{}"});
    }
  }
  return outcome;
}

// However announcements, claims, failures and other nodes interleave: at rest, a ready task has a permit or a hint.
RC_GTEST_PROP(Permits, NoReadyTaskIsForgotten, ()) {
  Permits permits = of_empty({"a", "b"});
  Ready ready;
  struct UnderWay {
    ClaimWish claim;
    Permits::Grant grant;
    std::optional<ClaimOutcome> outcome;
  };
  std::deque<UnderWay> under_way;
  const auto answer = [&](UnderWay each) {
    if (!each.outcome && *rc::gen::arbitrary<bool>()) return permits.note_failure(each.grant);
    if (!each.outcome) each.outcome = claim_from(ready, each.claim);
    permits.note_outcome(each.grant, each.claim, *each.outcome);
  };
  for (int step = 0; step < 40; ++step) {
    const std::string queue = *rc::gen::element<std::string>("a", "b");
    switch (*rc::gen::inRange(0, 5)) {
      case 0: {
        const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 4));
        ready[queue] += count;
        permits.announce(queue, count);
        break;
      }
      case 1:  // another node
        if (ready[queue] > 0) --ready[queue];
        break;
      case 2: {
        using Names = std::vector<std::string>;
        const auto queues = *rc::gen::element(Names{"a"}, Names{"b"}, Names{"a", "b"}, Names{"b", "a"});
        const ClaimWish claim = wish(queues, *rc::gen::inRange(1, 4));
        under_way.push_back({claim, permits.take(claim), {}});
        break;
      }
      case 3:  // the store does it, and the answer comes later
        if (!under_way.empty() && !under_way.back().outcome) {
          under_way.back().outcome = claim_from(ready, under_way.back().claim);
        }
        break;
      default:
        if (under_way.empty()) break;
        UnderWay first = std::move(under_way.front());
        under_way.pop_front();
        answer(std::move(first));
    }
  }
  for (UnderWay& each : under_way) answer(std::move(each));
  for (const auto& [queue, count] : ready) RC_ASSERT(count == 0 || permits.has_work(queue));
}

}  // namespace
}  // namespace horae
