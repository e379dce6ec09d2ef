// For each rule a small history that breaks it, and one history that keeps them all.
#include "tests/sim/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace horae::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

const Instant kBegin{1'800'000'000s};
constexpr Duration kLease = 10s;

TaskId id_of(int number) {
  TaskId id;
  id.bytes[15] = static_cast<std::uint8_t>(number);
  return id;
}

// Builds a history, record by record. Times are relative to kBegin.
class Scenario {
 public:
  Scenario() {
    history.ending.at = kBegin + 1000s;
    history.node_slots = 1;
  }

  Scenario& at(std::chrono::milliseconds time) {
    now_ = kBegin + time;
    return *this;
  }
  Scenario& add(What what, int node = 0) {
    history.records.push_back({now_, node, std::move(what)});
    return *this;
  }
  Scenario& submit(int number, NewTask wish = {}) {
    wish.queue = "q";
    const bool later = wish.run_at && *wish.run_at > now_;
    return add(Submitted{.task = id_of(number),
                         .number = number,
                         .intent = number,
                         .wish = wish,
                         .state = later ? State::kScheduled : State::kReady});
  }
  Scenario& claim(int number, int attempt = 1, const std::string& owner = "worker-1") {
    claimed_[{number, attempt}] = now_;
    return add(Claimed{id_of(number), attempt, owner, kLease, std::nullopt});
  }
  Scenario& settle(Event event, int number, int attempt = 1, const std::string& owner = "worker-1",
                   Verdict verdict = Verdict::kAccepted, std::optional<State> state = std::nullopt) {
    const State usual = event == Event::kComplete ? State::kCompleted
                        : event == Event::kAbort  ? State::kAborted
                        : event == Event::kYield  ? State::kReady
                                                  : State::kRunning;
    return add(Settled{.event = event,
                       .task = id_of(number),
                       .attempt = attempt,
                       .owner = owner,
                       .lease = kLease,
                       .verdict = verdict,
                       .state = state.value_or(usual)});
  }
  Scenario& expire(int number, int attempt = 1, State state = State::kReady) {
    return add(Expired{id_of(number), attempt, "worker-1", state});
  }
  Scenario& phase(Phase::Kind kind) { return add(Phase{kind}); }

  // Adds a task to the final state of the store.
  Scenario& end(int number, State state, int attempt, std::vector<HistoryKind> trail = {}, int tries = 0) {
    Task task;
    task.id = id_of(number);
    task.number = number;
    task.queue = "q";
    task.state = state;
    task.attempt = attempt;
    task.tries = tries;
    for (int i = 1; i <= attempt; ++i) {
      task.history.append({.kind = HistoryKind::kAssignment, .time = claimed_[{number, i}], .attempt = i});
    }
    for (const HistoryKind kind : trail) task.history.append({.kind = kind, .time = now_, .attempt = 1});
    history.ending.tasks.push_back(task);
    return *this;
  }

  std::vector<Violation> check() const { return sim::check(history); }

  History history;

 private:
  Instant now_ = kBegin;
  std::map<std::pair<int, int>, Instant> claimed_;  // by number and attempt
};

auto Violates(const std::string& rule) { return Contains(Field(&Violation::rule, rule)); }

TEST(Checker, AcceptsACorrectHistory) {
  Scenario scenario;
  scenario.submit(1).add(Acknowledged{id_of(1)});
  scenario.at(1s).claim(1).at(4s).settle(Event::kHeartbeat, 1).at(15s).expire(1);
  scenario.at(16s).claim(1, 2, "worker-2").settle(Event::kComplete, 1, 1, "worker-1", Verdict::kStaleAttempt);
  scenario.at(17s)
      .settle(Event::kComplete, 1, 2, "worker-2")
      .settle(Event::kComplete, 1, 2, "worker-2", Verdict::kRepeated);
  scenario.end(1, State::kCompleted, 2, {HistoryKind::kTimeout, HistoryKind::kLateResult}, 1);
  scenario.history.ending.queues = {{.name = "q", .completed = 1}};
  for (const Violation& each : scenario.check()) ADD_FAILURE() << each.rule << ": " << each.text;
}

TEST(Checker, FindsALostAcknowledgedEnd) {
  Scenario scenario;
  scenario.submit(1).claim(1);
  EXPECT_THAT(Scenario(scenario).add(EndAcknowledged{id_of(1), 1}).check(), Violates("lost"));
  EXPECT_THAT(Scenario(scenario).settle(Event::kComplete, 1).add(EndAcknowledged{id_of(1), 1}).check(),
              ::testing::Not(Violates("lost")));
}

TEST(Checker, FindsALostAcknowledgedTask) {
  EXPECT_THAT(Scenario().add(Acknowledged{id_of(1)}).check(), Violates("lost"));
  EXPECT_THAT(Scenario().submit(1).add(Acknowledged{id_of(1)}).check(), Violates("lost"));
}

TEST(Checker, FindsASubmitThatMadeTwoTasks) {
  Scenario scenario;
  scenario.submit(1).add(Submitted{.task = id_of(2), .number = 2, .intent = 1, .wish = {.queue = "q"}});
  EXPECT_THAT(scenario.end(1, State::kReady, 0).end(2, State::kReady, 0).check(), Violates("doubled"));
}

TEST(Checker, FindsAnAcceptedStaleSettlement) {
  Scenario scenario;
  scenario.submit(1).claim(1).at(11s).expire(1).claim(1, 2, "worker-2").settle(Event::kComplete, 1);
  EXPECT_THAT(scenario.check(), Violates("stale"));
}

TEST(Checker, FindsARepetitionOfNothing) {
  EXPECT_THAT(Scenario().submit(1).settle(Event::kComplete, 1, 1, "worker-1", Verdict::kRepeated).check(),
              Violates("stale"));
}

TEST(Checker, FindsARefusedOwner) {
  Scenario scenario;
  scenario.submit(1).claim(1).settle(Event::kComplete, 1, 1, "worker-1", Verdict::kStaleAttempt);
  EXPECT_THAT(scenario.check(), Violates("refused"));
}

TEST(Checker, FindsAReleasedAttemptThatItsWorkerHasBegun) {
  Scenario scenario;
  scenario.submit(1).claim(1);
  EXPECT_THAT(Scenario(scenario).settle(Event::kRelease, 1, 1, "worker-1", Verdict::kAccepted, State::kReady).check(),
              Not(Violates("taken")));
  scenario.add(WorkBegins{id_of(1), 1}).settle(Event::kRelease, 1, 1, "worker-1", Verdict::kAccepted, State::kReady);
  EXPECT_THAT(scenario.check(), Violates("taken"));
}

TEST(Checker, FindsAnOverwrittenCancel) {
  Scenario scenario;
  scenario.submit(1).claim(1).add(Cancelled{id_of(1), Verdict::kAccepted}).settle(Event::kComplete, 1);
  EXPECT_THAT(scenario.check(), Violates("final"));
}

TEST(Checker, FindsAnExpiryOfAFinishedTask) {
  EXPECT_THAT(Scenario().submit(1).claim(1).settle(Event::kComplete, 1).at(11s).expire(1).check(), Violates("final"));
}

TEST(Checker, FindsTwoLeasesOfOneTask) {
  EXPECT_THAT(Scenario().submit(1).claim(1).claim(1, 2, "worker-2").check(), Violates("overlap"));
}

TEST(Checker, FindsAnAttemptHandedOutTwice) {
  Scenario scenario;
  scenario.submit(1).claim(1).settle(Event::kYield, 1).claim(1, 1, "worker-2");
  EXPECT_THAT(scenario.check(), Violates("doubled"));
}

TEST(Checker, FindsALeaseThatExpiresTooEarly) {
  Scenario scenario;
  scenario.submit(1).claim(1).at(5s).settle(Event::kHeartbeat, 1).at(12s).expire(1);
  EXPECT_THAT(scenario.check(), Violates("early"));
}

TEST(Checker, FindsATaskPromotedBeforeItIsDue) {
  Scenario scenario;
  scenario.submit(1, {.run_at = kBegin + 10s});
  EXPECT_THAT(Scenario(scenario).at(9s).claim(1).check(), Violates("early"));
  EXPECT_THAT(Scenario(scenario).at(9s).add(Promoted{1, 1000}).check(), Violates("early"));
}

TEST(Checker, FindsDueTasksThatStayScheduled) {
  EXPECT_THAT(Scenario().submit(1, {.run_at = kBegin + 10s}).at(10s).add(Promoted{0, 1000}).check(), Violates("due"));
}

TEST(Checker, FindsAnExpiryCausedByAnOutage) {
  Scenario scenario;
  scenario.submit(1).claim(1).at(2s).add(StoreOutage{true}).at(32s).add(StoreOutage{false});
  EXPECT_THAT(Scenario(scenario).expire(1).check(), Violates("outage"));
  const auto extended = Scenario(scenario).add(Extended{}).at(43s).expire(1).check();
  EXPECT_THAT(extended, ::testing::Not(Violates("outage")));
}

TEST(Checker, JudgesAnOutageByTheLengthOfTheLease) {
  Scenario scenario;
  scenario.submit(1).claim(1).at(1s).add(StoreOutage{true}).at(4s).add(StoreOutage{false}).at(11s).expire(1);
  EXPECT_THAT(scenario.check(), ::testing::Not(Violates("outage"))) << "less than a third of the lease";
  Scenario longer;
  longer.submit(1).claim(1).at(1s).add(StoreOutage{true}).at(4'500ms).add(StoreOutage{false}).at(11s).expire(1);
  EXPECT_THAT(longer.check(), Violates("outage"));
}

TEST(Checker, FindsAHistoryThatIsDatedWrongly) {
  Scenario scenario;
  scenario.submit(1).at(5s).claim(1).at(7s).settle(Event::kYield, 1).end(1, State::kReady, 1, {HistoryKind::kYield});
  EXPECT_THAT(scenario.check(), ::testing::Not(Violates("times")));
  auto entries = scenario.history.ending.tasks[0].history;
  Scenario early = scenario;
  early.history.ending.tasks[0].history = decltype(entries)();
  for (HistoryEntry entry : entries.entries()) {
    if (entry.kind == HistoryKind::kAssignment) entry.time -= 1s;
    early.history.ending.tasks[0].history.append(entry);
  }
  EXPECT_THAT(early.check(), Violates("times"));
}

TEST(Checker, FindsTriesThatDoNotCount) {
  EXPECT_THAT(Scenario().submit(1, {.max_attempts = 1}).claim(1).at(11s).expire(1).check(), Violates("tries"));
}

TEST(Checker, FindsAClaimFromAPausedQueue) {
  Scenario scenario;
  scenario.submit(1).add(QueueSet{"q", {.paused = true}}).claim(1);
  EXPECT_THAT(scenario.check(), Violates("paused"));
}

TEST(Checker, FindsAClaimOutOfRankOrder) {
  Scenario scenario;
  scenario.submit(1, {.priority = 60}).submit(2, {.priority = 50}).claim(2);
  EXPECT_THAT(scenario.check(), Violates("order"));
  EXPECT_THAT(scenario.check(), ::testing::Not(Violates("ageing")));
}

TEST(Checker, FindsAStarvedTask) {
  Scenario scenario;
  scenario.submit(1, {.priority = 55}).at(200s).submit(2, {.priority = 255}).claim(2);
  EXPECT_THAT(scenario.check(), Violates("ageing"));
}

TEST(Checker, FindsARecurrenceThatEnds) {
  EXPECT_THAT(Scenario().submit(1, {.recurring = 5s}).claim(1).settle(Event::kComplete, 1).check(),
              Violates("recurrence"));
}

TEST(Checker, FindsATurnAtTheWrongTime) {
  Scenario scenario;
  scenario.submit(1, {.recurring = 5s}).claim(1);
  scenario.settle(Event::kComplete, 1, 1, "worker-1", Verdict::kAccepted, State::kScheduled)
      .at(4s)
      .add(Promoted{1, 1000});
  EXPECT_THAT(scenario.check(), Violates("early"));
}

TEST(Checker, FindsATaskThatNeverEnds) {
  EXPECT_THAT(Scenario().submit(1).phase(Phase::Kind::kEnd).end(1, State::kReady, 0).check(), Violates("unfinished"));
}

TEST(Checker, FindsALeaseLostWithoutAnyFault) {
  EXPECT_THAT(Scenario().phase(Phase::Kind::kCalm).submit(1).claim(1).at(11s).expire(1).check(), Violates("calm"));
}

TEST(Checker, FindsAWorkerThatWaitsInSpiteOfAReadyTask) {
  Scenario scenario;
  scenario.phase(Phase::Kind::kCalm).add(Waiting{"worker-1", {"q"}}).submit(1);
  EXPECT_THAT(Scenario(scenario).at(1s).claim(1).check(), Violates("idle"));
  EXPECT_THAT(Scenario(scenario).at(100ms).claim(1).check(), ::testing::Not(Violates("idle")));
}

TEST(Checker, FindsATimeoutAfterAYield) {
  Scenario scenario;
  scenario.submit(1).claim(1).settle(Event::kYield, 1);
  scenario.end(1, State::kReady, 1, {HistoryKind::kYield, HistoryKind::kTimeout});
  EXPECT_THAT(scenario.check(), Violates("trail"));
}

TEST(Checker, FindsALateResultMissingInTheHistory) {
  Scenario scenario;
  scenario.submit(1).claim(1).settle(Event::kYield, 1).settle(Event::kComplete, 1, 1, "worker-1", Verdict::kWrongState);
  scenario.end(1, State::kReady, 1, {HistoryKind::kYield});
  EXPECT_THAT(scenario.check(), Violates("trail"));
}

TEST(Checker, FindsWrongCounts) {
  Scenario scenario;
  scenario.submit(1).end(1, State::kReady, 0);
  scenario.history.ending.queues = {{.name = "q", .ready = 2}};
  EXPECT_THAT(scenario.check(), Violates("counts"));
}

TEST(Checker, FindsATaskInAnotherStateThanTheHistorySays) {
  EXPECT_THAT(Scenario().submit(1).claim(1).end(1, State::kReady, 1).check(), Violates("differs"));
}

TEST(Checker, FindsAPurgeBeforeItsTime) {
  Scenario scenario;
  scenario.submit(1).claim(1).settle(Event::kComplete, 1);
  EXPECT_THAT(Scenario(scenario).at(1s).add(Purged{1}).check(), Violates("retention"));
  EXPECT_THAT(Scenario(scenario).at(8 * 24h).add(Purged{1}).check(), IsEmpty());
}

TEST(Checker, FindsASlotUsedTwice) {
  Scenario scenario;
  scenario.submit(1).submit(2).claim(1).claim(2);
  scenario.add(RunBegins{id_of(1), 1}).add(RunBegins{id_of(2), 1});
  EXPECT_THAT(scenario.check(), Violates("doubled"));
}

TEST(Checker, FindsATokenWithTwoBatches) {
  Scenario scenario;
  scenario.submit(1).submit(2).claim(1).add(TokenServed{id_of(9)}).add(GrantedAgain{id_of(1), 1, "worker-1"});
  EXPECT_THAT(Scenario(scenario).check(), Not(Violates("token")));
  EXPECT_THAT(Scenario(scenario).check(), Not(Violates("stale")));
  EXPECT_THAT(scenario.claim(2).add(TokenServed{id_of(9)}).check(), Violates("token"));
}

TEST(Checker, FindsAnAttemptGrantedAgainToAnotherWorker) {
  EXPECT_THAT(Scenario().submit(1).claim(1).add(GrantedAgain{id_of(1), 1, "worker-2"}).check(), Violates("stale"));
}

TEST(Checker, ChecksUnorderedRecords) {
  Scenario scenario;
  scenario.history.in_order = false;
  scenario.settle(Event::kComplete, 1, 2).claim(1, 2).claim(1, 1).add(Acknowledged{id_of(1)});
  EXPECT_THAT(Scenario(scenario).end(1, State::kCompleted, 2).check(), IsEmpty());
  EXPECT_THAT(Scenario(scenario).check(), Violates("lost"));
  EXPECT_THAT(Scenario(scenario).end(1, State::kCompleted, 3).check(), Violates("final"));
  EXPECT_THAT(Scenario(scenario).claim(1, 2).end(1, State::kCompleted, 2).check(), Violates("doubled"));
}

}  // namespace
}  // namespace horae::sim
