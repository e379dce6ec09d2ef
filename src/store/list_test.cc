#include "store/list.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

namespace horae {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""us;

constexpr Instant kNoon{std::chrono::hours(12)};

std::string refusal(ListKind kind, const std::function<void(ListQuery&)>& change) {
  ListQuery query{.kind = kind};
  change(query);
  const auto checked = check_list_query(query);
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kRefused);
  return checked.error().message;
}

TEST(ListQuery, NeedsNothing) {
  for (const ListKind kind :
       {ListKind::kScheduled, ListKind::kReady, ListKind::kRunning, ListKind::kFinished, ListKind::kAll}) {
    EXPECT_TRUE(check_list_query({.kind = kind}).ok());
  }
  EXPECT_EQ(ListQuery{}.limit, 100);
}

TEST(ListQuery, PagesHaveOneToAThousandTasks) {
  EXPECT_EQ(refusal(ListKind::kAll, [](ListQuery& query) { query.limit = 1; }), "");
  EXPECT_EQ(refusal(ListKind::kAll, [](ListQuery& query) { query.limit = 1'000; }), "");
  EXPECT_EQ(refusal(ListKind::kAll, [](ListQuery& query) { query.limit = 0; }), "limit 0: give 1 to 1000");
  EXPECT_EQ(refusal(ListKind::kAll, [](ListQuery& query) { query.limit = 1'001; }), "limit 1001: give 1 to 1000");
}

TEST(ListQuery, QueueAndOwnerAreWellFormed) {
  EXPECT_EQ(refusal(ListKind::kRunning,
                    [](ListQuery& query) {
                      query.queue = "mail";
                      query.owner = "worker-7";
                    }),
            "");
  EXPECT_EQ(refusal(ListKind::kRunning, [](ListQuery& query) { query.queue = ""; }),
            "queue \"\": give 1 to 128 letters, digits, '.', '_' or '-'");
  EXPECT_EQ(refusal(ListKind::kRunning, [](ListQuery& query) { query.owner = "w\n"; }),
            "owner \"w\\x0a\": give 1 to 128 characters of UTF-8 without control characters");
}

TEST(ListQuery, OnlyTheListsOfManyStatesAreFilteredByState) {
  const auto ready = [](ListQuery& query) { query.states = {State::kReady}; };
  EXPECT_EQ(refusal(ListKind::kAll, ready), "");
  for (const ListKind kind : {ListKind::kScheduled, ListKind::kReady, ListKind::kRunning}) {
    EXPECT_EQ(refusal(kind, ready), "states: only the lists of finished and of all tasks can be filtered by state");
  }
}

TEST(ListQuery, FinishedTasksAreInTerminalStates) {
  EXPECT_EQ(refusal(ListKind::kFinished,
                    [](ListQuery& query) {
                      query.states = {State::kCompleted, State::kAborted, State::kCancelled};
                    }),
            "");
  EXPECT_EQ(refusal(ListKind::kFinished,
                    [](ListQuery& query) {
                      query.states = {State::kCompleted, State::kRunning};
                    }),
            "states: a finished task is completed, aborted or cancelled");
}

TEST(ListQuery, AnOwnerNeedsAWindowOfADayUnlessTheTaskRuns) {
  constexpr const char* kWhy =
      "owner: give created_from and created_before at most 24h apart as well, or ask for running tasks";
  const auto within = [](std::optional<Instant> from, std::optional<Instant> before) {
    return refusal(ListKind::kAll, [&](ListQuery& query) {
      query.owner = "worker-7";
      query.created_from = from;
      query.created_before = before;
    });
  };
  EXPECT_EQ(within(kNoon, kNoon + 24h), "");
  EXPECT_EQ(within(kNoon, kNoon + 24h + 1us), kWhy);
  EXPECT_EQ(within(kNoon, std::nullopt), kWhy);
  EXPECT_EQ(within(std::nullopt, kNoon), kWhy);
  EXPECT_EQ(within(std::nullopt, std::nullopt), kWhy);
  EXPECT_EQ(refusal(ListKind::kRunning, [](ListQuery& query) { query.owner = "worker-7"; }), "");
}

TEST(ListQuery, ATimeAloneMayBeAnyWindow) {
  EXPECT_EQ(refusal(ListKind::kFinished, [](ListQuery& query) { query.created_from = kNoon; }), "");
  EXPECT_EQ(refusal(ListKind::kAll, [](ListQuery& query) { query.created_before = kNoon; }), "");
}

}  // namespace
}  // namespace horae
