#include "agent/worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/temporary_folder.h"

namespace horae::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using std::literals::operator""h;
using std::literals::operator""ms;
using std::literals::operator""s;

constexpr std::string_view kId = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

// Answers what the test has put in, in order, and then that nothing answers.
class ScriptedNode final : public NodeCalls {
 public:
  Result<std::string> post(const std::string&, const std::string& body, Duration) override {
    seen.push_back(body);
    if (answers.empty()) return Error{ErrorCode::kUnavailable, "no answer"};
    auto answer = answers.front();
    answers.pop_front();
    return answer;
  }
  void verdict(const std::string& name) { answers.emplace_back(R"({"outcomes":[{"verdict":")" + name + "\"}]}"); }

  std::deque<Result<std::string>> answers;
  std::vector<std::string> seen;
};

class ScriptedExecutor final : public Executor {
 public:
  void start(ChoreId run, const LeasedTask& task, MonotonicTime, OnEnd on_end) override {
    started.push_back(to_string(task.id) + " " + std::to_string(task.attempt));
    ends[run] = std::move(on_end);
  }
  void stop(ChoreId run, MonotonicTime) override { stopped.push_back(run); }
  RunProgress progress(ChoreId, MonotonicTime) override { return next; }

  std::vector<std::string> started;
  std::vector<ChoreId> stopped;
  std::map<ChoreId, OnEnd> ends;
  RunProgress next;
};

class AgentWorker : public ::testing::Test {
 protected:
  AgentWorker() { make({}); }

  void make(WorkerOptions options) {
    options.queues = {"mail"};
    options.slots = 2;
    options.lease = 9s;
    options.grace = 8s;
    worker_.reset();
    journal_.emplace(Journal::open(folder_.path() + "/journal", log_).value());
    worker_ = std::make_unique<Worker>(options, "worker-7",
                                       Worker::Parts{.claims = claims_,
                                                     .reports = reports_,
                                                     .executor = executor_,
                                                     .journal = *journal_,
                                                     .clock = clock_,
                                                     .ids = ids_,
                                                     .random = random_,
                                                     .log = log_,
                                                     .last_contact = [this] { return last_contact_; },
                                                     .wake_claims = [] {},
                                                     .wake_reports = [] {},
                                                     .on_exit = [this](WorkerExit exit) { exits_.push_back(exit); }});
  }

  static std::string task_json(int attempt) {
    return R"({"id":")" + std::string(kId) + R"(","number":3,"queue":"mail","spec":{},"attempt":)" +
           std::to_string(attempt) + "}";
  }
  void claim(const std::string& tasks) {
    claims_.answers.emplace_back(R"({"tasks":[)" + tasks + "]}");
    (void)worker_->claim_once(clock_.now());
  }
  void report() { (void)worker_->report_once(clock_.now()); }
  std::string last_report() const { return reports_.seen.empty() ? "" : reports_.seen.back(); }

  horae::testing::TemporaryFolder folder_;
  ManualClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
  std::ostringstream said_;
  Logger log_{said_, clock_};
  ScriptedNode claims_;
  ScriptedNode reports_;
  ScriptedExecutor executor_;
  std::optional<Journal> journal_;
  MonotonicTime last_contact_ = clock_.now();
  std::vector<WorkerExit> exits_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(AgentWorker, RepeatsAClaimUnderItsTokenUntilItIsAnswered) {
  (void)worker_->claim_once(clock_.now());
  (void)worker_->claim_once(clock_.now());
  claim(task_json(1));
  ASSERT_EQ(claims_.seen.size(), 3U);
  EXPECT_EQ(claims_.seen[0], claims_.seen[1]);
  EXPECT_EQ(claims_.seen[0], claims_.seen[2]);
  EXPECT_THAT(claims_.seen[0], HasSubstr(R"("max":2)"));
  claim("");
  EXPECT_NE(claims_.seen[3], claims_.seen[2]);
  EXPECT_THAT(claims_.seen[3], HasSubstr(R"("max":1)"));
}

TEST_F(AgentWorker, StartsAnAttemptOnceAlthoughItIsLeasedToItTwice) {
  claim(task_json(1));
  claim(task_json(1));
  EXPECT_THAT(executor_.started, ElementsAre(std::string(kId) + " 1"));
  claim(task_json(2));
  EXPECT_EQ(executor_.started.size(), 2U);
}

TEST_F(AgentWorker, ClaimsNothingWhileAllPlacesAreTaken) {
  claim(task_json(1) + "," + task_json(2));
  (void)worker_->claim_once(clock_.now());
  EXPECT_EQ(claims_.seen.size(), 1U);
}

TEST_F(AgentWorker, BeatsAtAThirdOfTheLeaseWithProgressAndCheckpoint) {
  claim(task_json(1));
  report();
  EXPECT_THAT(reports_.seen, IsEmpty());
  clock_.advance(3s);
  executor_.next = {.progress = 0.5, .checkpoint = "{\"at\": 1}"};
  report();  // not answered
  executor_.next = {};
  reports_.verdict("accepted");
  report();
  EXPECT_THAT(last_report(), AllOf(HasSubstr(R"("event":"heartbeat","owner":"worker-7")"),
                                   HasSubstr(R"("progress":0.5)"), HasSubstr(R"("checkpoint":{"at": 1})")));
  clock_.advance(3s);
  reports_.verdict("accepted");
  report();
  EXPECT_THAT(last_report(), ::testing::Not(HasSubstr("checkpoint")));
}

TEST_F(AgentWorker, StopsARunWhoseTaskWasCancelledAndSettlesNothing) {
  claim(task_json(1));
  clock_.advance(3s);
  reports_.verdict("cancelled");
  report();
  EXPECT_THAT(executor_.stopped, ElementsAre(1));
  executor_.ends.at(1)(run_stopped());
  report();
  EXPECT_EQ(reports_.seen.size(), 1U);
  EXPECT_THAT(journal_->open_attempts(), IsEmpty());
}

TEST_F(AgentWorker, SendsAnEndUntilANodeAnswersAndHasItInTheJournalMeanwhile) {
  claim(task_json(1));
  EXPECT_EQ(journal_->open_attempts().size(), 1U);
  executor_.ends.at(1)(run_done("7"));
  report();
  report();
  ASSERT_EQ(reports_.seen.size(), 2U);
  EXPECT_EQ(reports_.seen[0], reports_.seen[1]);
  EXPECT_THAT(journal_->open_attempts().begin()->second, ::testing::Optional(HasSubstr(R"("result":7)")));
  reports_.verdict("repeated");
  report();
  EXPECT_THAT(journal_->open_attempts(), IsEmpty());
}

TEST_F(AgentWorker, ReportsAfterARestartUnderTheOwnerThatEarnedTheResult) {
  const AttemptKey finished{.owner = "worker-1", .id = parse_uuid(kId).value(), .attempt = 1};
  const AttemptKey running{.owner = "worker-1", .id = parse_uuid(kId).value(), .attempt = 2};
  const std::vector<JournalRecord> left = {
      {.kind = JournalRecord::Kind::kEnd, .key = finished, .settlement = R"({"event":"complete","owner":"worker-1"})"},
      {.kind = JournalRecord::Kind::kStart, .key = running}};
  ASSERT_TRUE(journal_->append(left).ok());
  make({});
  reports_.answers.emplace_back(R"({"outcomes":[{"verdict":"accepted"},{"verdict":"stale_attempt"}]})");
  report();
  EXPECT_THAT(last_report(),
              AllOf(HasSubstr(R"({"event":"complete","owner":"worker-1"})"),
                    HasSubstr(R"({"event":"heartbeat","owner":"worker-1",)"), HasSubstr(R"("lease":"100ms")")));
  EXPECT_THAT(journal_->open_attempts(), IsEmpty());
}

TEST_F(AgentWorker, AbortsATaskWhoseResultTheNodeFindsWrong) {
  claim(task_json(1));
  executor_.ends.at(1)(run_done("7"));
  reports_.answers.emplace_back(R"({"outcomes":[{"id":null,"problem":{"detail":"result: too large"}}]})");
  report();
  reports_.verdict("accepted");
  report();
  EXPECT_THAT(last_report(), AllOf(HasSubstr(R"("event":"abort")"), HasSubstr("result: too large")));
  EXPECT_THAT(journal_->open_attempts(), IsEmpty());
}

TEST_F(AgentWorker, GivesUpARunThatTheExecutorHasLost) {
  claim(task_json(1));
  executor_.ends.at(1)(run_stopped());  // nothing has stopped it
  reports_.verdict("accepted");
  report();
  EXPECT_THAT(last_report(), AllOf(HasSubstr(R"("event":"heartbeat")"), HasSubstr(R"("lease":"100ms")")));
}

TEST_F(AgentWorker, YieldsWhatRunsWhenItDrainsAndExitsWhenAllIsReported) {
  claim(task_json(1));
  worker_->drain();
  (void)worker_->claim_once(clock_.now());
  report();
  EXPECT_THAT(executor_.stopped, IsEmpty());
  clock_.advance(2s);
  report();
  EXPECT_THAT(executor_.stopped, ElementsAre(1));
  executor_.ends.at(1)(run_stopped({.progress = 0.5}));
  report();
  EXPECT_THAT(exits_, IsEmpty());
  reports_.verdict("accepted");
  report();
  EXPECT_THAT(last_report(), AllOf(HasSubstr(R"("event":"yield")"), HasSubstr(R"("progress":0.5)")));
  EXPECT_THAT(exits_, ElementsAre(WorkerExit::kDrained));
  EXPECT_EQ(claims_.seen.size(), 1U);
}

TEST_F(AgentWorker, ReleasesWhatItGetsWhileItDrains) {
  (void)worker_->claim_once(clock_.now());  // the answer is lost
  worker_->drain();
  claim(task_json(1));
  EXPECT_EQ(claims_.seen.size(), 2U);
  EXPECT_THAT(executor_.started, IsEmpty());
  reports_.verdict("accepted");
  report();
  EXPECT_THAT(last_report(), HasSubstr(R"("event":"release")"));
}

TEST_F(AgentWorker, ExitsWithoutContactOnlyIfItIsSetTo) {
  clock_.advance(1h);
  report();
  EXPECT_THAT(exits_, IsEmpty());
  last_contact_ = clock_.now();
  make({.contact_timeout = 30s});
  clock_.advance(30s);
  report();
  EXPECT_THAT(exits_, IsEmpty());
  clock_.advance(1ms);
  report();
  EXPECT_THAT(exits_, ElementsAre(WorkerExit::kLostContact));
}

}  // namespace
}  // namespace horae::agent
