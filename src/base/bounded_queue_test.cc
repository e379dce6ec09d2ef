#include "base/bounded_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <thread>

namespace horae {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Item {
  int producer = 0;
  int number = 0;
};

// The items that one consumer got, in order.
using Haul = std::vector<Item>;

void produce(BoundedQueue<Item>& queue, int producer, int count) {
  for (int number = 0; number < count; ++number) EXPECT_TRUE(queue.push({producer, number}));
}

// Takes single values and batches alternately until the queue is closed and empty.
Haul consume(BoundedQueue<Item>& queue) {
  Haul haul;
  while (true) {
    EXPECT_LE(queue.size(), queue.capacity());
    const auto single = queue.pop();
    if (!single) return haul;
    haul.push_back(*single);
    const auto batch = queue.pop_some(3);
    if (batch.empty()) return haul;
    haul.insert(haul.end(), batch.begin(), batch.end());
    if (const auto extra = queue.try_pop()) haul.push_back(*extra);
  }
}

std::vector<Haul> run(BoundedQueue<Item>& queue, int producers, int consumers, int count) {
  std::vector<Haul> hauls(static_cast<std::size_t>(consumers));
  {
    std::vector<std::jthread> takers;
    for (Haul& haul : hauls) takers.emplace_back([&queue, &haul] { haul = consume(queue); });
    {
      std::vector<std::jthread> makers;
      for (int id = 0; id < producers; ++id) makers.emplace_back([&queue, id, count] { produce(queue, id, count); });
    }
    queue.close();
  }
  return hauls;
}

TEST(BoundedQueue, PopsInTheOrderOfPushes) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  EXPECT_TRUE(queue.push(3));

  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.try_pop(), 2);
  EXPECT_EQ(queue.pop(), 3);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

TEST(BoundedQueue, PopsBatchesUpToTheirLimit) {
  BoundedQueue<int> queue(5);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(queue.push(int{i}));

  EXPECT_THAT(queue.pop_some(2), ElementsAre(0, 1));
  EXPECT_THAT(queue.pop_some(9), ElementsAre(2, 3, 4));
}

TEST(BoundedQueue, RefusesPushesWhenFullAndKeepsTheValueUnchanged) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));

  EXPECT_FALSE(queue.try_push(std::move(second)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(queue.size(), 1U);

  EXPECT_EQ(**queue.pop(), 1);
  EXPECT_TRUE(queue.try_push(std::move(second)));
  EXPECT_EQ(**queue.pop(), 2);
}

TEST(BoundedQueue, DrainsAfterCloseAndThenReturnsNothing) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  EXPECT_FALSE(queue.closed());

  queue.close();
  queue.close();

  EXPECT_TRUE(queue.closed());
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_THAT(queue.pop_some(4), IsEmpty());
}

TEST(BoundedQueue, RefusesPushesWhenClosedAndKeepsTheValueUnchanged) {
  BoundedQueue<std::unique_ptr<int>> queue(3);
  auto value = std::make_unique<int>(1);
  queue.close();

  EXPECT_FALSE(queue.push(std::move(value)));
  EXPECT_FALSE(queue.try_push(std::move(value)));
  EXPECT_NE(value, nullptr);
  EXPECT_EQ(queue.size(), 0U);
}

// Whether the threads already block when the queue closes is left to chance, hence the rounds. A lost wake-up hangs.
constexpr int kRounds = 200;

TEST(BoundedQueue, WakesBlockedConsumersWhenClosed) {
  for (int round = 0; round < kRounds; ++round) {
    BoundedQueue<int> queue(1);
    std::jthread first([&queue] { EXPECT_EQ(queue.pop(), std::nullopt); });
    std::jthread second([&queue] { EXPECT_THAT(queue.pop_some(5), IsEmpty()); });
    queue.close();
  }
}

TEST(BoundedQueue, WakesBlockedProducersWhenClosed) {
  for (int round = 0; round < kRounds; ++round) {
    BoundedQueue<int> queue(1);
    EXPECT_TRUE(queue.push(1));
    std::jthread first([&queue] { EXPECT_FALSE(queue.push(2)); });
    std::jthread second([&queue] { EXPECT_FALSE(queue.push(3)); });
    queue.close();
  }
}

TEST(BoundedQueue, WakesEveryProducerThatABatchMadeRoomFor) {
  for (int round = 0; round < kRounds; ++round) {
    BoundedQueue<int> queue(2);
    EXPECT_TRUE(queue.push(0));
    EXPECT_TRUE(queue.push(0));
    std::jthread first([&queue] { EXPECT_TRUE(queue.push(1)); });
    std::jthread second([&queue] { EXPECT_TRUE(queue.push(2)); });
    EXPECT_THAT(queue.pop_some(2), ElementsAre(0, 0));
  }
}

TEST(BoundedQueueDeathTest, NeedsACapacityAboveZero) { EXPECT_DEATH(BoundedQueue<int>(0), "a queue without room"); }

TEST(BoundedQueueDeathTest, NeedsABatchLimitAboveZero) {
  BoundedQueue<int> queue(1);
  EXPECT_DEATH(queue.pop_some(0), "an empty batch");
}

RC_GTEST_PROP(BoundedQueue, PopsEachValueExactlyOnceAndInTheOrderOfItsProducer, ()) {
  const int producers = *rc::gen::inRange(1, 5);
  const int consumers = *rc::gen::inRange(1, 5);
  const int count = *rc::gen::inRange(0, 100);
  BoundedQueue<Item> queue(*rc::gen::inRange<std::size_t>(1, 9));

  const auto hauls = run(queue, producers, consumers, count);

  std::map<std::pair<int, int>, int> times;
  for (const Haul& haul : hauls) {
    std::map<int, int> newest;
    for (const Item& item : haul) {
      ++times[{item.producer, item.number}];
      const auto before = newest.find(item.producer);
      RC_ASSERT(before == newest.end() || before->second < item.number);
      newest[item.producer] = item.number;
    }
  }
  RC_ASSERT(times.size() == static_cast<std::size_t>(producers * count));
  for (const auto& [item, seen] : times) RC_ASSERT(seen == 1);
}

}  // namespace
}  // namespace horae
