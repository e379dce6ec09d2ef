#include "app/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace horae {
namespace {

const std::vector<std::string> kWords = {"serve", "task", "queue", "scheduler"};

TEST(Nearest, AllowsAnAddedDroppedChangedOrSwappedLetter) {
  EXPECT_EQ(nearest_of("servve", kWords), "serve");
  EXPECT_EQ(nearest_of("srve", kWords), "serve");
  EXPECT_EQ(nearest_of("qxeue", kWords), "queue");
  EXPECT_EQ(nearest_of("tsak", kWords), "task");
  EXPECT_EQ(nearest_of("shcedulre", kWords), "scheduler");
}

TEST(Nearest, ReturnsTheNearest) {
  EXPECT_EQ(nearest_of("cart", std::vector<std::string>{"caret", "cart", "carts"}), "cart");
}

TEST(Nearest, ReturnsNothingForADistantText) {
  EXPECT_EQ(nearest_of("agent", kWords), std::nullopt);
  EXPECT_EQ(nearest_of("", kWords), std::nullopt);
  EXPECT_EQ(nearest_of(std::string(1'000'000, 'x'), kWords), std::nullopt);
}

}  // namespace
}  // namespace horae
