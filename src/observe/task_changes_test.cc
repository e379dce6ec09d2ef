#include "observe/task_changes.h"

#include <gmock/gmock.h>

namespace horae {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TaskId id_of(std::uint8_t number) {
  TaskId id;
  id.bytes[15] = number;
  return id;
}

TEST(TaskChanges, NameSubmittedTasksAndThoseThatWerePresent) {
  const std::vector<Submission> submissions = {{.task = {.queue = "a"}, .new_id = id_of(1)},
                                               {.task = {.queue = "b"}, .new_id = id_of(2)},
                                               {.task = {.queue = "c"}, .new_id = id_of(3)}};
  const std::vector<SubmitOutcome> outcomes = {
      {.kind = SubmitOutcome::Kind::kCreated, .id = id_of(1), .state = State::kReady},
      {.kind = SubmitOutcome::Kind::kConflict, .id = id_of(2), .state = State::kReady},
      {.kind = SubmitOutcome::Kind::kPresent, .id = id_of(9), .state = State::kScheduled}};
  Changes changes;
  add_submitted(changes, submissions, outcomes);
  EXPECT_THAT(
      changes,
      ElementsAre(
          Change{.event = Event::kSubmit, .task = id_of(1), .queue = "a", .state = State::kReady},
          Change{
              .event = Event::kSubmit, .task = id_of(9), .queue = "c", .state = State::kScheduled, .is_new = false}));
}

TEST(TaskChanges, NameClaimedTasks) {
  const std::vector<ClaimOutcome> claimed = {
      {.tasks = {{.id = id_of(1), .queue = "a"}}}, {.tasks = {}}, {.tasks = {{.id = id_of(2)}}}};
  Changes changes;
  add_claimed(changes, claimed);
  EXPECT_THAT(changes,
              ElementsAre(Change{.event = Event::kClaim, .task = id_of(1), .queue = "a", .state = State::kRunning},
                          Change{.event = Event::kClaim, .task = id_of(2), .state = State::kRunning}));
}

// So that the counter of claims does not count them again.
TEST(TaskChanges, TasksThatAClaimGetsAgainAreNotNew) {
  const std::vector<ClaimOutcome> claimed = {
      {.kind = ClaimOutcome::Kind::kRepeated, .tasks = {{.id = id_of(1), .queue = "a"}}},
      {.kind = ClaimOutcome::Kind::kOtherOwner, .tasks = {}}};
  Changes changes;
  add_claimed(changes, claimed);
  EXPECT_THAT(changes,
              ElementsAre(Change{
                  .event = Event::kClaim, .task = id_of(1), .queue = "a", .state = State::kRunning, .is_new = false}));
}

TEST(TaskChanges, NameSettledTasksButNotTheRefused) {
  const std::vector<Settlement> settlements = {{.event = Event::kComplete, .id = id_of(1)},
                                               {.event = Event::kYield, .id = id_of(2), .queue = "a"},
                                               {.event = Event::kAbort, .id = id_of(3)}};
  const std::vector<SettleOutcome> outcomes = {{.verdict = Verdict::kAccepted, .state = State::kCompleted},
                                               {.verdict = Verdict::kRepeated, .state = State::kReady},
                                               {.verdict = Verdict::kStaleAttempt, .state = State::kReady}};
  Changes changes;
  add_settled(changes, settlements, outcomes);
  EXPECT_THAT(
      changes,
      ElementsAre(
          Change{.event = Event::kComplete, .task = id_of(1), .state = State::kCompleted},
          Change{.event = Event::kYield, .task = id_of(2), .queue = "a", .state = State::kReady, .is_new = false}));
}

TEST(TaskChanges, SumUpHeartbeatsWithoutProgress) {
  const std::vector<Settlement> settlements = {{.event = Event::kHeartbeat, .id = id_of(1)},
                                               {.event = Event::kHeartbeat, .id = id_of(2), .progress = 0.5},
                                               {.event = Event::kHeartbeat, .id = id_of(3)}};
  const std::vector<SettleOutcome> outcomes(3, {.verdict = Verdict::kAccepted, .state = State::kRunning});
  Changes changes;
  add_settled(changes, settlements, outcomes);
  EXPECT_THAT(changes, ElementsAre(Change{.event = Event::kHeartbeat, .task = id_of(2), .state = State::kRunning},
                                   Change{.kind = Change::Kind::kTasks, .event = Event::kHeartbeat, .count = 2}));
}

TEST(TaskChanges, NameCancelledAndExpiredTasks) {
  const std::vector<CancelWish> wishes = {{.id = id_of(1), .reason = {}}, {.id = id_of(2), .reason = {}}};
  const std::vector<CancelOutcome> outcomes = {
      {.verdict = Verdict::kRepeated, .state = State::kCancelled, .owner = "worker-1"},
      {.verdict = Verdict::kWrongState, .state = State::kCompleted}};
  Changes changes;
  add_cancelled(changes, wishes, outcomes);
  const ExpireOutcome expired{.expired = {{.id = id_of(3), .queue = "a", .owner = "w", .state = State::kAborted}}};
  add_expired(changes, expired);
  EXPECT_THAT(changes,
              ElementsAre(Change{.event = Event::kCancel,
                                 .task = id_of(1),
                                 .owner = "worker-1",
                                 .state = State::kCancelled,
                                 .is_new = false},
                          Change{.event = Event::kExpire, .task = id_of(3), .queue = "a", .state = State::kAborted}));
}

TEST(TaskChanges, CountPromotedAndPurgedTasks) {
  Changes changes;
  add_promoted(changes, {.promoted = 0, .queues = {}, .next_in = {}});
  add_purged(changes, {.purged = 0, .more = false});
  EXPECT_THAT(changes, IsEmpty());
  const PromoteOutcome promoted{.promoted = 3, .queues = {"a"}, .next_in = {}};
  add_promoted(changes, promoted);
  const PromoteOutcome of_two{.promoted = 5, .queues = {"b", "c"}, .next_in = {}};
  add_promoted(changes, of_two);
  add_purged(changes, {.purged = 2, .more = true});
  using Kind = Change::Kind;
  EXPECT_THAT(
      changes,
      ElementsAre(
          Change{.kind = Kind::kTasks, .event = Event::kPromote, .queue = "a", .state = State::kReady, .count = 3},
          Change{.kind = Kind::kTasks, .event = Event::kPromote, .count = 5},
          Change{.kind = Kind::kTasks, .event = Event::kPromote, .queue = "b", .state = State::kReady, .count = 0},
          Change{.kind = Kind::kTasks, .event = Event::kPromote, .queue = "c", .state = State::kReady, .count = 0},
          Change{.kind = Kind::kTasks, .event = Event::kPurge, .count = 2}));
}

}  // namespace
}  // namespace horae
