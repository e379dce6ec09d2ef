#include "base/waker.h"

#include <gtest/gtest.h>

#include <thread>

namespace horae {
namespace {

using std::chrono::hours;

TEST(Waker, AWakeUpBeforeTheWaitIsNotLost) {
  Waker waker;
  waker.wake();
  EXPECT_TRUE(waker.wait(SystemClock().now() + hours(1)));
}

TEST(Waker, SeveralWakeUpsCountAsOne) {
  Waker waker;
  waker.wake();
  waker.wake();
  EXPECT_TRUE(waker.wait(SystemClock().now() + hours(1)));
  EXPECT_FALSE(waker.wait(SystemClock().now()));
}

TEST(Waker, APastDeadlineEndsTheWait) {
  Waker waker;
  EXPECT_FALSE(waker.wait(SystemClock().now()));
  EXPECT_FALSE(waker.wait(MonotonicTime()));
}

TEST(Waker, AWakeUpEndsTheWaitOfAnotherThread) {
  Waker waker, answer;
  std::thread other([&] {
    EXPECT_TRUE(waker.wait(SystemClock().now() + hours(1)));
    answer.wake();
  });
  waker.wake();
  EXPECT_TRUE(answer.wait(SystemClock().now() + hours(1)));
  other.join();
}

}  // namespace
}  // namespace horae
