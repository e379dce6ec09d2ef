#include "observe/observed_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/observation.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Kind = Change::Kind;

Uuid id_of(std::uint8_t number) {
  Uuid id;
  id.bytes[15] = number;
  return id;
}

// Without texts, which live no longer than the call.
class RecordingObserver final : public ChangeObserver {
 public:
  void on_changes(std::span<const Change> changes) override {
    ++calls;
    for (Change change : changes) {
      change.queue = {};
      change.owner = {};
      seen.push_back(change);
    }
  }
  std::vector<Change> take() { return std::exchange(seen, {}); }

  int calls = 0;
  std::vector<Change> seen;
};

class ObservedStoreTest : public ::testing::Test {
 protected:
  ObservedStoreTest() { observation_.add(recorder_); }

  // Two tasks, both running.
  void start_two() {
    ASSERT_TRUE(observed_.tasks().submit(submissions_).ok());
    ASSERT_TRUE(observed_.tasks().claim(wishes_).ok());
    recorder_ = {};
  }

  ManualClock clock_;
  const std::unique_ptr<Store> store_ = open_sqlite_store(std::string(kSqliteMemory), clock_).value();
  RecordingObserver recorder_;
  Observation observation_{*store_, clock_};
  Store& observed_ = observation_.store();
  const std::vector<Submission> submissions_ = {{.task = {.queue = "mail", .spec = "1"}, .new_id = id_of(1)},
                                                {.task = {.queue = "mail", .spec = "2"}, .new_id = id_of(2)}};
  const std::vector<ClaimWish> wishes_ = {{.owner = "w", .queues = {"mail"}, .max = 5, .token = id_of(9)}};
};

TEST_F(ObservedStoreTest, CountsTasksAndTimesCalls) {
  ASSERT_TRUE(observed_.tasks().submit(submissions_).ok());
  ASSERT_TRUE(observed_.tasks().submit(submissions_).ok());  // a repetition
  ASSERT_TRUE(observed_.tasks().claim(wishes_).ok());
  const std::vector<Settlement> settlements = {{.event = Event::kComplete, .id = id_of(1), .attempt = 1, .owner = "w"},
                                               {.event = Event::kComplete, .id = id_of(2), .attempt = 7, .owner = "w"}};
  ASSERT_TRUE(observed_.tasks().settle(settlements).ok());
  const std::string text = observation_.metrics().text();
  EXPECT_THAT(text, HasSubstr(R"(horae_tasks_total{event="submit"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_tasks_total{event="claim"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_tasks_total{event="complete"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_settles_refused_total{verdict="stale_attempt"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="submit",result="ok"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_batch_items_sum{operation="submit"} 4)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_call_seconds_count{operation="settle"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("have_served"))) << "an operation is published from its first call on";
}

TEST_F(ObservedStoreTest, ReportsEachCallOnceAndInOrder) {
  start_two();
  const std::vector<Settlement> settlements = {
      {.event = Event::kYield, .id = id_of(1), .attempt = 1, .owner = "w"},
      {.event = Event::kHeartbeat, .id = id_of(2), .attempt = 1, .owner = "w"}};
  const std::vector<Submission> more = {{.task = {.queue = "mail", .spec = "3"}, .new_id = id_of(3)}};
  const std::vector<ClaimWish> next = {{.owner = "w", .queues = {"mail"}, .max = 1, .token = id_of(10)}};
  ASSERT_TRUE(observed_.tasks().exchange({.settlements = settlements, .submissions = more, .wishes = next}).ok());
  EXPECT_EQ(recorder_.calls, 1);
  EXPECT_THAT(recorder_.take(),
              ElementsAre(Change{.event = Event::kYield, .task = id_of(1), .state = State::kReady},
                          Change{.kind = Kind::kTasks, .event = Event::kHeartbeat, .count = 1},
                          Change{.event = Event::kSubmit, .task = id_of(3), .state = State::kReady},
                          Change{.event = Event::kClaim, .task = id_of(1), .state = State::kRunning}));
}

TEST_F(ObservedStoreTest, ReportsCancelledAndPromotedTasks) {
  start_two();
  const std::vector<CancelWish> wishes = {{.id = id_of(1), .reason = std::nullopt}};
  ASSERT_TRUE(observed_.tasks().cancel(wishes).ok());
  EXPECT_THAT(recorder_.take(),
              ElementsAre(Change{.event = Event::kCancel, .task = id_of(1), .state = State::kCancelled}));
  const std::vector<Submission> later = {
      {.task = {.queue = "mail", .spec = "3", .run_at = clock_.wall_now() + std::chrono::seconds(1)},
       .new_id = id_of(3)}};
  ASSERT_TRUE(observed_.tasks().submit(later).ok());
  EXPECT_THAT(recorder_.take(),
              ElementsAre(Change{.event = Event::kSubmit, .task = id_of(3), .state = State::kScheduled}));
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(observed_.tasks().promote_due(10).ok());
  EXPECT_THAT(recorder_.take(),
              ElementsAre(Change{.kind = Kind::kTasks, .event = Event::kPromote, .state = State::kReady, .count = 1}));
}

TEST_F(ObservedStoreTest, ReportsAndCountsExpiredLeases) {
  start_two();
  ASSERT_TRUE(observed_.tasks().extend_leases(observed_.tasks().look()->stamp).value());
  clock_.advance(kDefaultLease + std::chrono::seconds(1));
  ASSERT_TRUE(
      observed_.tasks().expire_leases({.seen = observed_.tasks().look()->stamp, .slack = std::chrono::hours(1)}).ok());
  EXPECT_EQ(recorder_.seen.size(), 2U);
  EXPECT_THAT(observation_.metrics().text(), HasSubstr(R"(horae_tasks_total{event="expire"} 2)"));
}

TEST_F(ObservedStoreTest, ReportsQueuesThatAreConfiguredOrPaused) {
  ASSERT_TRUE(observed_.queues().configure("mail", {.ageing_rate = 2}).ok());
  EXPECT_THAT(recorder_.take(), ElementsAre(Change{.kind = Kind::kQueue, .is_open = true}));
  ASSERT_TRUE(observed_.queues().configure("mail", {.paused = true}).ok());
  EXPECT_THAT(recorder_.take(), ElementsAre(Change{.kind = Kind::kQueue}, Change{.kind = Kind::kClaims}));
}

TEST_F(ObservedStoreTest, ReportsTheSchedulerOnlyWhenItChanges) {
  ASSERT_TRUE(observed_.queues().set_scheduler_running(false).ok());
  ASSERT_TRUE(observed_.queues().set_scheduler_running(false).ok());
  EXPECT_THAT(recorder_.take(), ElementsAre(Change{.kind = Kind::kClaims}));
  ASSERT_TRUE(observed_.queues().set_scheduler_running(true).ok());
  EXPECT_THAT(recorder_.take(), ElementsAre(Change{.kind = Kind::kClaims, .is_open = true}));
}

TEST_F(ObservedStoreTest, ReportsTokensThatAreCreatedOrRevoked) {
  const Token token{
      .id = "t-1", .name = "one", .role = Role::kRead, .scope = QueueScope::of({"*"}).value(), .created_at = {}};
  ASSERT_TRUE(observed_.tokens().create(token).ok());
  EXPECT_THAT(recorder_.take(), ElementsAre(Change{.kind = Kind::kTokens}));
  ASSERT_FALSE(observed_.tokens().revoke("t-2").value());
  EXPECT_THAT(recorder_.take(), IsEmpty());
  ASSERT_TRUE(observed_.tokens().revoke("t-1").value());
  EXPECT_THAT(recorder_.take(), ElementsAre(Change{.kind = Kind::kTokens}));
}

TEST_F(ObservedStoreTest, TimesAllPartsOfTheStoreAndReportsNoReads) {
  ASSERT_TRUE(observed_.queues().queues().ok());
  ASSERT_FALSE(observed_.queues().configure("a b", {}).ok());
  ASSERT_TRUE(observed_.tokens().tokens().ok());
  ASSERT_TRUE(observed_.cluster().tick({.self = {.id = "worker-1"}}).ok());
  EXPECT_EQ(recorder_.calls, 0);
  const std::string text = observation_.metrics().text();
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="queues",result="ok"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="configure",result="failed"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="tokens",result="ok"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_call_seconds_count{operation="tick"} 1)"));
}

}  // namespace
}  // namespace horae::testing
