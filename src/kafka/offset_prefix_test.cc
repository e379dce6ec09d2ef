#include "kafka/offset_prefix.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace horae {
namespace {

OffsetPrefix taken(std::initializer_list<std::int64_t> offsets) {
  OffsetPrefix prefix;
  for (const std::int64_t offset : offsets) prefix.take(offset);
  return prefix;
}

TEST(OffsetPrefix, CommitsBehindTheLastRecordThatIsDone) { EXPECT_EQ(taken({5}).done(5), 6); }

TEST(OffsetPrefix, CommitsNothingAboveARecordThatIsNotDone) {
  OffsetPrefix prefix = taken({5, 6, 7});
  EXPECT_EQ(prefix.done(6), std::nullopt);
  EXPECT_EQ(prefix.done(7), std::nullopt);
  EXPECT_EQ(prefix.pending(), 1U);
  EXPECT_EQ(prefix.done(5), 8);
  EXPECT_EQ(prefix.pending(), 0U);
}

// Compaction and markers of transactions leave gaps.
TEST(OffsetPrefix, SkipsOffsetsThatTheTopicDoesNotHave) {
  OffsetPrefix prefix = taken({5, 9});
  EXPECT_EQ(prefix.done(5), 6);
  EXPECT_EQ(prefix.done(9), 10);
}

TEST(OffsetPrefix, IgnoresWhatWasNotTakenOrIsDone) {
  OffsetPrefix prefix = taken({5, 6});
  EXPECT_EQ(prefix.done(4), std::nullopt);
  EXPECT_EQ(prefix.done(7), std::nullopt);
  EXPECT_EQ(prefix.done(5), 6);
  EXPECT_EQ(prefix.done(5), std::nullopt);
  EXPECT_EQ(prefix.pending(), 1U);
}

RC_GTEST_PROP(OffsetPrefix, HasNothingUndoneBelowWhatItCommits, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 50);
  std::vector<std::int64_t> order(size);
  OffsetPrefix prefix;
  for (std::size_t i = 0; i < size; ++i) {
    order[i] = static_cast<std::int64_t>(i);
    prefix.take(order[i]);
  }
  const auto keys = *rc::gen::container<std::vector<int>>(size, rc::gen::arbitrary<int>());
  std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return keys[static_cast<std::size_t>(i)]; });
  std::set<std::int64_t> done;
  std::int64_t committed = 0;
  for (const std::int64_t offset : order) {
    done.insert(offset);
    if (const auto end = prefix.done(offset)) committed = *end;
    std::int64_t expected = 0;
    while (done.contains(expected)) ++expected;
    RC_ASSERT(committed == expected);
  }
}

}  // namespace
}  // namespace horae
