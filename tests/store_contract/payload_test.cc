// Specs, results and checkpoints come back as the exact bytes, and times as the exact instants.

#include "base/time_text.h"
#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

std::string nested(int depth) {
  std::string json;
  for (int i = 0; i < depth; ++i) json += i % 2 == 0 ? "[" : R"({"a":)";
  json += "1";
  for (int i = depth - 1; i >= 0; --i) json += i % 2 == 0 ? "]" : "}";
  return json;
}

std::string text_of_size(std::size_t bytes) { return "\"" + std::string(bytes - 2, 'x') + "\""; }

// Every kind of JSON text that a DOM, a normal form or a column type could spoil.
std::vector<std::string> difficult_texts() {
  return {
      "null",
      "\"\"",
      "0",
      "-0",
      R"("\u0000")",
      R"({"\u0000":"a\u0000b"})",
      R"("\ud83c\udf0d \ud800 \u2028")",
      "\"\u00fc \u4f60\u597d \U0001F30D\"",
      R"({"a":1,"a":2,"A":3,"":4})",
      R"({"b":1,"a":2})",
      " \t\n\r{ \"a\" : [ 1 , 2 ] }\r\n ",
      "123456789012345678901234567890.12345678901234567890",
      "1e400",
      "-1E-400",
      "1.10",
      "9007199254740993",
      R"("\/ / \" \\ ' ''")",
      "\"%s %n $1 ?1 :name\"",
      nested(64),
      text_of_size(100'000),
  };
}

TEST_P(Payload, ASpecIsKeptByteForByte) {
  std::vector<Submission> all;
  for (const std::string& text : difficult_texts()) all.push_back(submission({.spec = text}));
  (void)submit_all(all);
  const auto leases = claim_up_to(static_cast<int>(all.size()));
  ASSERT_EQ(leases.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(get(all[i].id()).spec, all[i].task.spec);
    EXPECT_EQ(leases[i].spec, all[i].task.spec);
  }
}

TEST_P(Payload, AResultIsKeptByteForByte) {
  for (const std::string& text : difficult_texts()) {
    const Lease lease = start();
    Settlement done = settlement(Event::kComplete, lease);
    done.result = text;
    (void)settle(done);
    EXPECT_EQ(get(lease.id).result, text);
  }
}

TEST_P(Payload, ACheckpointIsKeptByteForByte) {
  const Lease lease = start();
  for (const std::string& text : difficult_texts()) {
    Settlement beat = settlement(Event::kHeartbeat, lease);
    beat.checkpoint = text;
    (void)settle(beat);
    EXPECT_EQ(get(lease.id).checkpoint, text);
  }
  (void)yield(lease);
  EXPECT_EQ(claim().checkpoint, difficult_texts().back());
}

TEST_P(Payload, ErrorsAreKeptByteForByte) {
  const Lease lease = start();
  Settlement failed = settlement(Event::kAbort, lease);
  failed.errors.clear();
  for (const std::string& text : difficult_texts()) {
    if (failed.errors.size() == kMaxErrors) break;
    failed.errors.push_back({.code = "c" + text, .args = "{\"a\":" + text + "}", .description = text});
  }
  (void)settle(failed);
  EXPECT_EQ(get(lease.id).errors, failed.errors);
}

TEST_P(Payload, AnyTextIsKeptWhetherItIsJsonOrNot) {
  const std::string text = "a\x01\x7f \xc3\xa9 \xf0\x9f\x95\xb0 }{\\";
  const Lease lease = start({.spec = text});
  EXPECT_EQ(lease.spec, text);
  Settlement done = settlement(Event::kComplete, lease);
  done.result = text;
  (void)settle(done);
  EXPECT_EQ(get(lease.id).spec, text);
  EXPECT_EQ(get(lease.id).result, text);
}

TEST_P(Payload, WhatIsNoTextIsRefused) {
  const Lease lease = start();
  for (const std::string& bytes : {std::string("a\0b", 3), std::string("\xff")}) {
    EXPECT_EQ(code_of(tasks().submit(std::vector{submission({.spec = bytes})})), ErrorCode::kRefused);
    Settlement done = settlement(Event::kComplete, lease);
    done.result = bytes;
    EXPECT_EQ(code_of(tasks().settle(std::vector{done})), ErrorCode::kRefused);
    EXPECT_EQ(code_of(tasks().cancel(std::vector{CancelWish{.id = lease.id, .reason = bytes}})), ErrorCode::kRefused);
  }
  EXPECT_EQ(state_of(lease.id), State::kRunning);
}

TEST_P(Payload, OneMebibyteEach) {
  const Lease lease = start({.spec = text_of_size(kMaxSpecBytes)});
  EXPECT_EQ(lease.spec, text_of_size(kMaxSpecBytes));
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.checkpoint = text_of_size(kMaxCheckpointBytes);
  (void)settle(beat);
  Settlement done = settlement(Event::kComplete, lease);
  done.result = text_of_size(kMaxResultBytes);
  (void)settle(done);
  const Task task = get(lease.id);
  EXPECT_EQ(task.spec.size(), kMaxSpecBytes);
  EXPECT_EQ(task.checkpoint, beat.checkpoint);
  EXPECT_EQ(task.result, done.result);
}

TEST_P(Payload, AnEmptyResultAndCheckpointAreNotNothing) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.checkpoint = "";
  (void)settle(beat);
  Settlement done = settlement(Event::kComplete, lease);
  done.result = "";
  (void)settle(done);
  EXPECT_EQ(get(lease.id).checkpoint, "");
  EXPECT_EQ(get(lease.id).result, "");
}

TEST_P(Payload, TheLongestOwner) {
  std::string owner;
  for (std::size_t i = 0; i < kMaxOwnerLength; ++i) owner += "\u4f60";
  const Lease lease = start({}, owner);
  EXPECT_EQ(get(lease.id).owner, owner);
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
}

// ---- Times ----

TEST_P(Payload, ATaskInTheYear9999) {
  const TaskId id = submit({.run_at = latest_instant()});
  EXPECT_EQ(state_of(id), State::kScheduled);
  EXPECT_EQ(get(id).run_at, latest_instant());
  // Reading: what a Duration of 292 years cannot hold is as long as it can be.
  const PromoteOutcome outcome = promote();
  EXPECT_EQ(outcome.promoted, 0U);
  ASSERT_TRUE(outcome.next_in);
  EXPECT_GT(*outcome.next_in, Duration(24h * 365 * 200));
  EXPECT_EQ(ids_in({.kind = ListKind::kScheduled}), std::vector{id});
  EXPECT_EQ(cancel(id), Verdict::kAccepted);
}

TEST_P(Payload, ATaskFromTheYear0) {
  const TaskId id = submit({.run_at = earliest_instant()});
  EXPECT_EQ(state_of(id), State::kReady);
  EXPECT_EQ(get(id).run_at, earliest_instant());
  EXPECT_EQ(claim().id, id);
}

TEST_P(Payload, ListsOverAllOfTime) {
  const TaskId first = submit({.run_at = now() + 1us});
  const TaskId last = submit({.run_at = latest_instant()});
  EXPECT_EQ(ids_in({.kind = ListKind::kScheduled, .limit = 1}), (std::vector{first, last}));
  EXPECT_EQ(
      ids_in({.kind = ListKind::kAll, .created_from = earliest_instant(), .created_before = latest_instant()}).size(),
      2U);
}

TEST_P(Payload, AVeryLongRetryDelay) {
  const Duration century = 24h * 36'525;
  const Lease lease = start({.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = century, .cap = 2 * century}});
  (void)abort(lease);
  EXPECT_EQ(get(lease.id).run_at - now(), century);
}

TEST_P(Payload, TheLargestBudgetAndTheFinestPolicy) {
  const RetryPolicy policy{.kind = RetryPolicy::Kind::kExponential,
                           .delay = Duration(1),
                           .factor = 1.0000000000000002,
                           .cap = Duration::max(),
                           .jitter = 0.1};
  const Task task = get(submit({.max_attempts = kMaxAttemptsLimit, .retry = policy}));
  EXPECT_EQ(task.max_attempts, kMaxAttemptsLimit);
  EXPECT_EQ(task.retry, policy);
}

TEST_P(Payload, TheFastestAgeingOverManyYears) {
  configure(kQueue, {.ageing_rate = kMaxAgeingRate});
  const TaskId old = submit({.priority = 0});
  advance(24h * 365 * 50);
  configure(kQueue, {.ageing_rate = 0});
  advance(24h * 365 * 50);
  configure(kQueue, {.ageing_rate = kMaxAgeingRate});
  const TaskId young = submit({.priority = 255});
  EXPECT_EQ(ids_of(claim_up_to(2)), (std::vector{old, young}));
}

}  // namespace
}  // namespace horae::testing
