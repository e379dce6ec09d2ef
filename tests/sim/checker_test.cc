// Each rule has a small history that breaks it, beside one that keeps them all.
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

// Tells a history, line by line. Times are seconds from the beginning.
class Tale {
 public:
  Tale() {
    history.ending.at = kBegin + 1000s;
    history.node_slots = 1;
  }

  Tale& at(std::chrono::milliseconds time) {
    now_ = kBegin + time;
    return *this;
  }
  Tale& tell(What what, int node = 0) {
    history.records.push_back({now_, node, std::move(what)});
    return *this;
  }
  Tale& submit(int number, NewTask wish = {}) {
    wish.queue = "q";
    const bool later = wish.run_at && *wish.run_at > now_;
    return tell(Submitted{.task = id_of(number),
                          .number = number,
                          .intent = number,
                          .wish = wish,
                          .state = later ? State::kScheduled : State::kReady});
  }
  Tale& claim(int number, int attempt = 1, const std::string& owner = "worker-1") {
    return tell(Claimed{id_of(number), attempt, owner, kLease, std::nullopt});
  }
  Tale& settle(Event event, int number, int attempt = 1, const std::string& owner = "worker-1",
               Verdict verdict = Verdict::kAccepted, std::optional<State> state = std::nullopt) {
    const State usual = event == Event::kComplete ? State::kCompleted
                        : event == Event::kAbort  ? State::kAborted
                        : event == Event::kYield  ? State::kReady
                                                  : State::kRunning;
    return tell(Settled{.event = event,
                        .task = id_of(number),
                        .attempt = attempt,
                        .owner = owner,
                        .lease = kLease,
                        .verdict = verdict,
                        .state = state.value_or(usual)});
  }
  Tale& expire(int number, int attempt = 1, State state = State::kReady) {
    return tell(Expired{id_of(number), attempt, "worker-1", state});
  }
  Tale& phase(Phase::Kind kind) { return tell(Phase{kind}); }

  // The task as the store shows it at the end.
  Tale& end(int number, State state, int attempt, std::vector<HistoryKind> trail = {}, int tries = 0) {
    Task task;
    task.id = id_of(number);
    task.number = number;
    task.queue = "q";
    task.state = state;
    task.attempt = attempt;
    task.tries = tries;
    for (int i = 1; i <= attempt; ++i) task.history.append({.kind = HistoryKind::kAssignment, .attempt = i});
    for (const HistoryKind kind : trail) task.history.append({.kind = kind, .attempt = 1});
    history.ending.tasks.push_back(task);
    return *this;
  }

  std::vector<Violation> check() const { return sim::check(history); }

  History history;

 private:
  Instant now_ = kBegin;
};

auto Violates(const std::string& rule) { return Contains(Field(&Violation::rule, rule)); }

TEST(Checker, IsSilentOnAGoodHistory) {
  Tale tale;
  tale.submit(1).tell(Acknowledged{id_of(1)});
  tale.at(1s).claim(1).at(4s).settle(Event::kHeartbeat, 1).at(15s).expire(1);
  tale.at(16s).claim(1, 2, "worker-2").settle(Event::kComplete, 1, 1, "worker-1", Verdict::kStaleAttempt);
  tale.at(17s)
      .settle(Event::kComplete, 1, 2, "worker-2")
      .settle(Event::kComplete, 1, 2, "worker-2", Verdict::kRepeated);
  tale.end(1, State::kCompleted, 2, {HistoryKind::kTimeout, HistoryKind::kLateResult}, 1);
  tale.history.ending.queues = {{.name = "q", .completed = 1}};
  for (const Violation& each : tale.check()) ADD_FAILURE() << each.rule << ": " << each.text;
}

TEST(Checker, SeesAnAcknowledgedTaskThatIsLost) {
  EXPECT_THAT(Tale().tell(Acknowledged{id_of(1)}).check(), Violates("lost"));
  EXPECT_THAT(Tale().submit(1).tell(Acknowledged{id_of(1)}).check(), Violates("lost"));
}

TEST(Checker, SeesAWishThatBecameTwoTasks) {
  Tale tale;
  tale.submit(1).tell(Submitted{.task = id_of(2), .number = 2, .intent = 1, .wish = {.queue = "q"}});
  EXPECT_THAT(tale.end(1, State::kReady, 0).end(2, State::kReady, 0).check(), Violates("doubled"));
}

TEST(Checker, SeesAStaleWriteThatIsAccepted) {
  Tale tale;
  tale.submit(1).claim(1).at(11s).expire(1).claim(1, 2, "worker-2").settle(Event::kComplete, 1);
  EXPECT_THAT(tale.check(), Violates("stale"));
}

TEST(Checker, SeesARepetitionOfNothing) {
  EXPECT_THAT(Tale().submit(1).settle(Event::kComplete, 1, 1, "worker-1", Verdict::kRepeated).check(),
              Violates("stale"));
}

TEST(Checker, SeesAnOwnerThatIsRefused) {
  Tale tale;
  tale.submit(1).claim(1).settle(Event::kComplete, 1, 1, "worker-1", Verdict::kStaleAttempt);
  EXPECT_THAT(tale.check(), Violates("refused"));
}

TEST(Checker, SeesAnAttemptThatIsTakenFromItsWorker) {
  Tale tale;
  tale.submit(1).claim(1);
  EXPECT_THAT(Tale(tale).settle(Event::kRelease, 1, 1, "worker-1", Verdict::kAccepted, State::kReady).check(),
              Not(Violates("taken")));
  tale.tell(WorkBegins{id_of(1), 1}).settle(Event::kRelease, 1, 1, "worker-1", Verdict::kAccepted, State::kReady);
  EXPECT_THAT(tale.check(), Violates("taken"));
}

TEST(Checker, SeesACancelThatIsOverwritten) {
  Tale tale;
  tale.submit(1).claim(1).tell(Cancelled{id_of(1), Verdict::kAccepted}).settle(Event::kComplete, 1);
  EXPECT_THAT(tale.check(), Violates("final"));
}

TEST(Checker, SeesARescueOfAFinishedTask) {
  EXPECT_THAT(Tale().submit(1).claim(1).settle(Event::kComplete, 1).at(11s).expire(1).check(), Violates("final"));
}

TEST(Checker, SeesTwoLeasesAtOnce) {
  EXPECT_THAT(Tale().submit(1).claim(1).claim(1, 2, "worker-2").check(), Violates("overlap"));
}

TEST(Checker, SeesAnAttemptThatIsGivenTwice) {
  Tale tale;
  tale.submit(1).claim(1).settle(Event::kYield, 1).claim(1, 1, "worker-2");
  EXPECT_THAT(tale.check(), Violates("doubled"));
}

TEST(Checker, SeesALeaseThatEndsTooEarly) {
  Tale tale;
  tale.submit(1).claim(1).at(5s).settle(Event::kHeartbeat, 1).at(12s).expire(1);
  EXPECT_THAT(tale.check(), Violates("early"));
}

TEST(Checker, SeesATaskThatStartsBeforeItIsDue) {
  Tale tale;
  tale.submit(1, {.run_at = kBegin + 10s});
  EXPECT_THAT(Tale(tale).at(9s).claim(1).check(), Violates("early"));
  EXPECT_THAT(Tale(tale).at(9s).tell(Promoted{1, 1000}).check(), Violates("early"));
}

TEST(Checker, SeesDueTasksThatStayScheduled) {
  EXPECT_THAT(Tale().submit(1, {.run_at = kBegin + 10s}).at(10s).tell(Promoted{0, 1000}).check(), Violates("due"));
}

TEST(Checker, SeesASecondAttemptMadeByAnOutage) {
  Tale tale;
  tale.submit(1).claim(1).at(2s).tell(StoreAway{true}).at(32s).tell(StoreAway{false});
  EXPECT_THAT(Tale(tale).expire(1).check(), Violates("outage"));
  const auto extended = Tale(tale).tell(Extended{}).at(43s).expire(1).check();
  EXPECT_THAT(extended, ::testing::Not(Violates("outage")));
}

TEST(Checker, SeesTriesThatDoNotCount) {
  EXPECT_THAT(Tale().submit(1, {.max_attempts = 1}).claim(1).at(11s).expire(1).check(), Violates("tries"));
}

TEST(Checker, SeesAPausedQueueThatGives) {
  Tale tale;
  tale.submit(1).tell(QueueSet{"q", {.paused = true}}).claim(1);
  EXPECT_THAT(tale.check(), Violates("paused"));
}

TEST(Checker, SeesAnOrderThatIsNotThatOfTheRanks) {
  Tale tale;
  tale.submit(1, {.priority = 60}).submit(2, {.priority = 50}).claim(2);
  EXPECT_THAT(tale.check(), Violates("order"));
  EXPECT_THAT(tale.check(), ::testing::Not(Violates("ageing")));
}

TEST(Checker, SeesATaskThatStarves) {
  Tale tale;
  tale.submit(1, {.priority = 55}).at(200s).submit(2, {.priority = 255}).claim(2);
  EXPECT_THAT(tale.check(), Violates("ageing"));
}

TEST(Checker, SeesARecurrenceThatEnds) {
  EXPECT_THAT(Tale().submit(1, {.recurring = 5s}).claim(1).settle(Event::kComplete, 1).check(), Violates("recurrence"));
}

TEST(Checker, SeesATurnThatIsNotAtItsTime) {
  Tale tale;
  tale.submit(1, {.recurring = 5s}).claim(1);
  tale.settle(Event::kComplete, 1, 1, "worker-1", Verdict::kAccepted, State::kScheduled).at(4s).tell(Promoted{1, 1000});
  EXPECT_THAT(tale.check(), Violates("early"));
}

TEST(Checker, SeesATaskThatNeverEnds) {
  EXPECT_THAT(Tale().submit(1).phase(Phase::Kind::kEnd).end(1, State::kReady, 0).check(), Violates("unfinished"));
}

TEST(Checker, SeesALeaseThatIsLostWhileAllLive) {
  EXPECT_THAT(Tale().phase(Phase::Kind::kCalm).submit(1).claim(1).at(11s).expire(1).check(), Violates("calm"));
}

TEST(Checker, SeesAWorkerThatWaitsBesideAReadyTask) {
  Tale tale;
  tale.phase(Phase::Kind::kCalm).tell(Waiting{"worker-1", {"q"}}).submit(1);
  EXPECT_THAT(Tale(tale).at(1s).claim(1).check(), Violates("idle"));
  EXPECT_THAT(Tale(tale).at(100ms).claim(1).check(), ::testing::Not(Violates("idle")));
}

TEST(Checker, SeesATimeoutAfterAYield) {
  Tale tale;
  tale.submit(1).claim(1).settle(Event::kYield, 1);
  tale.end(1, State::kReady, 1, {HistoryKind::kYield, HistoryKind::kTimeout});
  EXPECT_THAT(tale.check(), Violates("trail"));
}

TEST(Checker, SeesALateResultThatLeavesNoTrace) {
  Tale tale;
  tale.submit(1).claim(1).settle(Event::kYield, 1).settle(Event::kComplete, 1, 1, "worker-1", Verdict::kWrongState);
  tale.end(1, State::kReady, 1, {HistoryKind::kYield});
  EXPECT_THAT(tale.check(), Violates("trail"));
}

TEST(Checker, SeesCountsThatDoNotAddUp) {
  Tale tale;
  tale.submit(1).end(1, State::kReady, 0);
  tale.history.ending.queues = {{.name = "q", .ready = 2}};
  EXPECT_THAT(tale.check(), Violates("counts"));
}

TEST(Checker, SeesATaskThatStandsElsewhereThanItShould) {
  EXPECT_THAT(Tale().submit(1).claim(1).end(1, State::kReady, 1).check(), Violates("differs"));
}

TEST(Checker, SeesAPurgeBeforeItsTime) {
  Tale tale;
  tale.submit(1).claim(1).settle(Event::kComplete, 1);
  EXPECT_THAT(Tale(tale).at(1s).tell(Purged{1}).check(), Violates("retention"));
  EXPECT_THAT(Tale(tale).at(8 * 24h).tell(Purged{1}).check(), IsEmpty());
}

TEST(Checker, SeesASlotThatIsBookedTwice) {
  Tale tale;
  tale.submit(1).submit(2).claim(1).claim(2);
  tale.tell(RunBegins{id_of(1), 1}).tell(RunBegins{id_of(2), 1});
  EXPECT_THAT(tale.check(), Violates("doubled"));
}

TEST(Checker, SeesATokenThatGetsTwoBatches) {
  Tale tale;
  tale.submit(1).submit(2).claim(1).tell(TokenServed{id_of(9)}).tell(GivenAgain{id_of(1), 1, "worker-1"});
  EXPECT_THAT(Tale(tale).check(), Not(Violates("token")));
  EXPECT_THAT(Tale(tale).check(), Not(Violates("stale")));
  EXPECT_THAT(tale.claim(2).tell(TokenServed{id_of(9)}).check(), Violates("token"));
}

TEST(Checker, SeesATaskThatIsGivenAgainToSomebodyElse) {
  EXPECT_THAT(Tale().submit(1).claim(1).tell(GivenAgain{id_of(1), 1, "worker-2"}).check(), Violates("stale"));
}

TEST(Checker, JudgesRecordsWithoutAnOrder) {
  Tale tale;
  tale.history.in_order = false;
  tale.settle(Event::kComplete, 1, 2).claim(1, 2).claim(1, 1).tell(Acknowledged{id_of(1)});
  EXPECT_THAT(Tale(tale).end(1, State::kCompleted, 2).check(), IsEmpty());
  EXPECT_THAT(Tale(tale).check(), Violates("lost"));
  EXPECT_THAT(Tale(tale).end(1, State::kCompleted, 3).check(), Violates("final"));
  EXPECT_THAT(Tale(tale).claim(1, 2).end(1, State::kCompleted, 2).check(), Violates("doubled"));
}

}  // namespace
}  // namespace horae::sim
