#include "store/submission.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace horae {
namespace {

using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""us;

constexpr const char* kIdText = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";
constexpr const char* kOtherIdText = "0190f7c2-0a1b-7c3d-8e4f-ffffffffffff";

TaskId an_id() { return *parse_uuid(kIdText); }
TaskId other_id() { return *parse_uuid(kOtherIdText); }

TEST(Submission, TakesTheIdOfTheClientBeforeTheOneMadeForIt) {
  EXPECT_EQ((Submission{.task = {.id = an_id()}, .new_id = other_id()}).id(), an_id());
  EXPECT_EQ((Submission{.task = {}, .new_id = other_id()}).id(), other_id());
}

// ---- Why a submission was not stored ----

std::string conflict(const NewTask& task, const TaskId& stored) {
  const SubmitOutcome outcome{
      .kind = SubmitOutcome::Kind::kConflict, .id = stored, .number = 7, .state = State::kReady};
  const Error error = submit_error({.task = task, .new_id = an_id()}, outcome);
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  return error.message;
}

TEST(SubmitError, NamesTheKeyAndTheTaskThatHasIt) {
  constexpr const char* kWhy =
      "key \"order 4711\" in queue mail: cannot submit: task 0190f7c2-0a1b-7c3d-8e4f-ffffffffffff (ready) was "
      "submitted under this key with another content; repeat that request exactly, or use another key";
  EXPECT_EQ(conflict({.key = "order 4711", .queue = "mail"}, other_id()), kWhy);
  EXPECT_EQ(conflict({.id = an_id(), .key = "order 4711", .queue = "mail"}, other_id()), kWhy);
}

TEST(SubmitError, NamesTheIdThatIsTaken) {
  constexpr const char* kWhy =
      "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot submit: a task (ready) was submitted under this id with "
      "another content; repeat that request exactly, or use another id";
  EXPECT_EQ(conflict({.id = an_id(), .queue = "mail"}, an_id()), kWhy);
  EXPECT_EQ(conflict({.id = an_id(), .key = "order 4711", .queue = "mail"}, an_id()), kWhy);
  EXPECT_EQ(conflict({.queue = "mail"}, an_id()), kWhy);
}

TEST(SubmitError, ShowsALongKeyWhole) {
  std::string key;
  for (std::size_t i = 0; i < kMaxKeyCharacters; ++i) key += "Ὧ";
  EXPECT_EQ(conflict({.key = key, .queue = "mail"}, other_id()).find("key \"" + key + "\" in queue mail: "), 0U);
}

TEST(SubmitError, ReportsTooManyQueues) {
  const Error error = submit_error({.task = {.queue = "mail"}, .new_id = an_id()},
                                   {.kind = SubmitOutcome::Kind::kOverLimit, .id = an_id()});
  EXPECT_EQ(error.code, ErrorCode::kOverLimit);
  EXPECT_EQ(
      error.message,
      "queue mail: cannot submit: the queue is new, and there are as many queues as there may be (setting queues.max); "
      "use one of them, or delete one: horae queue delete");
}

TEST(SubmitErrorDeathTest, IsOnlyForWhatWasNotStored) {
  for (const auto kind : {SubmitOutcome::Kind::kCreated, SubmitOutcome::Kind::kPresent}) {
    EXPECT_DEATH(std::ignore = submit_error({}, {.kind = kind}), "a stored submission has no error");
  }
}

// ---- The digest ----

rc::Gen<TaskId> any_id() { return rc::gen::construct<TaskId>(rc::gen::arbitrary<std::array<std::uint8_t, 16>>()); }

template <typename T>
rc::Gen<std::optional<T>> maybe(rc::Gen<T> some) {
  return rc::gen::oneOf(rc::gen::just(std::optional<T>{}),
                        rc::gen::map(std::move(some), [](T value) { return std::optional<T>(std::move(value)); }));
}

rc::Gen<Duration> any_duration() {
  return rc::gen::map(rc::gen::arbitrary<std::int32_t>(), [](std::int32_t count) { return Duration(count); });
}

NewTask any_task() {
  NewTask task;
  task.id = *maybe(any_id());
  task.key = *maybe(rc::gen::arbitrary<std::string>());
  task.queue = *rc::gen::arbitrary<std::string>();
  task.priority = *rc::gen::arbitrary<int>();
  task.spec = *rc::gen::arbitrary<std::string>();
  task.run_at = *maybe(rc::gen::map(any_duration(), [](Duration since) { return Instant(since / 1us * 1us); }));
  task.recurring = *maybe(any_duration());
  task.max_attempts = *rc::gen::inRange(0, kMaxAttemptsLimit);
  task.retry.kind =
      *rc::gen::element(RetryPolicy::Kind::kNone, RetryPolicy::Kind::kFixed, RetryPolicy::Kind::kExponential);
  task.retry.delay = *any_duration();
  task.retry.factor = *rc::gen::arbitrary<double>();
  task.retry.cap = *any_duration();
  task.retry.jitter = *rc::gen::arbitrary<double>();
  return task;
}

// One for each field, in the order of the struct; each makes another request, whatever the task was.
const std::vector<std::function<void(NewTask&)>> kChanges = {
    [](NewTask& task) { task.id ? task.id.reset() : void(task.id = TaskId{}); },
    [](NewTask& task) {
      if (task.id) task.id->bytes[*rc::gen::inRange<std::size_t>(0, 16)] ^= 1;
      if (!task.id) task.id = TaskId{};
    },
    [](NewTask& task) { task.key ? task.key.reset() : void(task.key = ""); },
    [](NewTask& task) { task.key = task.key.value_or("") + "x"; },
    [](NewTask& task) { task.queue += "x"; },
    [](NewTask& task) { task.priority ^= 1; },
    [](NewTask& task) { task.spec += " "; },
    [](NewTask& task) { task.run_at ? task.run_at.reset() : void(task.run_at = Instant{}); },
    [](NewTask& task) { task.run_at = task.run_at.value_or(Instant{}) + 1us; },
    [](NewTask& task) { task.recurring ? task.recurring.reset() : void(task.recurring = 0ns); },
    [](NewTask& task) { task.recurring = task.recurring.value_or(0ns) + 1ns; },
    [](NewTask& task) { task.max_attempts ^= 1; },
    [](NewTask& task) {
      task.retry.kind =
          task.retry.kind == RetryPolicy::Kind::kNone ? RetryPolicy::Kind::kFixed : RetryPolicy::Kind::kNone;
    },
    [](NewTask& task) { task.retry.delay += 1ns; },
    [](NewTask& task) { task.retry.factor = task.retry.factor == 1.5 ? 2.5 : 1.5; },
    [](NewTask& task) { task.retry.cap += 1ns; },
    [](NewTask& task) { task.retry.jitter = task.retry.jitter == 0.5 ? 0.25 : 0.5; },
};

RC_GTEST_PROP(RequestDigest, IsEqualForEqualRequestsAndDiffersWithAnyField, ()) {
  const NewTask task = any_task();
  RC_ASSERT(request_digest(task).size() == 16U);
  RC_ASSERT(request_digest(NewTask(task)) == request_digest(task));
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    NewTask other = task;
    kChanges[i](other);
    RC_LOG() << "change " << i << "\n";
    RC_ASSERT(!(other == task));
    RC_ASSERT(request_digest(other) != request_digest(task));
  }
}

TEST(RequestDigest, StaysTheSameInAllVersionsBecauseItIsStored) {
  std::string hex;
  for (const char byte : request_digest({.id = an_id(),
                         .key = "order 4711",
                         .queue = "mail",
                         .spec = "{}",
                         .run_at = Instant(5us),
                         .recurring = 7ns})) {
    for (const int digit : {(byte >> 4) & 15, byte & 15}) hex += "0123456789abcdef"[digit];
  }
  EXPECT_EQ(hex, "3561f095dbb6f4160f491320fa4d0588");
}

TEST(RequestDigest, SeparatesItsFields) {
  EXPECT_NE(request_digest({.key = "ab", .queue = "c"}), request_digest({.key = "a", .queue = "bc"}));
  EXPECT_NE(request_digest({.key = "", .queue = "q"}), request_digest({.queue = "q"}));
}

TEST(RequestDigest, GivesZeroOneSign) {
  EXPECT_EQ(request_digest({.retry = {.jitter = -0.0}}), request_digest({.retry = {.jitter = 0.0}}));
}

}  // namespace
}  // namespace horae
