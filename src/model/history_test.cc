#include "model/history.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace horae {
namespace {

HistoryEntry entry(std::size_t i) { return {.worker = "worker-" + std::to_string(i)}; }

TEST(History, KindsHaveScyllasNames) {
  EXPECT_EQ(to_string(HistoryKind::kAssignment), "TaskAssignment");
  EXPECT_EQ(to_string(HistoryKind::kYield), "TaskYield");
  EXPECT_EQ(to_string(HistoryKind::kTimeout), "TaskTimeout");
  EXPECT_EQ(to_string(HistoryKind::kRetry), "TaskRetry");
  EXPECT_EQ(to_string(HistoryKind::kLateResult), "TaskLateResult");
}

TEST(History, StartsEmpty) {
  const History history;
  EXPECT_TRUE(history.entries().empty());
  EXPECT_EQ(history.newest(), nullptr);
  EXPECT_EQ(history.omitted(), 0U);
}

TEST(History, ALongDetailIsCutAndStaysJson) {
  EXPECT_EQ(history_detail("{\"a\": 1}"), "{\"a\": 1}");
  const std::string whole(kMaxHistoryDetailBytes, '1');
  EXPECT_EQ(history_detail(whole), whole);
  EXPECT_EQ(history_detail(whole + "1"), "\"" + std::string(kMaxHistoryDetailBytes / 2, '1') + "...\"");
}

RC_GTEST_PROP(History, KeepsTheFirstAndTheNewestAndCountsTheRest, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 5 * kMaxHistory);
  History history;
  for (std::size_t i = 0; i < count; ++i) history.append(entry(i));

  const auto& kept = history.entries();
  RC_ASSERT(kept.size() == std::min(count, kMaxHistory));
  RC_ASSERT(kept.size() + history.omitted() == count);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::size_t number = i < kHistoryFirst ? i : i + history.omitted();
    RC_ASSERT(kept[i] == entry(number));
  }
  if (count > 0) RC_ASSERT(*history.newest() == entry(count - 1));
}

TEST(History, AnAssignmentComesBeforeLateResultsThatAreYounger) {
  const auto at = [](int second) { return Instant(std::chrono::seconds(second)); };
  History history;
  history.append({HistoryKind::kLateResult, "older", at(1), 1, std::nullopt, ""});
  history.append({HistoryKind::kLateResult, "same-time", at(2), 1, std::nullopt, ""});
  history.append({HistoryKind::kLateResult, "younger", at(3), 1, std::nullopt, ""});
  history.append({HistoryKind::kLateResult, "youngest", at(4), 1, std::nullopt, ""});
  history.append_assignment({HistoryKind::kAssignment, "worker-2", at(2), 2, std::nullopt, ""});
  std::string order;
  for (const HistoryEntry& entry : history.entries()) order += entry.worker + " ";
  EXPECT_EQ(order, "older same-time worker-2 younger youngest ");
}

TEST(History, AnAssignmentThatIsPutBeforeTooManyLateResultsIsKeptAmongTheFirst) {
  History history;
  for (int i = 0; i < 200; ++i) {
    history.append({HistoryKind::kLateResult, "stranger", Instant(std::chrono::seconds(i + 1)), 1, std::nullopt, ""});
  }
  history.append_assignment({HistoryKind::kAssignment, "worker-1", Instant(), 1, std::nullopt, ""});
  EXPECT_EQ(history.entries().size(), kMaxHistory);
  EXPECT_EQ(history.omitted(), 201 - kMaxHistory);
  EXPECT_EQ(history.entries().front().worker, "worker-1");
}

}  // namespace
}  // namespace horae
