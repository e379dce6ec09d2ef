#include "api/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_store.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ReadinessTest : public ::testing::Test {
 protected:
  void run() { EXPECT_EQ(readiness_.run_once(clock_.now()), clock_.now() + 1s); }

  ManualClock clock_;
  StoreGate gate_;
  Result<void> also_;
  const std::unique_ptr<Store> store_ = open_sqlite_store(std::string(kSqliteMemory), clock_).value();
  GatedStore gated_{*store_, gate_};
  Readiness readiness_{gated_.queues(), [this] { return also_; }, clock_};
};

TEST_F(ReadinessTest, IsWhatTheLastCheckFound) {
  EXPECT_THAT(readiness_.state().error().message, HasSubstr("starting"));
  run();
  EXPECT_TRUE(readiness_.state().ok());
  gate_.fail_with(ErrorCode::kUnavailable);
  EXPECT_TRUE(readiness_.state().ok()) << "no call asks the store";
  clock_.advance(2s);
  run();
  EXPECT_THAT(readiness_.state().error().message, HasSubstr("the store does not answer"));
  gate_.fail_with(std::nullopt);
  clock_.advance(1s);
  run();
  EXPECT_TRUE(readiness_.state().ok());
}

TEST_F(ReadinessTest, AsksNothingWhileOtherCallsAreAnswered) {
  run();
  gate_.fail_with(ErrorCode::kUnavailable);  // which would be seen by a query
  for (int i = 0; i < 10; ++i) {
    clock_.advance(1s);
    readiness_.note_answer();
    run();
    EXPECT_TRUE(readiness_.state().ok());
  }
}

// The check that is under way waits for it.
TEST_F(ReadinessTest, EndsWhenTheStoreIsSilent) {
  run();
  clock_.advance(5s);
  EXPECT_TRUE(readiness_.state().ok());
  clock_.advance(1s);
  EXPECT_THAT(readiness_.state().error().message, HasSubstr("has not answered for 6 s"));
}

TEST_F(ReadinessTest, DependsOnTheOtherCheckAsWell) {
  also_ = Error{ErrorCode::kUnavailable, "the disk is full"};
  run();
  EXPECT_EQ(readiness_.state().error().message, "the disk is full");
  also_ = {};
  run();
  EXPECT_TRUE(readiness_.state().ok());
}

}  // namespace
}  // namespace horae::testing
