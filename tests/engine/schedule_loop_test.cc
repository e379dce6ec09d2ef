#include "engine/schedules/schedule_loop.h"

#include "tests/engine/engine.h"

namespace horae::testing {

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

NewSchedule each_ten_seconds(std::string name = "often") {
  return {.name = std::move(name),
          .task = {.queue = kQueue, .spec = "{}"},
          .rules = {.every = 10s, .overlap = OverlapRule::kAllow}};
}

}  // namespace

void ScheduleLoops::put(const NewSchedule& schedule) {
  (void)value_of(schedules().put(schedule, new_id(), std::nullopt));
}

std::vector<FireRecord> ScheduleLoops::fires(std::string_view name) {
  return value_of(schedules().fires(name, now() + 24h, kMaxBatch));
}

void ScheduleLoops::pass_to_fire() {
  using Tens = std::chrono::duration<std::int64_t, std::ratio<10>>;
  pass(std::chrono::floor<Tens>(now()) + Tens(1) - now());
}

TEST_P(ScheduleLoops, AFireBecomesATaskAtItsTime) {
  ScheduleLoop loop = this->loop();
  put(each_ten_seconds());
  loop.run_once(node_now());
  EXPECT_THAT(fires(), IsEmpty());
  pass_to_fire();
  loop.run_once(node_now());
  ASSERT_THAT(fires(), SizeIs(1));
  EXPECT_EQ(fires()[0].at, now());
  EXPECT_EQ(claim().id, fires()[0].task);
}

TEST_P(ScheduleLoops, RunsAgainWhenTheNextOneIsDue) {
  ScheduleLoop loop = this->loop({.poll = 1min});
  EXPECT_EQ(loop.run_once(node_now()), node_now() + 1min);
  put(each_ten_seconds());
  EXPECT_EQ(loop.run_once(node_now()), node_now()) << "another look finds the date that was worked out now";
  pass_to_fire();
  loop.run_once(node_now());
  EXPECT_EQ(loop.run_once(node_now()), node_now() + 10s);
}

TEST_P(ScheduleLoops, MoreThanABatchIsDueAtOnce) {
  ScheduleLoop loop = this->loop({.batch = 2});
  for (const char* name : {"a", "b", "c"}) put(each_ten_seconds(name));
  for (int i = 0; i < 3; ++i) loop.run_once(node_now());
  pass_to_fire();
  for (int i = 0; i < 3; ++i) loop.run_once(node_now());
  for (const char* name : {"a", "b", "c"}) EXPECT_THAT(fires(name), SizeIs(1)) << name;
}

TEST_P(ScheduleLoops, SeveralNodesFireOnce) {
  ScheduleLoop one = loop();
  ScheduleLoop other = loop();
  put(each_ten_seconds());
  for (int round = 0; round < 5; ++round) {
    one.run_once(node_now());
    other.run_once(node_now());
    pass_to_fire();
    together(2, [&](int node) { (node == 0 ? one : other).run_once(node_now()); });
  }
  EXPECT_THAT(fires(), SizeIs(5));
  EXPECT_THAT(claim_up_to(100), SizeIs(5));
}

TEST_P(ScheduleLoops, AnOutageEndsWithTheLastFireAndARecordOfTheOthers) {
  ScheduleLoop loop = this->loop();
  NewSchedule each_minute = each_ten_seconds();
  each_minute.rules.every = 60s;
  put(each_minute);
  loop.run_once(node_now());
  pass(1h);
  pass_to_fire();
  pass(15s);
  loop.run_once(node_now());
  EXPECT_THAT(claim_up_to(100), SizeIs(1));
  const auto records = fires();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_TRUE(records[0].task);
  EXPECT_EQ(records[1].skipped, SkipReason::kMissed);
  EXPECT_GE(records[1].count, 59);
}

// Such a schedule comes from a node with a newer time zone database.
TEST_P(ScheduleLoops, OneThatCannotBeReadDoesNotKeepTheOthersFromFiring) {
  ScheduleLoop loop = this->loop();
  NewSchedule elsewhere = each_ten_seconds("elsewhere");
  elsewhere.rules = {.cron = "* * * * *", .zone = "Mars/Olympus"};
  put(elsewhere);
  put(each_ten_seconds());
  EXPECT_EQ(loop.run_once(node_now()), node_now() + 1s);
  EXPECT_THAT(said(), HasSubstr("Mars/Olympus"));
  pass_to_fire();
  loop.run_once(node_now());
  EXPECT_THAT(fires(), SizeIs(1));
}

// A token must not make more queues by schedules than by its own submissions.
TEST_P(ScheduleLoops, AFireMakesAQueueOnTheAccountOfTheTokenThatDefinedTheSchedule) {
  ScheduleLoop loop = this->loop();
  for (const char* name : {"a", "b", "c"}) {
    NewSchedule made = each_ten_seconds(name);
    made.task.queue = std::string("queue-") + name;
    made.maker = "t-1";
    made.maker_queues = 2;
    put(made);
  }
  loop.run_once(node_now());
  pass_to_fire();
  loop.run_once(node_now());
  int skipped = 0;
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_THAT(fires(name), SizeIs(1));
    if (fires(name)[0].skipped == SkipReason::kQueueLimit) ++skipped;
  }
  EXPECT_EQ(skipped, 1);
}

// The clock of the node runs on; that of the store steps back.
TEST_P(ScheduleLoops, NothingFiresTwiceAfterTheClockStepsBack) {
  ScheduleLoop loop = this->loop();
  put(each_ten_seconds());
  loop.run_once(node_now());
  pass_to_fire();
  loop.run_once(node_now());
  step_clock(-25s);
  for (int i = 0; i < 25; ++i) {
    loop.run_once(node_now());
    pass(1s);
  }
  EXPECT_THAT(fires(), SizeIs(1));
  pass_to_fire();
  loop.run_once(node_now());
  EXPECT_THAT(fires(), SizeIs(2));
}

}  // namespace horae::testing
