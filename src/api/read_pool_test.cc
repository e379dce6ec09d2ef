#include "api/read_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace horae::testing {
namespace {

using ::testing::ElementsAre;

// A pool with one thread, which is held up until release().
class HeldPool {
 public:
  explicit HeldPool(std::size_t max_waiting) : pool_(1, max_waiting) {
    pool_.start();
    std::promise<void> is_inside;
    EXPECT_TRUE(pool_.try_run("", [&, go_on = go_on_.get_future().share()] {
      is_inside.set_value();
      go_on.wait();
    }));
    is_inside.get_future().wait();
  }

  bool add(const std::string& caller) {
    return pool_.try_run(caller, [this, caller] { order_.push_back(caller); });
  }

  const std::vector<std::string>& release() {
    go_on_.set_value();
    pool_.stop();
    return order_;
  }

 private:
  std::promise<void> go_on_;
  std::vector<std::string> order_;  // by the pool's thread, and after its end
  ReadPool pool_;
};

TEST(ReadPool, CallersTakeTurns) {
  HeldPool pool(100);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.add("a"));
  EXPECT_TRUE(pool.add("b"));
  EXPECT_TRUE(pool.add(""));
  EXPECT_TRUE(pool.add("b"));
  EXPECT_THAT(pool.release(), ElementsAre("a", "b", "", "a", "b", "a"));
}

TEST(ReadPool, ATokenHasAQuarterOfTheWaitingCalls) {
  HeldPool pool(8);
  EXPECT_TRUE(pool.add("a"));
  EXPECT_TRUE(pool.add("a"));
  EXPECT_FALSE(pool.add("a"));
  EXPECT_TRUE(pool.add("b"));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pool.add("")) << "a caller without a token is not limited";
  EXPECT_FALSE(pool.add("")) << "there are 8 already";
  EXPECT_FALSE(pool.add("b"));
  EXPECT_EQ(pool.release().size(), 8U);
}

}  // namespace
}  // namespace horae::testing
