// What workers really send shares one round trip and one commit: tokens of their own, scopes, several queues, many
// workers at once, heartbeats beside completions, a part of what they hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/queue_scope.h"
#include "stores/postgres/tasks/round_trips.h"

namespace horae::postgres {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using std::literals::operator""h;

class RealWorkers : public RoundTrips {
 protected:
  // As a worker wishes: under a token that serves once.
  ClaimWish own(int max, const std::string& owner = "worker-1", std::vector<std::string> queues = {"work"}) {
    return {.owner = owner, .queues = std::move(queues), .max = max, .token = ids_.next(), .once = true};
  }

  std::vector<ClaimOutcome> claim_all(const std::vector<ClaimWish>& wishes) {
    return node_.claimer.claim(wishes).value();
  }

  static std::vector<LeasedTask> some(const std::vector<LeasedTask>& leases, int first, int end) {
    return {leases.begin() + first, leases.begin() + end};
  }

  static std::vector<Settlement> beats(const std::vector<LeasedTask>& leases) {
    auto batch = completions(leases);
    for (Settlement& said : batch) {
      said.event = Event::kHeartbeat;
      said.result.reset();
    }
    return batch;
  }

  std::string commits_since(const std::string& number) {
    return ask(
        "select count(distinct xmin::text) from (select xmin, lo from finished union all select xmin, lo from running"
        " union all select xmin, number from task) as t where lo >= " +
        number);
  }

  // How many lines of the server's log say ERROR.
  std::string server_errors() {
    std::ifstream log(std::filesystem::path(ask("show data_directory")).parent_path() / "log");
    EXPECT_TRUE(log.is_open());
    long lines = 0;
    for (std::string line; std::getline(log, line);) lines += line.find("ERROR:") != std::string::npos;
    return std::to_string(lines);
  }

  // The worker's token may see only these queues.
  static void restrict_to(std::vector<Settlement>& batch, const std::string& pattern) {
    const auto scope = std::make_shared<const QueueScope>(QueueScope::of({pattern}).value());
    for (Settlement& said : batch) said.scope = scope;
  }
};

TEST_F(RealWorkers, ClaimWithTheirOwnTokensInOneTrip) {
  submit(8);
  std::vector<ClaimOutcome> claimed;
  EXPECT_EQ(trips_of([&] { claimed = claim_all({own(4)}); }), 1U);
  EXPECT_THAT(claimed.at(0).tasks, SizeIs(4));
  EXPECT_EQ(trips_of([&] { claimed = claim_all({own(2), own(2, "worker-2")}); }), 1U);
  EXPECT_THAT(tasks_of(claimed), ElementsAre(SizeIs(2), SizeIs(2)));
  EXPECT_EQ(ask("select count(*) from claim_token"), "3");
}

TEST_F(RealWorkers, ExchangeWithTheirOwnTokensAndAScopeInOneTrip) {
  auto done = completions(submit_and_claim(kMany));
  restrict_to(done, "wo*");
  const auto fresh = submissions(kMany);
  BundleOutcome outcome;
  EXPECT_EQ(trips_of([&] { outcome = exchange(done, fresh, {own(kMany)}); }), 1U);
  expect_accepted(outcome.settled, kMany);
  EXPECT_THAT(outcome.leased.at(0).tasks, SizeIs(kMany));
}

TEST_F(RealWorkers, OutsideOfTheScopeOfATokenNothingIsFound) {
  auto done = completions(submit_and_claim(4));
  restrict_to(done, "other");
  EXPECT_THAT(settle(done), Each(Field(&SettleOutcome::verdict, Verdict::kNotFound)));
  EXPECT_EQ(left(), "4");
}

TEST_F(RealWorkers, ClaimFromSeveralQueuesInOneTrip) {
  submit(8);
  submit(8, {.queue = "other"});
  std::vector<ClaimOutcome> claimed;
  EXPECT_EQ(trips_of([&] { claimed = claim_all({own(16, "worker-1", {"work", "other"})}); }), 1U);
  ASSERT_THAT(claimed.at(0).tasks, SizeIs(16));
  EXPECT_TRUE(std::ranges::is_sorted(claimed[0].tasks, std::greater<>(), &LeasedTask::priority)) << "most urgent first";
}

TEST_F(RealWorkers, ManyOfThemShareOneTripAndOneCommit) {
  constexpr int kWorkers = 256;
  std::vector<ClaimWish> wishes;
  for (int i = 0; i < kWorkers; ++i) wishes.push_back(own(1, "worker-" + std::to_string(i)));
  const auto fresh = submissions(kWorkers);
  BundleOutcome outcome;
  EXPECT_EQ(trips_of([&] { outcome = exchange({}, fresh, wishes); }), 1U);
  EXPECT_THAT(outcome.leased, Each(Field(&ClaimOutcome::tasks, SizeIs(1))));
  std::vector<Settlement> done;
  std::set<std::int64_t> numbers;
  for (int i = 0; i < kWorkers; ++i) {
    const LeasedTask& task = outcome.leased[static_cast<std::size_t>(i)].tasks.at(0);
    done.push_back(completions({task})[0]);
    done.back().owner = wishes[static_cast<std::size_t>(i)].owner;
    numbers.insert(task.number);
  }
  EXPECT_THAT(numbers, SizeIs(kWorkers));
  const std::string first = std::to_string(*numbers.begin());
  EXPECT_EQ(trips_of([&] { outcome = exchange(done, submissions(kWorkers), {own(kWorkers)}); }), 1U);
  expect_accepted(outcome.settled, kWorkers);
  EXPECT_THAT(outcome.leased.at(0).tasks, SizeIs(kWorkers));
  EXPECT_EQ(commits_since(first), "2");
}

TEST_F(RealWorkers, AreServedInTheirOrderWhereTheyCompete) {
  submit(2);
  submit(1, {.queue = "other"});
  const auto claimed = claim_all({own(1), own(5, "worker-2", {"other", "work"}), own(5, "worker-3")});
  EXPECT_THAT(tasks_of(claimed), ElementsAre(SizeIs(1), SizeIs(2), IsEmpty()));
  EXPECT_EQ(claimed[0].tasks[0].priority, 1);
}

TEST_F(RealWorkers, AreServedInTheirOrderAlsoWhereTheFirstNeedsManyRanges) {
  for (int i = 0; i < 12; ++i) submit(1);  // each a range of its own
  const auto claimed = claim_all({own(10, "worker-1", {"other", "work"}), own(10, "worker-2")});
  EXPECT_THAT(tasks_of(claimed), ElementsAre(SizeIs(10), SizeIs(2)));
}

TEST_F(RealWorkers, AreServedInTheirOrderAlsoAroundARepeatedToken) {
  submit(1);
  const ClaimWish in_vain = own(1, "worker-1", {"other"});
  ClaimWish again = in_vain;
  again.queues = {"work"};
  const auto claimed = claim_all({in_vain, again, own(1, "worker-2")});
  EXPECT_THAT(tasks_of(claimed), ElementsAre(IsEmpty(), SizeIs(1), IsEmpty()));
}

TEST_F(RealWorkers, BeatForWhatTheyHoldBesideWhatTheyComplete) {
  submit(1);
  const auto slow = claim(1);
  const auto quick = submit_and_claim(8);
  auto batch = completions(quick);
  batch.push_back(beats(slow)[0]);
  batch.back().progress = 0.5;
  ask("update running set expires = expires - interval '5 s'");
  BundleOutcome outcome;
  EXPECT_EQ(trips_of([&] { outcome = exchange(batch, submissions(4), {own(4)}); }), 1U);
  EXPECT_THAT(outcome.settled, Each(Field(&SettleOutcome::verdict, Verdict::kAccepted)));
  EXPECT_EQ(outcome.settled.back().state, State::kRunning);
  ASSERT_TRUE(outcome.settled.back().lease_expires);
  EXPECT_EQ(ask("select progress from progress"), "0.5");
  EXPECT_EQ(
      ask("select (expires > now() + interval '8 s')::text from running where lo = " + std::to_string(slow[0].number)),
      "true");
}

TEST_F(RealWorkers, SettleAPartOfTheirTasksInOneTrip) {
  const auto leases = submit_and_claim(kMany);
  auto first = completions(some(leases, 0, 30));
  std::vector<SettleOutcome> outcomes;
  EXPECT_EQ(trips_of([&] { outcomes = settle(first); }), 1U);
  expect_accepted(outcomes, 30);
  EXPECT_EQ(ask("select sum(hi - lo + 1) from running"), std::to_string(kMany - 30));
  auto second = completions(some(leases, 30, 60));
  for (const Settlement& beat : beats(some(leases, 60, kMany))) second.push_back(beat);
  EXPECT_EQ(trips_of([&] { outcomes = settle(second); }), 1U);
  EXPECT_THAT(outcomes, Each(Field(&SettleOutcome::verdict, Verdict::kAccepted)));
  const auto rest = completions(some(leases, 60, kMany));
  EXPECT_EQ(trips_of([&] { expect_accepted(settle(rest), rest.size()); }), 1U) << "the parts are known";
  EXPECT_EQ(left(), "0");
  EXPECT_EQ(ask("select sum(n) from tally where state = 3"), std::to_string(kMany + 3));
  EXPECT_EQ(ask("select sum(hi - lo + 1) from finished"), std::to_string(kMany + 3));
}

TEST_F(RealWorkers, BringLargeResultsInOneTrip) {
  const auto leases = submit_and_claim(3, {.queue = "work"});
  auto done = completions(leases);
  done[1].result = '"' + std::string(5000, 'x') + '"';
  EXPECT_EQ(trips_of([&] { expect_accepted(settle(done), 3); }), 1U);
  EXPECT_EQ(ask("select max(length(results[1])) from finished"), "5002");
}

// The commit is one, though what happens to a failed task has to be looked up.
TEST_F(RealWorkers, FailuresShareTheCommit) {
  auto batch = completions(submit_and_claim(4));
  batch[0].event = Event::kAbort;
  batch[0].errors = {{"boom", "", ""}};
  const auto outcome = exchange(batch, submissions(4), {own(4)});
  EXPECT_EQ(outcome.settled.at(0).state, State::kAborted);
  EXPECT_THAT(outcome.leased.at(0).tasks, SizeIs(4));
  EXPECT_EQ(commits_since(std::to_string(batch[3].number)), "2") << "the submit, and all that followed";
}

TEST_F(RealWorkers, GetWhatIsYieldedWithTheirClaimAlsoIfItWasMoreUrgentThanAllThatIsReady) {
  submit(4);
  const auto leases = claim(2);
  (void)claim(1);  // the floor is that of the third
  auto batch = completions(leases);
  batch[0].event = Event::kYield;
  batch[1].event = Event::kYield;
  const auto outcome = exchange(batch, {}, {own(1, "worker-2", {"other", "work"})});
  ASSERT_THAT(outcome.leased.at(0).tasks, SizeIs(1));
  EXPECT_EQ(outcome.leased[0].tasks[0].number, leases[0].number);
}

TEST_F(RealWorkers, AskInVainWithoutATransactionId) {
  const std::string before = ask("select txid_snapshot_xmax(txid_current_snapshot())");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(trips_of([&] { EXPECT_THAT(claim_all({own(4)}).at(0).tasks, IsEmpty()); }), 1U);
    EXPECT_EQ(trips_of([&] { EXPECT_THAT(claim_all({own(4), own(1, "w")}).at(1).tasks, IsEmpty()); }), 1U);
  }
  EXPECT_EQ(ask("select txid_snapshot_xmax(txid_current_snapshot())"), before);
  EXPECT_EQ(ask("select count(*) from claim_token"), "0");
}

// What happens to leases meanwhile is no error of the server: its log is the operator's.
TEST_F(RealWorkers, CauseNoErrorOfTheServer) {
  const std::string before = server_errors();
  CountedNode other(url());
  const auto leases = submit_and_claim(8);
  (void)other.settler.settle(std::vector{completions(leases)[0]}).value();  // at another node: the lease is cut
  submit(4);
  auto outcome = exchange(completions(leases), submissions(2), {own(4)});
  EXPECT_EQ(outcome.settled.at(0).verdict, Verdict::kRepeated);
  EXPECT_EQ(outcome.settled.at(1).verdict, Verdict::kAccepted);
  EXPECT_THAT(outcome.leased.at(0).tasks, SizeIs(4));

  const auto beaten = beats(outcome.leased[0].tasks);
  (void)other.settler.settle(completions(outcome.leased[0].tasks)).value();
  EXPECT_THAT(settle(beaten), Each(Field(&SettleOutcome::verdict, Verdict::kWrongState)));
  ask("update queue set paused = true");
  EXPECT_THAT(claim_all({own(1), own(1, "worker-2")}).at(0).tasks, IsEmpty());
  ask("update queue set paused = false");
  const ClaimWish twice = own(1);
  EXPECT_THAT(tasks_of(claim_all({twice, twice})), ElementsAre(SizeIs(1), SizeIs(1)));
  EXPECT_EQ(server_errors(), before);
}

// The claim is put off until the settlements are done that came before it.
TEST_F(RealWorkers, ClaimAfterASettlementWhoseLeaseHadChanged) {
  const auto leases = submit_and_claim(1);
  auto yield = completions(leases);
  yield[0].event = Event::kYield;
  CountedNode other(url());
  (void)other.settler.settle(yield).value();
  const auto outcome = exchange(completions(leases), submissions(1), {own(2, "worker-2")});
  EXPECT_EQ(outcome.settled.at(0).verdict, Verdict::kWrongState) << "no other attempt has begun by then";
  EXPECT_THAT(outcome.leased.at(0).tasks, SizeIs(2));
}

TEST_F(RealWorkers, RepeatTheirTokenInALargerCall) {
  submit(8);
  const ClaimWish first = own(4);
  const auto held = claim_all({first}).at(0).tasks;
  const auto again = claim_all({own(2, "worker-2"), first});
  EXPECT_THAT(again.at(0).tasks, SizeIs(2));
  EXPECT_EQ(again.at(1).kind, ClaimOutcome::Kind::kRepeated);
  EXPECT_THAT(again.at(1).tasks, SizeIs(4));
}

}  // namespace
}  // namespace horae::postgres
