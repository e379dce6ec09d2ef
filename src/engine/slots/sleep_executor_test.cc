#include "engine/slots/sleep_executor.h"

#include <gmock/gmock.h>

#include "engine/slots/executors.h"

namespace horae {
namespace {

using std::literals::operator""ms;
using std::literals::operator""s;
using ::testing::HasSubstr;

class SleepTest : public ::testing::Test {
 protected:
  void start(std::string spec) {
    LeasedTask task;
    task.spec = std::move(spec);
    executors_.start(1, task, clock_.now(), [this](RunEnd end) {
      ++ends_;
      end_ = std::move(end);
    });
  }
  std::string error() const { return end_ ? end_->errors.at(0).code + ": " + end_->errors.at(0).description : ""; }

  ManualClock clock_;
  int wakes_ = 0;
  SleepExecutor sleeps_{[this] { ++wakes_; }};
  Executors executors_{{{"sleep", &sleeps_}}};
  std::optional<RunEnd> end_;
  int ends_ = 0;
};

TEST_F(SleepTest, SleepsForTheTimeOfTheSpec) {
  start(R"({"run":"sleep","for":"3s"})");
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(sleeps_.run_once(clock_.now()), clock_.now() + 3s);
  clock_.advance(3s - 1ms);
  sleeps_.run_once(clock_.now());
  EXPECT_FALSE(end_);
  clock_.advance(1ms);
  sleeps_.run_once(clock_.now());
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->kind, RunEnd::Kind::kDone);
  sleeps_.run_once(clock_.now() + 10s);
  EXPECT_EQ(ends_, 1);
}

TEST_F(SleepTest, EndsASleepOfZeroAtOnce) {
  start(R"({"run":"sleep","for":"0"})");
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->kind, RunEnd::Kind::kDone);
}

TEST_F(SleepTest, ReportsTheShareOfTheTimeAsProgress) {
  start(R"({"run":"sleep","for":"4s"})");
  EXPECT_EQ(executors_.progress(1, clock_.now()).progress, 0.0);
  EXPECT_EQ(executors_.progress(1, clock_.now() + 1s).progress, 0.25);
  EXPECT_EQ(executors_.progress(1, clock_.now() + 9s).progress, 1.0);
  EXPECT_FALSE(executors_.progress(2, clock_.now()).progress);
}

TEST_F(SleepTest, ReportsTheProgressOfAStoppedSleep) {
  start(R"({"run":"sleep","for":"4s"})");
  executors_.stop(1, clock_.now() + 1s);
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->kind, RunEnd::Kind::kStopped);
  EXPECT_EQ(end_->last.progress, 0.25);
  executors_.stop(1, clock_.now() + 1s);
  sleeps_.run_once(clock_.now() + 9s);
  EXPECT_EQ(ends_, 1);
}

TEST_F(SleepTest, FailsForAnInvalidSpec) {
  start(R"({"run":"fly"})");
  EXPECT_THAT(error(), HasSubstr("unsupported_spec: \"run\" is \"fly\"; this node can run: sleep"));
  start("{}");
  EXPECT_THAT(error(), HasSubstr("unsupported_spec: the spec has no \"run\""));
  start(R"({"run":"sleep"})");
  EXPECT_THAT(error(), HasSubstr("bad_spec: the spec has no \"for\""));
  start(R"({"run":"sleep","for":"long"})");
  EXPECT_THAT(error(), HasSubstr("bad_spec: "));
  start(R"({"run":"sleep","for":"100000h"})");
  EXPECT_THAT(error(), HasSubstr("a year long at most"));
}

}  // namespace
}  // namespace horae
