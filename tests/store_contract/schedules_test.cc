// Schedules: their definitions, and steps, which happen once.

#include "tests/store_contract/contract.h"

namespace horae::testing {

NewSchedule Schedules::each_minute(std::string name) {
  return {.name = std::move(name), .task = {.queue = kQueue, .spec = "{\"report\": 1}"}, .rules = {.every = 60s}};
}

Schedule Schedules::put(const NewSchedule& schedule) {
  const PutOutcome outcome = value_of(schedules().put(schedule, new_id(), std::nullopt));
  EXPECT_THAT(outcome.kind, ::testing::AnyOf(PutOutcome::Kind::kCreated, PutOutcome::Kind::kChanged));
  return outcome.schedule.value();
}

Schedule Schedules::schedule(std::string_view name) { return value_of(schedules().get(name)).value(); }

std::vector<FireRecord> Schedules::fires(std::string_view name) {
  return value_of(schedules().fires(name, now() + 24h * 365, kMaxBatch));
}

ScheduleStep Schedules::step_of(const Schedule& seen) {
  const NewSchedule& definition = seen.definition;
  const Timetable table = value_of(Timetable::make(definition.rules, system_zones()));
  const Instant until = std::max(now(), seen.handled_until);
  const FirePlan plan = plan_fires(definition.name, definition.rules, table, seen.handled_until + 1us, until);
  ScheduleStep step{.name = definition.name,
                    .version = seen.version,
                    .seen = seen.handled_until,
                    .until = until,
                    .overlap = definition.rules.overlap,
                    .fires = {},
                    .skipped = plan.skipped,
                    .next_at = plan.next_at,
                    .tzdata = "2025b"};
  for (const Fire& fire : plan.fires) {
    NewTask task = definition.task;
    task.run_at = fire.run_at;
    step.fires.push_back({fire.at, {.task = task, .new_id = new_id()}});
  }
  return step;
}

StepOutcome Schedules::take(const ScheduleStep& step) {
  return value_of(schedules().step(std::vector<ScheduleStep>{step})).at(0);
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kDone = StepOutcome::Kind::kDone;
constexpr auto kStale = StepOutcome::Kind::kStale;

Instant minute_after(Instant time) { return std::chrono::floor<std::chrono::minutes>(time) + std::chrono::minutes(1); }

std::vector<std::string> names_of(const std::vector<Schedule>& schedules) {
  std::vector<std::string> names;
  for (const Schedule& each : schedules) names.push_back(each.definition.name);
  return names;
}

// ---- Definitions ----

TEST_P(Schedules, AScheduleIsKeptAsItIs) {
  NewSchedule wanted = each_minute();
  wanted.task.priority = 7;
  wanted.task.spec = "{\"a\":\n 1.0}";
  wanted.task.retry = {.kind = RetryPolicy::Kind::kExponential, .jitter = 0.25};
  wanted.rules = {.cron = "0 9 * * MON-FRI", .zone = "Europe/Berlin", .missed = MissedRule::kAll};
  const Uuid version = new_id();
  const PutOutcome made = value_of(schedules().put(wanted, version, std::nullopt));
  EXPECT_EQ(made.kind, PutOutcome::Kind::kCreated);
  const Schedule kept = schedule();
  EXPECT_EQ(made.schedule, kept);
  EXPECT_EQ(kept.definition, wanted);
  EXPECT_EQ(kept.version, version);
  EXPECT_EQ(kept.created_at, now());
  EXPECT_EQ(kept.handled_until, now());
  EXPECT_EQ(kept.next_at, now()) << "a node works out the first date at once";
}

TEST_P(Schedules, PuttingTheSameAgainChangesNothing) {
  const Schedule first = put(each_minute());
  advance(1s);
  const PutOutcome again = value_of(schedules().put(each_minute(), new_id(), std::nullopt));
  EXPECT_EQ(again.kind, PutOutcome::Kind::kUnchanged);
  EXPECT_EQ(again.schedule, first);
}

TEST_P(Schedules, AChangeFiresNothingOfThePast) {
  const Schedule first = put(each_minute());
  advance(24h);
  NewSchedule changed = each_minute();
  changed.rules.every = 1s;
  const Schedule second = put(changed);
  EXPECT_NE(second.version, first.version);
  EXPECT_EQ(second.created_at, first.created_at);
  EXPECT_EQ(second.handled_until, now());
}

TEST_P(Schedules, OnlyTheExpectedVersionIsReplacedOrRemoved) {
  const Schedule first = put(each_minute());
  NewSchedule changed = each_minute();
  changed.task.priority = 9;
  EXPECT_EQ(value_of(schedules().put(changed, new_id(), new_id())).kind, PutOutcome::Kind::kMismatch);
  EXPECT_EQ(value_of(schedules().put(each_minute("other"), new_id(), new_id())).kind, PutOutcome::Kind::kMismatch);
  EXPECT_FALSE(value_of(schedules().remove("nightly", new_id())));
  EXPECT_EQ(schedule(), first);
  EXPECT_EQ(value_of(schedules().put(changed, new_id(), first.version)).kind, PutOutcome::Kind::kChanged);
  EXPECT_TRUE(value_of(schedules().remove("nightly", schedule().version)));
  EXPECT_EQ(value_of(schedules().get("nightly")), std::nullopt);
  EXPECT_FALSE(value_of(schedules().remove("nightly", std::nullopt)));
}

TEST_P(Schedules, AreListedByNameInPages) {
  for (const char* name : {"b", "a", "B", "c"}) put(each_minute(name));
  EXPECT_THAT(names_of(value_of(schedules().list("", 3))), ElementsAre("B", "a", "b"));
  EXPECT_THAT(names_of(value_of(schedules().list("b", 3))), ElementsAre("c"));
}

// ---- Due ----

TEST_P(Schedules, ThoseThatAreDueComeEarliestFirstAndTheNextIsAnnounced) {
  put(each_minute("b"));
  advance(1s);
  put(each_minute("a"));
  EXPECT_THAT(names_of(value_of(schedules().due(10)).schedules), ElementsAre("b", "a"));
  const DueSchedules one = value_of(schedules().due(1));
  EXPECT_THAT(names_of(one.schedules), ElementsAre("b"));
  EXPECT_EQ(one.next_in, Duration::zero());

  EXPECT_EQ(look_and_step("a").kind, kDone);
  EXPECT_EQ(look_and_step("b").kind, kDone);
  const DueSchedules none = value_of(schedules().due(10));
  EXPECT_THAT(none.schedules, IsEmpty());
  EXPECT_EQ(none.next_in, minute_after(now()) - now());
}

TEST_P(Schedules, ATickReportsWhenTheNextOneIsDue) {
  const TickWish tick{.self = {.id = "worker-1", .address = "a", .version = "1"}};
  submit({.run_at = now() + 1h});
  EXPECT_EQ(value_of(cluster().tick(tick)).next_due_in, std::optional<Duration>(1h));
  put(each_minute());
  EXPECT_EQ(value_of(cluster().tick(tick)).next_due_in, std::optional<Duration>(0s));
  look_and_step();
  EXPECT_EQ(value_of(cluster().tick(tick)).next_due_in, std::optional<Duration>(minute_after(now()) - now()));
}

TEST_P(Schedules, APausedOneIsNotDueAndMissesNothingThen) {
  NewSchedule paused = each_minute();
  paused.paused = true;
  put(paused);
  EXPECT_THAT(value_of(schedules().due(10)).schedules, IsEmpty());
  EXPECT_EQ(value_of(schedules().due(10)).next_in, std::nullopt);
  advance(1h);
  put(each_minute());
  EXPECT_THAT(look_and_step().fires, IsEmpty());
}

// ---- Steps ----

TEST_P(Schedules, AFireIsATaskARecordAndTheNextDate) {
  put(each_minute());
  const Instant at = minute_after(now());
  advance(at - now());
  const StepOutcome outcome = look_and_step();
  EXPECT_EQ(outcome.kind, kDone);
  ASSERT_THAT(outcome.fires, SizeIs(1));
  ASSERT_THAT(outcome.tasks, SizeIs(1));
  EXPECT_EQ(outcome.fires[0], (FireRecord{.at = at, .last = at, .task = outcome.tasks[0].id, .skipped = std::nullopt}));
  EXPECT_EQ(fires(), outcome.fires);
  const Task task = get(outcome.tasks[0].id);
  EXPECT_EQ(task.spec, "{\"report\": 1}");
  EXPECT_EQ(task.state, State::kReady);
  EXPECT_EQ(schedule().next_at, at + 60s);
  EXPECT_EQ(schedule().handled_until, now());
  EXPECT_EQ(schedule().last_task, task.id);
}

TEST_P(Schedules, OfTwoNodesThatSeeTheSameOneFires) {
  put(each_minute());
  advance(60s);
  const Schedule seen = schedule();
  const ScheduleStep mine = step_of(seen);
  const ScheduleStep theirs = step_of(seen);
  EXPECT_EQ(take(mine).kind, kDone);
  const StepOutcome late = take(theirs);
  EXPECT_EQ(late.kind, kStale);
  EXPECT_THAT(late.fires, IsEmpty());
  EXPECT_THAT(fires(), SizeIs(1));
  EXPECT_EQ(find(theirs.fires.at(0).submission.new_id), std::nullopt);
}

TEST_P(Schedules, NobodyFiresByAnOldVersion) {
  put(each_minute());
  advance(60s);
  const ScheduleStep old = step_of(schedule());
  NewSchedule changed = each_minute();
  changed.task.priority = 9;
  put(changed);
  EXPECT_EQ(take(old).kind, kStale);

  const ScheduleStep newer = step_of(schedule());
  EXPECT_TRUE(value_of(schedules().remove("nightly", std::nullopt)));
  EXPECT_EQ(take(newer).kind, kStale);
  put(changed);
  EXPECT_EQ(take(newer).kind, kStale);
}

TEST_P(Schedules, APausedOneDoesNotFire) {
  put(each_minute());
  advance(60s);
  const ScheduleStep step = step_of(schedule());
  NewSchedule paused = each_minute();
  paused.paused = true;
  put(paused);
  EXPECT_EQ(take(step).kind, kStale);
  EXPECT_THAT(fires(), IsEmpty());
}

// The clock of a node must not decide.
TEST_P(Schedules, AStepIntoTheFutureOfTheStoreIsStale) {
  put(each_minute());
  advance(60s);
  ScheduleStep step = step_of(schedule());
  step.until += 1s;
  EXPECT_EQ(take(step).kind, kStale);
  EXPECT_THAT(fires(), IsEmpty());
}

TEST_P(Schedules, StepsThatContradictThemselvesAreRefused) {
  put(each_minute());
  advance(60s);
  const ScheduleStep good = step_of(schedule());
  const auto refusal = [&](auto change) {
    ScheduleStep step = good;
    change(step);
    return code_of(schedules().step(std::vector<ScheduleStep>{step}));
  };
  EXPECT_EQ(refusal([](auto& step) { step.until = step.seen - 1us; }), ErrorCode::kRefused);
  EXPECT_EQ(refusal([](auto& step) { step.fires.at(0).at = step.until + 1us; }), ErrorCode::kRefused);
  EXPECT_EQ(refusal([](auto& step) { step.fires.at(0).at = step.seen; }), ErrorCode::kRefused);
  EXPECT_EQ(refusal([](auto& step) { step.fires.push_back(step.fires.at(0)); }), ErrorCode::kRefused);
  EXPECT_EQ(refusal([](auto& step) { step.next_at = step.seen; }), ErrorCode::kRefused);
  EXPECT_EQ(refusal([](auto& step) { step.fires.at(0).submission.task.key = "k"; }), ErrorCode::kRefused);
  EXPECT_EQ(code_of(schedules().step(std::vector<ScheduleStep>{good, good})), ErrorCode::kRefused);
}

TEST_P(Schedules, SeveralStepsAreTakenTogether) {
  for (const char* name : {"a", "b", "c"}) put(each_minute(name));
  advance(60s);
  std::vector<ScheduleStep> steps;
  for (const char* name : {"c", "a", "b"}) steps.push_back(step_of(schedule(name)));
  EXPECT_EQ(take(steps[1]).kind, kDone);
  const auto outcomes = value_of(schedules().step(steps));
  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_EQ(outcomes[0].kind, kDone);
  EXPECT_EQ(outcomes[1].kind, kStale);
  EXPECT_EQ(outcomes[2].kind, kDone);
  EXPECT_EQ(outcomes[0].tasks.at(0).id, steps[0].fires.at(0).submission.new_id);
  EXPECT_EQ(outcomes[2].tasks.at(0).id, steps[2].fires.at(0).submission.new_id);
  for (const char* name : {"a", "b", "c"}) EXPECT_THAT(fires(name), SizeIs(1)) << name;
}

TEST_P(Schedules, SkippedFiresAreOneRecord) {
  put(each_minute());
  const Instant first = minute_after(now());
  advance(first + 185s - now());
  const StepOutcome outcome = look_and_step();
  EXPECT_THAT(outcome.fires, ElementsAre(FireRecord{first, first + 120s, 3, std::nullopt, SkipReason::kMissed},
                                         ::testing::Field(&FireRecord::at, first + 180s)));
  EXPECT_THAT(fires(), ElementsAre(outcome.fires[1], outcome.fires[0]));
  EXPECT_THAT(value_of(schedules().fires("nightly", first + 180s, 10)), ElementsAre(outcome.fires[0]));
  EXPECT_THAT(value_of(schedules().fires("nightly", now(), 1)), ElementsAre(outcome.fires[1]));
}

TEST_P(Schedules, ATaskWithJitterRunsLater) {
  NewSchedule with_jitter = each_minute();
  with_jitter.rules.jitter = 60s;
  put(with_jitter);
  const Instant at = minute_after(now());
  advance(at - now());
  const StepOutcome outcome = look_and_step();
  const Instant run_at = run_time("nightly", at, 60s);
  ASSERT_GT(run_at, at);
  EXPECT_EQ(outcome.fires.at(0).at, at);
  EXPECT_EQ(get(outcome.tasks.at(0).id).run_at, run_at);
  EXPECT_EQ(outcome.tasks.at(0).state, State::kScheduled);
}

// ---- Overlaps ----

TEST_P(Schedules, AFireIsSkippedWhileTheTaskBeforeHasNotEnded) {
  put(each_minute());
  advance(60s);
  const TaskId first = look_and_step().tasks.at(0).id;
  advance(60s);
  const StepOutcome second = look_and_step();
  EXPECT_THAT(second.tasks, IsEmpty());
  EXPECT_EQ(second.fires.at(0).skipped, SkipReason::kOverlap);
  EXPECT_EQ(schedule().last_task, first);
  const Lease lease = claim();
  advance(60s);
  EXPECT_EQ(look_and_step().fires.at(0).skipped, SkipReason::kOverlap);
  extend_leases();
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
  advance(60s);
  EXPECT_THAT(look_and_step().tasks, SizeIs(1));
}

TEST_P(Schedules, OverlapsCanBeAllowed) {
  NewSchedule overlapping = each_minute();
  overlapping.rules.overlap = OverlapRule::kAllow;
  overlapping.rules.missed = MissedRule::kAll;
  put(overlapping);
  advance(minute_after(now()) + 125s - now());
  EXPECT_THAT(look_and_step().tasks, SizeIs(3));
  advance(60s);
  EXPECT_THAT(look_and_step().tasks, SizeIs(1));
}

TEST_P(Schedules, TheTaskBeforeCanBeCancelled) {
  NewSchedule cancelling = each_minute();
  cancelling.rules.overlap = OverlapRule::kCancelPrevious;
  put(cancelling);
  advance(60s);
  const TaskId first = look_and_step().tasks.at(0).id;
  claim();
  advance(60s);
  const StepOutcome outcome = look_and_step();
  EXPECT_EQ(outcome.cancelled, first);
  ASSERT_THAT(outcome.tasks, SizeIs(1));
  EXPECT_EQ(state_of(first), State::kCancelled);
  EXPECT_EQ(get(first).cancel_reason, "the next fire of schedule nightly");
  EXPECT_EQ(state_of(outcome.tasks[0].id), State::kReady);
}

// ---- Time zone databases, retention ----

TEST_P(Schedules, ANewerTimeZoneDatabaseMakesThemDueAgain) {
  put(each_minute());
  EXPECT_EQ(look_and_step().kind, kDone);
  EXPECT_EQ(value_of(schedules().recompute("2025b")), 0U);
  EXPECT_EQ(value_of(schedules().recompute("2025a")), 0U);
  EXPECT_EQ(value_of(schedules().recompute("2025c")), 1U);
  EXPECT_EQ(schedule().next_at, now());
  const StepOutcome again = look_and_step();
  EXPECT_EQ(again.kind, kDone);
  EXPECT_THAT(again.fires, IsEmpty()) << "what was handled does not fire again";
}

TEST_P(Schedules, RecordsOfFiresAreKeptForTheRetentionOfTheQueue) {
  configure(kQueue, {.retention = 1h});
  put(each_minute());
  advance(60s);
  EXPECT_THAT(look_and_step().fires, SizeIs(1));
  advance(30min);
  EXPECT_THAT(look_and_step().fires, SizeIs(2)) << "missed ones, and one that is skipped for its overlap";
  EXPECT_EQ(value_of(schedules().forget_fires(10)), 0U);
  advance(31min);
  EXPECT_EQ(value_of(schedules().forget_fires(10)), 1U);
  EXPECT_THAT(fires(), SizeIs(2));
}

// It is due when the clock is again where it was: before, no step could be taken.
TEST_P(Schedules, AChangeAfterTheClockHasSteppedBackIsDueWhenTheClockIsThereAgain) {
  const Instant before = put(each_minute()).handled_until;
  step_clock(-30s);
  NewSchedule changed = each_minute();
  changed.task.priority = 9;
  EXPECT_EQ(put(changed).next_at, before);
  EXPECT_THAT(value_of(schedules().due(10)).schedules, IsEmpty());
  EXPECT_EQ(value_of(schedules().due(10)).next_in, std::optional<Duration>(30s));
}

TEST_P(Schedules, SurviveARestart) {
  put(each_minute());
  advance(60s);
  look_and_step();
  const Schedule before = schedule();
  const auto fired = fires();
  if (!reopen()) return;
  EXPECT_EQ(schedule(), before);
  EXPECT_EQ(fires(), fired);
}

// ---- Races ----

TEST_P(Schedules, NodesThatRaceFireEachOnce) {
  constexpr std::size_t kRounds = 10;
  NewSchedule overlapping = each_minute();
  overlapping.rules.overlap = OverlapRule::kAllow;
  put(overlapping);
  std::vector<std::vector<ScheduleStep>> steps(2);
  for (std::size_t round = 0; round < kRounds; ++round) {
    advance(60s);
    const Schedule seen = schedule();
    const std::vector<ScheduleStep> both = {step_of(seen), step_of(seen)};
    std::vector<StepOutcome> outcomes(2);
    together(2, [&](int i) {
      const auto place = static_cast<std::size_t>(i);
      outcomes[place] = value_of(schedules().step(std::span(&both[place], 1))).at(0);
    });
    EXPECT_NE(outcomes[0].kind, outcomes[1].kind);
  }
  EXPECT_THAT(fires(), SizeIs(kRounds));
}

}  // namespace
}  // namespace horae::testing
