// Lists: which tasks, in which order, page by page.

#include <algorithm>

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::array kAllKinds = {ListKind::kScheduled, ListKind::kReady, ListKind::kRunning, ListKind::kFinished,
                                  ListKind::kAll};

// ---- Orders ----

TEST_P(List, AnEmptyStoreHasEmptyLists) {
  for (const ListKind kind : kAllKinds) {
    const Page page = value_of(tasks().list({.kind = kind}));
    EXPECT_THAT(page.tasks, IsEmpty());
    EXPECT_EQ(page.next, "");
    EXPECT_EQ(page.as_of, now());
  }
}

TEST_P(List, ScheduledTasksComeByTheirTimeThenByNumber) {
  const Instant noon = now() + 12h;
  const TaskId third = submit({.run_at = noon});
  const TaskId fourth = submit({.run_at = noon});
  const TaskId first = submit({.run_at = noon - 1h});
  const TaskId second = submit({.queue = "other", .run_at = noon - 1us});
  EXPECT_THAT(ids_in({.kind = ListKind::kScheduled}), ElementsAre(first, second, third, fourth));
}

TEST_P(List, ReadyTasksOfAQueueComeInTheOrderOfClaims) {
  (void)submit({.priority = 50});
  advance(3s);
  (void)submit({.priority = 53});
  (void)submit({.priority = 60});
  configure(kQueue, {.ageing_rate = 7});
  advance(5s);
  (void)submit({.priority = 40});
  (void)submit({.priority = 95});
  const auto listed = ids_in({.kind = ListKind::kReady, .queue = kQueue});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAreArray(listed));
  EXPECT_THAT(listed, SizeIs(5));
}

TEST_P(List, RunningTasksComeByTheirStartThenByNumber) {
  const auto ids = submit_many(2, {.priority = 10});
  const TaskId urgent = submit({.priority = 20});
  (void)claim_up_to(2);  // urgent and ids[0] in one claim
  advance(1us);
  (void)claim();
  EXPECT_THAT(ids_in({.kind = ListKind::kRunning}), ElementsAre(ids[0], urgent, ids[1]));
}

TEST_P(List, ARunningTaskThatStartsAgainGoesToTheEnd) {
  const auto ids = submit_many(2);
  const auto leases = claim_up_to(2);
  advance(1s);
  (void)yield(leases[0]);
  (void)claim();
  EXPECT_THAT(ids_in({.kind = ListKind::kRunning}), ElementsAre(ids[1], ids[0]));
}

TEST_P(List, FinishedTasksComeByNumberNewestFirst) {
  const auto ids = submit_many(4);
  const auto leases = claim_up_to(4);
  (void)complete(leases[3]);
  (void)cancel(ids[0]);
  (void)abort(leases[1]);
  EXPECT_THAT(ids_in({.kind = ListKind::kFinished}), ElementsAre(ids[3], ids[1], ids[0]));
}

TEST_P(List, AllTasksComeByNumberNewestFirst) {
  const TaskId first = submit({.run_at = now() + 1h});
  const TaskId second = submit({.queue = "other"});
  const Lease third = start();
  const Lease fourth = start();
  (void)complete(fourth);
  EXPECT_THAT(ids_in({.kind = ListKind::kAll}), ElementsAre(fourth.id, third.id, second, first));
}

TEST_P(List, AListHoldsOnlyItsOwnState) {
  const TaskId scheduled = submit({.run_at = now() + 1h});
  const Lease finished = start();
  (void)complete(finished);
  const Lease running = start();
  const TaskId ready = submit();
  EXPECT_THAT(ids_in({.kind = ListKind::kScheduled}), ElementsAre(scheduled));
  EXPECT_THAT(ids_in({.kind = ListKind::kReady}), ElementsAre(ready));
  EXPECT_THAT(ids_in({.kind = ListKind::kRunning}), ElementsAre(running.id));
  EXPECT_THAT(ids_in({.kind = ListKind::kFinished}), ElementsAre(finished.id));
}

TEST_P(List, ATaskInAListIsWholeButForItsHistory) {
  const Lease lease = start({.key = "k", .spec = "[1]", .recurring = 1h, .max_attempts = 4});
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.5;
  beat.checkpoint = "2";
  (void)settle(beat);
  Task expected = get(lease.id);
  expected.history = History{};
  EXPECT_THAT(list_all({.kind = ListKind::kRunning}), ElementsAre(expected));

  Settlement failed = settlement(Event::kAbort, lease);
  (void)settle(failed);
  expected = get(lease.id);
  expected.history = History{};
  EXPECT_THAT(list_all({.kind = ListKind::kFinished}), ElementsAre(expected));
}

// ---- Filters ----

TEST_P(List, ByQueue) {
  const TaskId mine = submit({.queue = "mine"});
  (void)submit({.queue = "theirs"});
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .queue = "mine"}), ElementsAre(mine));
  EXPECT_THAT(ids_in({.kind = ListKind::kReady, .queue = "mine"}), ElementsAre(mine));
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .queue = "nowhere"}), IsEmpty());
}

TEST_P(List, ByState) {
  const TaskId scheduled = submit({.run_at = now() + 1h});
  const Lease completed = start();
  (void)complete(completed);
  const Lease aborted = start();
  (void)abort(aborted);
  const TaskId cancelled = submit();
  (void)cancel(cancelled);
  EXPECT_THAT(ids_in({.kind = ListKind::kFinished, .states = {State::kAborted}}), ElementsAre(aborted.id));
  EXPECT_THAT(ids_in({.kind = ListKind::kFinished, .states = {State::kCompleted, State::kCancelled}}),
              ElementsAre(cancelled, completed.id));
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .states = {State::kScheduled, State::kAborted}}),
              ElementsAre(aborted.id, scheduled));
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .states = {State::kRunning}}), IsEmpty());
}

TEST_P(List, ByOwner) {
  const Lease mine = start({}, "worker-1");
  const Lease theirs = start({}, "worker-2");
  EXPECT_THAT(ids_in({.kind = ListKind::kRunning, .owner = "worker-2"}), ElementsAre(theirs.id));
  (void)complete(mine);
  const ListQuery finished{
      .kind = ListKind::kFinished, .owner = "worker-1", .created_from = now(), .created_before = now() + 24h};
  EXPECT_THAT(ids_in(finished), ElementsAre(mine.id));
  ListQuery all = finished;
  all.kind = ListKind::kAll;
  EXPECT_THAT(ids_in(all), ElementsAre(mine.id));
}

TEST_P(List, ByTimeOfCreation) {
  const Instant start_time = now();
  std::vector<TaskId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(submit());
    advance(1s);
  }
  const auto between = [&](std::optional<Instant> from, std::optional<Instant> before) {
    return ids_in({.kind = ListKind::kAll, .created_from = from, .created_before = before});
  };
  EXPECT_THAT(between(start_time + 1s, start_time + 3s), ElementsAre(ids[2], ids[1]));
  EXPECT_THAT(between(start_time + 2s, std::nullopt), ElementsAre(ids[3], ids[2]));
  EXPECT_THAT(between(std::nullopt, start_time + 1us), ElementsAre(ids[0]));
  EXPECT_THAT(between(start_time + 3s, start_time + 1s), IsEmpty());
  EXPECT_THAT(ids_in({.kind = ListKind::kReady, .created_from = start_time + 3s}), ElementsAre(ids[3]));
}

// ---- Pages ----

TEST_P(List, PagesFollowEachOtherWithoutGapOrRepetition) {
  (void)submit_many(10, {.run_at = now() + 1h});
  (void)submit_many(20);
  const auto leases = claim_up_to(20);
  for (int i = 0; i < 10; ++i) (void)complete(leases[static_cast<std::size_t>(i)]);
  (void)submit_many(10, {.priority = 7});
  for (const ListKind kind : kAllKinds) {
    const auto whole = ids_in({.kind = kind, .limit = kMaxPage});
    EXPECT_THAT(whole, SizeIs(kind == ListKind::kAll ? 40 : 10));
    for (const int limit : {1, 3, 5, 10, 11}) {
      EXPECT_EQ(ids_in({.kind = kind, .limit = limit}), whole) << "kind " << static_cast<int>(kind) << " by " << limit;
    }
  }
}

TEST_P(List, TheLastPageHasNoNext) {
  (void)submit_many(4);
  const Page page = value_of(tasks().list({.kind = ListKind::kAll, .limit = 5}));
  EXPECT_THAT(page.tasks, SizeIs(4));
  EXPECT_EQ(page.next, "");
}

TEST_P(List, TasksThatComeOrLeaveBetweenPagesDoNotAffectOtherTasks) {
  auto ids = submit_many(9);
  ListQuery query{.kind = ListKind::kAll, .limit = 3};
  Page page = value_of(tasks().list(query));
  ASSERT_EQ(page.tasks.back().id, ids[6]);

  (void)submit_many(5);  // before the cursor
  configure(kQueue, {.retention = 0s});
  for (const TaskId& id : {ids[6], ids[4]}) (void)cancel(id);
  advance(1us);
  ASSERT_EQ(purge().purged, 2U);  // the one under the cursor, and one behind it

  query.cursor = page.next;
  page = value_of(tasks().list(query));
  ASSERT_THAT(page.tasks, SizeIs(3));
  EXPECT_EQ(page.tasks[0].id, ids[5]);
  EXPECT_EQ(page.tasks[1].id, ids[3]);
  EXPECT_EQ(page.tasks[2].id, ids[2]);
}

TEST_P(List, TheListOfReadyTasksIsStableWhileOthersAreClaimedAndSubmitted) {
  const auto ids = submit_many(9);
  ListQuery query{.kind = ListKind::kReady, .limit = 3};
  Page page = value_of(tasks().list(query));
  ASSERT_EQ(page.tasks.back().id, ids[2]);

  (void)claim_up_to(3);                     // what was shown is gone
  (void)submit_many(2, {.priority = 255});  // before the cursor
  (void)cancel(ids[4]);
  const TaskId last = submit({.priority = 1});
  advance(1h);

  query.cursor = page.next;
  query.limit = 100;
  page = value_of(tasks().list(query));
  std::vector<TaskId> rest;
  for (const Task& task : page.tasks) rest.push_back(task.id);
  EXPECT_THAT(rest, ElementsAre(ids[3], ids[5], ids[6], ids[7], ids[8], last));
}

TEST_P(List, TheListOfReadyTasksIsStableWhileTheRateChanges) {
  const auto ids = submit_many(6);
  ListQuery query{.kind = ListKind::kReady, .limit = 3};
  const Page page = value_of(tasks().list(query));
  advance(10s);
  configure(kQueue, {.ageing_rate = 1000});
  query.cursor = page.next;
  EXPECT_THAT(ids_in(query), ElementsAre(ids[3], ids[4], ids[5]));
}

TEST_P(List, TheListOfScheduledTasksIsStableWhileSomeComeDue) {
  std::vector<TaskId> ids;
  for (int i = 1; i <= 6; ++i) ids.push_back(submit({.run_at = now() + std::chrono::seconds(i)}));
  ListQuery query{.kind = ListKind::kScheduled, .limit = 2};
  const Page page = value_of(tasks().list(query));
  advance(3s);
  (void)promote();
  (void)submit({.run_at = now() + 1us});
  query.cursor = page.next;
  const auto rest = ids_in(query);
  EXPECT_THAT(std::vector(rest.end() - 3, rest.end()), ElementsAre(ids[3], ids[4], ids[5]));
}

TEST_P(List, TheListOfRunningTasksIsStableWhileSomeEndAndOthersBegin) {
  std::vector<Lease> leases;
  for (int i = 0; i < 6; ++i) {
    leases.push_back(start());
    advance(1s);
  }
  ListQuery query{.kind = ListKind::kRunning, .limit = 2};
  const Page page = value_of(tasks().list(query));
  (void)complete(leases[0]);
  (void)complete(leases[3]);
  (void)heartbeat(leases[4]);
  const Lease young = start();
  query.cursor = page.next;
  EXPECT_THAT(ids_in(query), ElementsAre(leases[2].id, leases[4].id, leases[5].id, young.id));
}

TEST_P(List, TheSameCursorGivesTheSamePageAgain) {
  (void)submit_many(6);
  ListQuery query{.kind = ListKind::kAll, .limit = 2};
  query.cursor = value_of(tasks().list(query)).next;
  const Page once = value_of(tasks().list(query));
  const Page again = value_of(tasks().list(query));
  EXPECT_EQ(once.tasks, again.tasks);
  EXPECT_EQ(once.next, again.next);
}

TEST_P(List, FiltersHoldOnEveryPage) {
  std::vector<TaskId> mine;
  for (int i = 0; i < 10; ++i) {
    mine.insert(mine.begin(), submit({.queue = "mine"}));
    (void)submit({.queue = "theirs"});
  }
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .queue = "mine", .limit = 3}), ElementsAreArray(mine));
}

// A filter that fits nothing may make pages short, even empty, but the end is reached.
TEST_P(List, ARareTaskIsFoundAmongMany) {
  const TaskId rare = submit({.queue = "rare"});
  (void)submit_many(3'000);
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .queue = "rare", .limit = 10}), ElementsAre(rare));
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .states = {State::kCancelled}, .limit = 10}), IsEmpty());
}

// Of an abort they may have 64 KiB, and a page 1,000 tasks.
TEST_P(List, ErrorsCountInTheBoundOfAPage) {
  const TaskError large{.code = "large", .description = std::string(60'000, 'x')};
  std::vector<TaskId> ids;
  for (int i = 0; i < 150; ++i) {
    ids.insert(ids.begin(), submit({}));
    Settlement abort = settlement(Event::kAbort, claim());
    abort.errors = {large};
    ASSERT_TRUE(is_success(settle(abort).verdict));
  }
  const Page page = value_of(tasks().list({.kind = ListKind::kAll, .limit = kMaxPage}));
  EXPECT_LE(page.tasks.size(), kMaxPageBytes / 60'000 + 1);
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .limit = kMaxPage}), ElementsAreArray(ids));
}

TEST_P(List, APageHasABoundInBytes) {
  const std::string mebibyte = "\"" + std::string(kMaxSpecBytes - 2, 'x') + "\"";
  std::vector<TaskId> ids;
  for (int i = 0; i < 10; ++i) ids.insert(ids.begin(), submit({.spec = mebibyte}));
  const Page page = value_of(tasks().list({.kind = ListKind::kAll}));
  EXPECT_LE(page.tasks.size(), kMaxPageBytes / kMaxSpecBytes);
  EXPECT_GE(page.tasks.size(), 1U);
  EXPECT_NE(page.next, "");
  EXPECT_THAT(ids_in({.kind = ListKind::kAll}), ElementsAreArray(ids));
}

// ---- Refusals ----

TEST_P(List, QueriesOutOfRangeAreRefused) {
  const Instant start_time = now();
  for (const ListQuery& query : {
           ListQuery{.limit = 0},
           ListQuery{.limit = kMaxPage + 1},
           ListQuery{.queue = "no such name!"},
           ListQuery{.kind = ListKind::kReady, .states = {State::kReady}},
           ListQuery{.kind = ListKind::kFinished, .states = {State::kReady}},
           ListQuery{.kind = ListKind::kAll, .owner = kOwner},
           ListQuery{.kind = ListKind::kAll,
           .owner = kOwner,
           .created_from = start_time,
           .created_before = start_time + 24h + 1us},
       }) {
    EXPECT_EQ(code_of(tasks().list(query)), ErrorCode::kRefused);
  }
}

TEST_P(List, AGarbageCursorIsMalformed) {
  (void)submit_many(5);
  for (const ListKind kind : kAllKinds) {
    for (const std::string& cursor :
         {std::string("garbage"), std::string(" "), std::string("0"), std::string("-1"), std::string("0 0 0 0 0"),
          std::string("\0", 1), std::string("' or 1=1 --"), std::string("99999999999999999999999999999999"),
          std::string("////"), std::string(10'000, 'A'), std::string("\xff\xfe")}) {
      EXPECT_EQ(code_of(tasks().list({.kind = kind, .cursor = cursor})), ErrorCode::kMalformed) << cursor.substr(0, 40);
    }
  }
}

TEST_P(List, ACursorThatWasCutOrProlongedIsMalformed) {
  (void)submit_many(5);
  const std::string cursor = value_of(tasks().list({.kind = ListKind::kAll, .limit = 2})).next;
  ASSERT_NE(cursor, "");
  EXPECT_EQ(code_of(tasks().list({.kind = ListKind::kAll, .cursor = cursor + "x"})), ErrorCode::kMalformed);
  EXPECT_EQ(code_of(tasks().list({.kind = ListKind::kAll, .cursor = "x" + cursor})), ErrorCode::kMalformed);
}

}  // namespace
}  // namespace horae::testing
