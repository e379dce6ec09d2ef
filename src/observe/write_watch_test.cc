#include "observe/write_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace horae {
namespace {

using testing::HasSubstr;
using std::literals::operator""s;

class WriteWatchTest : public testing::Test {
 protected:
  Result<void> check() {
    return watch_.check([this]() -> Result<void> {
      ++probes_;
      if (is_full_) return full_;
      return {};
    });
  }

  ManualClock clock_;
  WriteWatch watch_{clock_};
  const Error full_ = {ErrorCode::kUnavailable, "the disk is full"};
  bool is_full_ = true;
  int probes_ = 0;
};

TEST_F(WriteWatchTest, AStoreThatRefusedNothingIsNotProbed) {
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(probes_, 0);
}

TEST_F(WriteWatchTest, ARefusedWriteIsRememberedUntilAProbeSucceeds) {
  watch_.note_failed(full_);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(check().error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(check().error().message, HasSubstr("the store refuses writes: the disk is full"));
    clock_.advance(1s);
  }
  is_full_ = false;
  EXPECT_TRUE(check().ok());
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(probes_, 4);
}

TEST_F(WriteWatchTest, ProbesOnceASecondAtMost) {
  watch_.note_failed(full_);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(check().ok());
  EXPECT_EQ(probes_, 1);
  clock_.advance(1s);
  EXPECT_FALSE(check().ok());
  EXPECT_EQ(probes_, 2);
}

TEST_F(WriteWatchTest, AStoredTaskEndsIt) {
  watch_.note_failed(full_);
  EXPECT_FALSE(check().ok());
  watch_.note_stored();
  EXPECT_TRUE(check().ok());
}

TEST_F(WriteWatchTest, AShortFailureIsOverWithTheFirstProbe) {
  is_full_ = false;
  watch_.note_failed(full_);
  EXPECT_TRUE(check().ok());
}

TEST_F(WriteWatchTest, AWriteThatIsRefusedDuringAProbeIsNotForgotten) {
  is_full_ = false;
  watch_.note_failed(full_);
  EXPECT_TRUE(watch_
                  .check([this]() -> Result<void> {
                    watch_.note_failed(full_);
                    return {};
                  })
                  .ok());
  is_full_ = true;
  clock_.advance(1s);
  EXPECT_FALSE(check().ok());
}

TEST_F(WriteWatchTest, OtherErrorsAreAnswers) {
  watch_.note_failed({ErrorCode::kRefused, "no"});
  watch_.note_failed({ErrorCode::kInternal, "a bug"});
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(probes_, 0);
}

}  // namespace
}  // namespace horae
