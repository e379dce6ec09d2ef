#include "engine/runner.h"

#include <gmock/gmock.h>

#include <functional>
#include <future>
#include <sstream>

namespace horae {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Calling final : public Loop {
 public:
  explicit Calling(std::function<MonotonicTime(MonotonicTime)> body, std::string_view name = "calling")
      : body_(std::move(body)), name_(name) {}
  std::string_view name() const override { return name_; }
  MonotonicTime run_once(MonotonicTime now) override { return body_(now); }

 private:
  const std::function<MonotonicTime(MonotonicTime)> body_;
  const std::string_view name_;
};

class RunnerTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  std::ostringstream said_;
  Runner runner_{clock_, Logger(said_, clock_, {.level = LogLevel::kDebug})};
};

TEST_F(RunnerTest, RunsALoopWhenItWantsTo) {
  std::promise<void> third;
  int runs = 0;
  Calling loop([&](MonotonicTime now) {
    if (++runs == 3) third.set_value();
    return runs < 3 ? now : now + hours(1);
  });
  Waker waker;
  runner_.add(loop, waker);
  runner_.start();
  third.get_future().wait();
  runner_.stop();
  EXPECT_EQ(runs, 3);
}

TEST_F(RunnerTest, RunsALoopAtOnceWhenItIsWoken) {
  std::promise<void> first, second;
  int runs = 0;
  Calling loop([&](MonotonicTime now) {
    (++runs == 1 ? first : second).set_value();
    return now + hours(1);
  });
  Waker waker;
  runner_.add(loop, waker);
  runner_.start();
  first.get_future().wait();
  waker.wake();
  second.get_future().wait();
  runner_.stop();
}

TEST_F(RunnerTest, RunsOtherLoopsWhileOneHangs) {
  std::promise<void> release, beats;
  int runs = 0;
  Calling hanging([&](MonotonicTime now) {
    release.get_future().wait();
    return now + hours(1);
  });
  Calling beating([&](MonotonicTime now) {
    if (++runs == 100) beats.set_value();
    return runs < 100 ? now : now + hours(1);
  });
  Waker one, two;
  runner_.add(hanging, one);
  runner_.add(beating, two);
  runner_.start();
  beats.get_future().wait();
  release.set_value();
  runner_.stop();
}

TEST_F(RunnerTest, StopsInReverseOrderAndMayBeStoppedTwice) {
  const auto idle = [](MonotonicTime now) { return now + hours(1); };
  Calling first(idle, "first"), second(idle, "second");
  Waker one, two;
  runner_.add(first, one);
  runner_.add(second, two);
  runner_.start();
  runner_.stop();
  runner_.stop();
  const std::string said = said_.str();
  ASSERT_THAT(said, AllOf(HasSubstr("loop=first"), HasSubstr("loop=second")));
  EXPECT_LT(said.find("loop=second"), said.find("loop=first"));
  EXPECT_EQ(said.find("loop=second"), said.rfind("loop=second"));
}

}  // namespace
}  // namespace horae
