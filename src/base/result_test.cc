#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace horae {
namespace {

const std::vector<ErrorCode> kAllCodes = {
    ErrorCode::kMalformed, ErrorCode::kRefused,         ErrorCode::kNotFound,
    ErrorCode::kConflict,  ErrorCode::kUnauthenticated, ErrorCode::kForbidden,
    ErrorCode::kOverLimit, ErrorCode::kUnavailable,     ErrorCode::kInternal,
};

TEST(Error, HasAStableNameForEachCode) {
  EXPECT_EQ(to_string(ErrorCode::kMalformed), "malformed");
  EXPECT_EQ(to_string(ErrorCode::kNotFound), "not_found");
  std::set<std::string_view> names;
  for (const ErrorCode code : kAllCodes) names.insert(to_string(code));
  EXPECT_EQ(names.size(), kAllCodes.size()) << "no two codes share a name";
}

TEST(Error, IsRetryableOnlyWhereTheSameCallMaySucceedLater) {
  for (const ErrorCode code : kAllCodes) {
    const bool expected = code == ErrorCode::kOverLimit || code == ErrorCode::kUnavailable;
    EXPECT_EQ((Error{code, ""}.retryable()), expected) << to_string(code);
  }
}

TEST(Error, IsEqualInCodeAndMessage) {
  const Error error{ErrorCode::kConflict, "attempt 3 is running"};
  EXPECT_EQ(error, (Error{ErrorCode::kConflict, "attempt 3 is running"}));
  EXPECT_NE(error, (Error{ErrorCode::kRefused, "attempt 3 is running"}));
  EXPECT_NE(error, (Error{ErrorCode::kConflict, "attempt 4 is running"}));
}

TEST(Result, HoldsAValue) {
  Result<std::string> result = std::string("task");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, "task");
  EXPECT_EQ(result->size(), 4U);
  result.value() += "s";
  EXPECT_EQ(std::as_const(result).value(), "tasks");
}

TEST(Result, HoldsAnErrorEvenIfTheValueIsTextToo) {
  const Result<std::string> result = Error{ErrorCode::kNotFound, "no such task"};
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error(), (Error{ErrorCode::kNotFound, "no such task"}));
}

TEST(Result, MovesOutAMoveOnlyValue) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, MovesOutItsError) {
  Result<int> result = Error{ErrorCode::kUnavailable, "the store is away"};
  const Error taken = std::move(result).error();
  EXPECT_EQ(taken.message, "the store is away");
}

TEST(Result, HoldsSuccessWithoutAValue) {
  const Result<void> success;
  EXPECT_TRUE(success.ok());
  const Result<void> failure = Error{ErrorCode::kRefused, "not allowed"};
  ASSERT_FALSE(failure.ok());
  EXPECT_EQ(failure.error().code, ErrorCode::kRefused);
}

TEST(ResultDeathTest, AbortsWithTheErrorWhenTheValueOfAFailureIsTaken) {
  const Result<int> result = Error{ErrorCode::kNotFound, "no such task"};
  EXPECT_DEATH(static_cast<void>(result.value()), "no such task");
  EXPECT_DEATH(static_cast<void>(*result), "no such task");
}

TEST(ResultDeathTest, AbortsWhenTheErrorOfASuccessIsTaken) {
  const Result<int> result = 1;
  const Result<void> success;
  EXPECT_DEATH(static_cast<void>(result.error()), "of a success");
  EXPECT_DEATH(static_cast<void>(success.error()), "of a success");
}

}  // namespace
}  // namespace horae
