#include "store/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/time_text.h"
#include "store/submission.h"

namespace horae {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::string_literals::operator""s;

constexpr const char* kId = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

TaskId id() { return *parse_uuid(kId); }

std::string refusal(const Result<void>& checked) {
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kRefused);
  return checked.error().message;
}

// ---- Claims ----

ClaimWish good_wish() { return {.owner = "worker-7", .queues = {"mail"}}; }

std::string wish_refusal(const std::function<void(ClaimWish&)>& change) {
  ClaimWish wish = good_wish();
  change(wish);
  return refusal(check_claim_wish(wish));
}

std::vector<std::string> queues(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("q" + std::to_string(i));
  return names;
}

TEST(ClaimWish, NeedsOnlyAnOwnerAndAQueue) {
  EXPECT_TRUE(check_claim_wish(good_wish()).ok());
  EXPECT_EQ(good_wish().max, 1);
  EXPECT_EQ(good_wish().lease, kDefaultLease);
}

TEST(ClaimWish, NamesOneToSixteenQueues) {
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.queues = queues(16); }), "");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.queues.clear(); }), "queues: 0 of them, give 1 to 16");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.queues = queues(17); }), "queues: 17 of them, give 1 to 16");
}

TEST(ClaimWish, NamesEachQueueOnceAndWell) {
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) {
              wish.queues = {"mail", "demo", "mail"};
            }),
            "queues: mail is named twice; name each queue once");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) {
              wish.queues = {"mail", "a b"};
            }),
            "queue \"a b\": give 1 to 128 letters, digits, '.', '_' or '-'");
}

TEST(ClaimWish, AsksForOneToABatchOfTasks) {
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.max = 1'000; }), "");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.max = 0; }), "max 0: give 1 to 1000");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.max = -1; }), "max -1: give 1 to 1000");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.max = 1'001; }), "max 1001: give 1 to 1000");
}

TEST(ClaimWish, LeasesAreBetweenATenthOfASecondAndADay) {
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.lease = 100ms; }), "");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.lease = 24h; }), "");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.lease = 99ms; }), "lease 99ms: give 100ms to 24h");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.lease = 24h + 1ns; }), "lease 24h0.000000001s: give 100ms to 24h");
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.lease = -1ns; }), "lease -1ns: give 100ms to 24h");
}

TEST(ClaimWish, OwnersAreFreeInFormButPrintable) {
  EXPECT_TRUE(check_owner("worker-7").ok());
  EXPECT_TRUE(check_owner("Ὧραι on host 3").ok());
  EXPECT_TRUE(check_owner(std::string(128, 'w')).ok());
  for (const auto& owner : {""s, std::string(129, 'w'), "nul\0"s, "\xFF"s}) EXPECT_FALSE(check_owner(owner).ok());
  EXPECT_EQ(wish_refusal([](ClaimWish& wish) { wish.owner = "w\n"; }),
            "owner \"w\\x0a\": give 1 to 128 characters of UTF-8 without control characters");
}

// ---- Settlements ----

Settlement good_settlement(Event event) {
  Settlement settlement{.event = event, .id = id(), .attempt = 2, .owner = "worker-7"};
  if (event == Event::kAbort) settlement.errors = {{.code = "disk_full"}};
  return settlement;
}

std::string settlement_refusal(Event event, const std::function<void(Settlement&)>& change) {
  Settlement settlement = good_settlement(event);
  change(settlement);
  return refusal(check_settlement(settlement));
}

TEST(Settlement, IsAnEventOfTheOwner) {
  for (const Event event : {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease}) {
    EXPECT_TRUE(check_settlement(good_settlement(event)).ok()) << to_string(event);
  }
  for (const Event event :
       {Event::kSubmit, Event::kPromote, Event::kClaim, Event::kExpire, Event::kCancel, Event::kPurge}) {
    EXPECT_FALSE(check_settlement(good_settlement(event)).ok()) << to_string(event);
  }
  EXPECT_EQ(refusal(check_settlement(good_settlement(Event::kExpire))),
            "event expire: give heartbeat, complete, abort, yield or release");
}

TEST(Settlement, NeedsAnOwner) {
  EXPECT_EQ(settlement_refusal(Event::kYield, [](Settlement& settlement) { settlement.owner = ""; }),
            "owner \"\": give 1 to 128 characters of UTF-8 without control characters");
}

TEST(Settlement, ResultAndCheckpointHaveALimit) {
  const std::string largest(1 << 20, 'x');
  EXPECT_EQ(settlement_refusal(Event::kComplete, [&](Settlement& settlement) { settlement.result = largest; }), "");
  EXPECT_EQ(settlement_refusal(Event::kYield, [&](Settlement& settlement) { settlement.checkpoint = largest; }), "");
  EXPECT_EQ(settlement_refusal(Event::kComplete, [&](Settlement& settlement) { settlement.result = largest + "x"; }),
            "result: 1048577 bytes, at most 1048576 are allowed");
  EXPECT_EQ(settlement_refusal(Event::kYield, [&](Settlement& settlement) { settlement.checkpoint = largest + "x"; }),
            "checkpoint: 1048577 bytes, at most 1048576 are allowed");
}

TEST(Settlement, OnlyAHeartbeatNeedsALease) {
  const auto too_short = [](Settlement& settlement) { settlement.lease = 0ns; };
  EXPECT_EQ(settlement_refusal(Event::kHeartbeat, too_short), "lease 0s: give 100ms to 24h");
  for (const Event event : {Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease}) {
    EXPECT_EQ(settlement_refusal(event, too_short), "") << to_string(event);
  }
}

TEST(Settlement, AnAbortHasOneToSixteenErrors) {
  const auto with_errors = [](std::size_t count) {
    return settlement_refusal(Event::kAbort,
                              [count](Settlement& settlement) { settlement.errors.assign(count, {.code = "e"}); });
  };
  EXPECT_EQ(with_errors(1), "");
  EXPECT_EQ(with_errors(16), "");
  EXPECT_EQ(with_errors(0), "errors: an abort needs at least one, with a code");
  EXPECT_EQ(with_errors(17), "errors: 17 of them, at most 16 are allowed");
  EXPECT_EQ(settlement_refusal(Event::kAbort,
                               [](Settlement& settlement) {
                                 settlement.errors = {{.code = "e"}, {.description = "d"}};
                               }),
            "errors: each needs a code");
}

TEST(Settlement, AllPartsOfAllErrorsCountAgainstTheirLimit) {
  const auto with_description = [](std::size_t bytes) {
    return settlement_refusal(Event::kAbort, [bytes](Settlement& settlement) {
      settlement.errors = {{.code = "one", .args = "{}"}, {.code = "two", .args = "[]"}};
      settlement.errors[1].description.assign(bytes, 'd');
    });
  };
  EXPECT_EQ(with_description(65'536 - 10), "");
  EXPECT_EQ(with_description(65'536 - 9), "errors: 65537 bytes, at most 65536 are allowed");
}

TEST(Settlement, IsTextThroughout) {
  const auto with = [](Event event, auto change) { return settlement_refusal(event, change); };
  const std::string broken = "\xff";
  EXPECT_EQ(with(Event::kComplete, [&](Settlement& said) { said.result = broken; }), "result: give UTF-8 without NUL");
  EXPECT_EQ(with(Event::kYield, [&](Settlement& said) { said.checkpoint = broken; }),
            "checkpoint: give UTF-8 without NUL");
  for (std::string TaskError::*field : {&TaskError::code, &TaskError::args, &TaskError::description}) {
    const auto change = [&](Settlement& said) {
      said.errors = {{.code = "e"}};
      said.errors[0].*field = std::string("a\0b", 3);
    };
    EXPECT_EQ(with(Event::kAbort, change), "errors: give UTF-8 without NUL");
  }
}

TEST(CancelWish, ReasonIsText) {
  EXPECT_EQ(refusal(check_cancel_wish({.id = id(), .reason = "\xc3"})), "reason: give UTF-8 without NUL");
}

TEST(CancelWish, ReasonHasALimit) {
  EXPECT_TRUE(check_cancel_wish({.id = id()}).ok());
  EXPECT_TRUE(check_cancel_wish({.id = id(), .reason = std::string(1'024, 'r')}).ok());
  EXPECT_EQ(refusal(check_cancel_wish({.id = id(), .reason = std::string(1'025, 'r')})),
            "reason: 1025 bytes, at most 1024 are allowed");
}

// ---- Why something was not taken ----

std::string conflict(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  return error.message;
}

TEST(SettleError, NamesThePresentOwnerAndTheKeptResult) {
  const SettleOutcome outcome{.verdict = Verdict::kStaleAttempt,
                              .state = State::kRunning,
                              .attempt = 3,
                              .owner = "worker-9",
                              .lease_expires = *parse_instant("2026-11-16T02:14:17Z")};
  EXPECT_EQ(conflict(settle_error(good_settlement(Event::kComplete), outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot complete attempt 2 of worker-7: attempt 3 is running on "
            "worker-9, whose lease ends at 2026-11-16T02:14:17Z. Stop this run; its result is kept in the history.");
  EXPECT_EQ(conflict(settle_error(good_settlement(Event::kHeartbeat), outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot heartbeat attempt 2 of worker-7: attempt 3 is running "
            "on worker-9, whose lease ends at 2026-11-16T02:14:17Z. Stop this run.");
}

TEST(SettleError, ReportsThatALaterAttemptHasEnded) {
  const SettleOutcome outcome{.verdict = Verdict::kStaleAttempt, .state = State::kCompleted, .attempt = 3};
  EXPECT_EQ(conflict(settle_error(good_settlement(Event::kAbort), outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot abort attempt 2 of worker-7: the task is completed, and "
            "attempt 3 was the last one. Stop this run; its result is kept in the history.");
}

TEST(SettleError, ReportsThatTheTaskWasCancelled) {
  const SettleOutcome outcome{.verdict = Verdict::kCancelled, .state = State::kCancelled, .attempt = 2};
  EXPECT_EQ(conflict(settle_error(good_settlement(Event::kYield), outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot yield attempt 2 of worker-7: the task was cancelled. "
            "Stop this run.");
  EXPECT_EQ(conflict(settle_error(good_settlement(Event::kComplete), outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot complete attempt 2 of worker-7: the task was cancelled. "
            "Stop this run; its result is kept in the history.");
}

TEST(SettleError, NamesTheStateAndTheAllowedOnes) {
  const SettleOutcome outcome{.verdict = Verdict::kWrongState, .state = State::kReady, .attempt = 2};
  EXPECT_EQ(conflict(settle_error(good_settlement(Event::kRelease), outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot release attempt 2 of worker-7: the task is ready, and "
            "attempt 2 was the last one; it would have to be running. Stop this run.");
}

TEST(SettleError, PromisesNothingForAnAttemptThatNeverBegan) {
  const SettleOutcome outcome{.verdict = Verdict::kWrongState, .state = State::kScheduled, .attempt = 0};
  EXPECT_EQ(conflict(settle_error(good_settlement(Event::kComplete), outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot complete attempt 2 of worker-7: the task is scheduled, "
            "and no attempt has begun; it would have to be running. Stop this run.");
}

TEST(SettleError, ReportsAMissingTask) {
  const Error error = settle_error(good_settlement(Event::kComplete), {.verdict = Verdict::kNotFound});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message,
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot complete: there is no such task; it was never "
            "submitted, or purged after its retention");
}

TEST(SettleErrorDeathTest, IsOnlyForWhatWasNotTaken) {
  for (const Verdict verdict : {Verdict::kAccepted, Verdict::kRepeated}) {
    EXPECT_DEATH(std::ignore = settle_error(good_settlement(Event::kYield), {.verdict = verdict}), "was taken");
    EXPECT_DEATH(std::ignore = cancel_error({.id = id()}, {.verdict = verdict}), "was taken");
  }
}

TEST(CancelError, NamesTheStateAndTheAllowedOnes) {
  const CancelOutcome outcome{.verdict = Verdict::kWrongState, .state = State::kCompleted};
  EXPECT_EQ(conflict(cancel_error({.id = id()}, outcome)),
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot cancel: the task is completed, and must be scheduled, "
            "ready or running");
}

TEST(CancelError, ReportsAMissingTask) {
  const Error error = cancel_error({.id = id()}, {.verdict = Verdict::kNotFound});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message,
            "task 0190f7c2-0a1b-7c3d-8e4f-0123456789ab: cannot cancel: there is no such task; it was never submitted, "
            "or purged after its retention");
}

}  // namespace
}  // namespace horae
