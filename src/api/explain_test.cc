#include "api/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using std::literals::operator""s;
using std::literals::operator""h;

Circumstances waiting() {
  Circumstances known{.task = Task(), .now = Instant(1000h), .ahead = 0, .last_awaited = Instant(1000h)};
  known.task.queue = "mail";
  known.task.state = State::kReady;
  return known;
}

std::vector<std::string_view> codes_of(const Circumstances& known) {
  std::vector<std::string_view> codes;
  for (const Reason& reason : explain(known)) codes.push_back(reason.code);
  return codes;
}

TEST(Explain, ATaskThatIsNotDueWaitsForItsTime) {
  Circumstances known = waiting();
  known.task.state = State::kScheduled;
  known.task.run_at = Instant(1001h);
  EXPECT_THAT(codes_of(known), ElementsAre("not_due"));
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("1970-02-11T17:00:00"));
}

TEST(Explain, AStoppedSchedulerAndAPausedQueueComeFirst) {
  Circumstances known = waiting();
  known.is_scheduler_running = false;
  known.is_queue_paused = true;
  known.ahead = 3;
  EXPECT_THAT(codes_of(known), ElementsAre("scheduler_stopped", "queue_paused", "behind_others"));
}

TEST(Explain, NoWorkerClaimsFromItsQueue) {
  Circumstances known = waiting();
  known.last_awaited = std::nullopt;
  EXPECT_THAT(codes_of(known), ElementsAre("no_worker"));
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("no worker is known"));
  known.last_awaited = known.now - 60s;
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("since 1970-02-11T15:59:00"));
}

TEST(Explain, TasksAreAheadOfIt) {
  Circumstances known = waiting();
  known.ahead = 1;
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("1 task is ahead"));
  known.ahead = 7;
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("7 tasks are ahead"));
  known.ahead = kMostAhead;
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("10000 tasks or more are ahead"));
}

TEST(Explain, TheNextTaskOfTheQueue) { EXPECT_THAT(codes_of(waiting()), ElementsAre("next")); }

TEST(Explain, ARunningOrFinishedTaskSaysSo) {
  Circumstances known = waiting();
  known.task.state = State::kRunning;
  known.task.owner = "worker-7";
  EXPECT_THAT(codes_of(known), ElementsAre("running"));
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("worker-7"));
  known.task.state = State::kCancelled;
  EXPECT_THAT(explain(known)[0].detail, HasSubstr("cancelled"));
  known.task.cancel_reason = "enough";
  EXPECT_THAT(explain(known)[0].detail, EndsWith("Z: enough"));
}

TEST(Explain, ATaskThatWaitsForASlotOfThisNodeIsNotShownAsRunning) {
  Circumstances known = waiting();
  known.task.state = State::kRunning;
  known.task.owner = "worker-0";
  known.task.attempt = 2;
  known.chore = ChorePosition{.level = 205, .place = 1, .ahead = 4};
  EXPECT_THAT(codes_of(known), ElementsAre("in_backlog"));
  EXPECT_EQ(
      explain(known)[0].detail,
      "attempt 2 is leased to worker-0, this node, and has not started: it waits for a slot (level 205, 4 before it)");
}

TEST(Explain, ATaskOfAnotherNodeMayWaitThere) {
  Circumstances known = waiting();
  known.task.state = State::kRunning;
  known.task.owner = "worker-3";
  known.other_node = "10.0.0.3:3369";
  EXPECT_THAT(codes_of(known), ElementsAre("running"));
  EXPECT_THAT(explain(known)[0].detail, EndsWith("it may wait for a slot there, ask that node (10.0.0.3:3369)"));
}

TEST(Explain, AnAbortedTaskNamesItsErrors) {
  Circumstances known = waiting();
  known.task.state = State::kAborted;
  known.task.errors = {{.code = "no_disk", .description = "full"}, {.code = "late", .description = ""}};
  EXPECT_THAT(codes_of(known), ElementsAre("finished"));
  EXPECT_THAT(explain(known)[0].detail, AllOf(HasSubstr("it is aborted since "), EndsWith("Z: no_disk: full; late")));
  known.task.state = State::kCompleted;
  EXPECT_THAT(explain(known)[0].detail, Not(HasSubstr("no_disk")));
}

}  // namespace
}  // namespace horae
