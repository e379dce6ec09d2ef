#include "http/limits/held_bytes.h"

#include <gtest/gtest.h>

namespace horae::testing {
namespace {

std::shared_ptr<CallerShare> share_of(std::size_t bytes) {
  return std::make_shared<CallerShare>(CallerLimits{.bytes = bytes});
}

TEST(HeldBytes, CountInTheTotalAndInTheShare) {
  Quota total(1'000);
  const auto share = share_of(100);
  {
    HeldBytes request(total, share);
    EXPECT_TRUE(request.try_resize(40));
    EXPECT_TRUE(request.try_resize(30));
    EXPECT_EQ(total.held(), 30U);
    const auto answer = request.for_answer(200);
    ASSERT_TRUE(answer.has_value()) << "the last one may exceed the share";
    EXPECT_EQ(share->bytes.held(), 230U);
    EXPECT_FALSE(request.try_resize(31));
    EXPECT_EQ(total.held(), 230U) << "a refusal changes nothing";
  }
  EXPECT_EQ(total.held(), 0U);
  EXPECT_EQ(share->bytes.held(), 0U);
}

TEST(HeldBytes, MoveToTheShareOfACallerThatIsKnownLater) {
  Quota total(1'000);
  const auto strangers = share_of(100);
  const auto caller = share_of(100);
  HeldBytes head(total, strangers);
  ASSERT_TRUE(head.try_resize(40));
  head.move_to(caller);
  EXPECT_EQ(strangers->bytes.held(), 0U);
  EXPECT_EQ(caller->bytes.held(), 40U);
  head.move_to(nullptr);
  EXPECT_EQ(caller->bytes.held(), 0U);
  EXPECT_EQ(total.held(), 40U);
}

TEST(HeldBytes, ARequestOfTheSizeOfTheShareIsAnswered) {
  Quota total(1'000);
  HeldBytes request(total, share_of(100));
  ASSERT_TRUE(request.try_resize(100));
  EXPECT_TRUE(request.for_answer(100).has_value());
}

// Several tokens that use all of their shares must not keep out one that uses little.
TEST(HeldBytes, WhenTheTotalIsShortOnlyCallersThatHoldLittleGetMore) {
  Quota total(64'000);
  const auto first = share_of(30'000);
  const auto second = share_of(30'000);
  HeldBytes large(total, first);
  HeldBytes also_large(total, second);
  ASSERT_TRUE(large.try_resize(20'000));
  ASSERT_TRUE(also_large.try_resize(20'000));
  HeldBytes more(total, first);
  EXPECT_FALSE(more.try_resize(10));
  EXPECT_FALSE(HeldBytes(total, second).try_resize(10));
  const auto third = share_of(30'000);
  HeldBytes light(total, third);
  EXPECT_TRUE(light.try_resize(10'000));
  EXPECT_TRUE(light.for_answer(5'000).has_value()) << "its own request is not in the way of its answer";
  EXPECT_FALSE(HeldBytes(total, third).try_resize(10)) << "it holds much now";
}

}  // namespace
}  // namespace horae::testing
