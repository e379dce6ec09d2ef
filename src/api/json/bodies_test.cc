#include "api/json/bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_scan.h"
#include "base/time_text.h"
#include "store/submission.h"

namespace horae {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kId = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

template <typename T>
void expect_error(const Result<T>& read, ErrorCode code, std::initializer_list<std::string> parts) {
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, code) << read.error().message;
  for (const std::string& part : parts) EXPECT_THAT(read.error().message, HasSubstr(part));
}

TEST(Bodies, ReadsATaskWithAllItsFields) {
  const auto task = read_new_task(R"({"id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","key":"order-\u0031","queue":"mail",
    "priority":7,"spec": {"a" : 1.0, "a":12345678901234567890} ,"run_at":"2026-11-16T02:14:07+01:00","recurring":"1h30m",
    "max_attempts":3,"retry":{"kind":"exponential","delay":"2s","factor":3,"cap":"10m","jitter":0.5}})");
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(to_string(*task->id), kId);
  EXPECT_EQ(task->key, "order-1");
  EXPECT_EQ(task->queue, "mail");
  EXPECT_EQ(task->priority, 7);
  EXPECT_EQ(task->spec, R"({"a" : 1.0, "a":12345678901234567890})");
  EXPECT_EQ(format_instant(*task->run_at), "2026-11-16T01:14:07Z");
  EXPECT_EQ(task->recurring, 90min);
  EXPECT_EQ(task->max_attempts, 3);
  EXPECT_EQ(task->retry, (RetryPolicy{RetryPolicy::Kind::kExponential, 2s, 3.0, 10min, 0.5}));
}

TEST(Bodies, ATaskNeedsOnlyAQueueAndASpec) {
  const auto task = read_new_task(R"({"queue":"q","spec":null,"key":null,"priority":null})");
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(*task, (NewTask{.queue = "q", .spec = "null"}));
}

TEST(Bodies, AMalformedTaskNamesTheFieldItsValueAndWhatIsAllowed) {
  const auto malformed = ErrorCode::kMalformed;
  expect_error(read_new_task("[]"), malformed, {"this is an array; give an object, with fields of id, key"});
  expect_error(read_new_task("{"), malformed, {"byte 2"});
  expect_error(read_new_task(R"({"spec":{}})"), malformed, {"queue", "missing"});
  expect_error(read_new_task(R"({"queue":"q"})"), malformed, {"spec", "missing"});
  expect_error(read_new_task(R"({"queue":7,"spec":{}})"), malformed, {"queue", "7", "string"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"priority":"high"})"), malformed,
               {"priority", "high", "number"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"priority":5.5})"), malformed, {"priority", "5.5", "whole"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"run_at":"soon"})"), malformed, {"run_at", "soon", "RFC 3339"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"recurring":5})"), malformed, {"recurring", "5", "duration"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"recurring":"5x"})"), malformed,
               {"recurring", "5x", "duration"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"id":"7"})"), malformed, {"id", "7", "UUID"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"max_attempts":99999999999})"), malformed, {"max_attempts"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"retry":[]})"), malformed, {"object"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"retry":{"kind":"often"}})"), malformed,
               {"retry.kind", "often", "exponential"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"retry":{"kind":"fixed","factor":1e999}})"), malformed,
               {"retry.factor", "1e999"});
}

TEST(Bodies, RefusesValuesOfATaskThatAreNotAllowed) {
  const auto refused = ErrorCode::kRefused;
  expect_error(read_new_task(R"({"queue":"a b","spec":{}})"), refused, {"queue", "a b"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"priority":256})"), refused, {"priority 256", "255"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"priority":-9223372036854775808})"), refused, {"priority"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"recurring":"0s"})"), refused, {"recurring 0s"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"key":"a\u0000b"})"), refused, {"key"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"max_attempts":-1})"), refused, {"max_attempts -1"});
}

TEST(Bodies, RefusesUnknownAndRepeatedFieldsButNotThoseInsideTheSpec) {
  expect_error(read_new_task(R"({"queue":"q","spec":{},"priorty":1})"), ErrorCode::kMalformed, {"priorty", "priority"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"spec":1})"), ErrorCode::kMalformed, {"spec", "twice"});
  expect_error(read_new_task(R"({"queue":"q","spec":{},"sp\u0065c":1})"), ErrorCode::kMalformed, {"spec", "twice"});
  EXPECT_TRUE(read_new_task(R"({"queue":"q","spec":{"x":1,"x":2}})").ok());
}

TEST(Bodies, ReadsAClaim) {
  const auto claim = read_claim(
      R"({"owner":"worker-7","queues":["a","b"],"max":10,"wait":"30s","lease":"1m","token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"})");
  ASSERT_TRUE(claim.ok()) << claim.error().message;
  EXPECT_EQ(claim->wish.owner, "worker-7");
  EXPECT_THAT(claim->wish.queues, ElementsAre("a", "b"));
  EXPECT_EQ(claim->wish.max, 10);
  EXPECT_EQ(claim->wish.lease, 1min);
  EXPECT_EQ(claim->wait, 30s);
  EXPECT_TRUE(claim->wish.once);
  const auto least = read_claim(R"({"owner":"worker-7","queues":["a"]})");
  ASSERT_TRUE(least.ok());
  EXPECT_EQ(least->wish.max, 1);
  EXPECT_EQ(least->wish.lease, 10s);
  EXPECT_EQ(least->wait, 0s);
  EXPECT_FALSE(least->wish.once);
}

TEST(Bodies, RefusesClaimsOutOfRange) {
  expect_error(read_claim(R"({"queues":["a"]})"), ErrorCode::kMalformed, {"owner"});
  expect_error(read_claim(R"({"owner":"w","queues":"a"})"), ErrorCode::kMalformed, {"queues", "array"});
  expect_error(read_claim(R"({"owner":"w","queues":[1]})"), ErrorCode::kMalformed, {"queues", "strings"});
  expect_error(read_claim(R"({"owner":"w","queues":[]})"), ErrorCode::kRefused, {"queues"});
  expect_error(read_claim(R"({"owner":"w","queues":["a"],"max":1001})"), ErrorCode::kRefused, {"max 1001"});
  expect_error(read_claim(R"({"owner":"w","queues":["a"],"wait":"31s"})"), ErrorCode::kRefused, {"wait 31s", "30s"});
  expect_error(read_claim(R"({"owner":"w","queues":["a"],"lease":"1ms"})"), ErrorCode::kRefused, {"lease 1ms"});
}

TEST(Bodies, ReadsSettlementsWithTheirExactBytes) {
  const auto complete = read_settlement(
      R"({"event":"complete","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","number":9,"attempt":2,"owner":"worker-7","result":[1.0 ,2]})");
  ASSERT_TRUE(complete.ok()) << complete.error().message;
  EXPECT_EQ(complete->event, Event::kComplete);
  EXPECT_EQ(complete->number, 9);
  EXPECT_EQ(complete->attempt, 2);
  EXPECT_EQ(complete->result, "[1.0 ,2]");
  const auto beat = read_settlement(
      R"({"event":"heartbeat","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":2,"owner":"w","lease":"20s","progress":0.5,"checkpoint":{"at":1}})");
  ASSERT_TRUE(beat.ok()) << beat.error().message;
  EXPECT_EQ(beat->lease, 20s);
  EXPECT_EQ(beat->progress, 0.5);
  EXPECT_EQ(beat->checkpoint, R"({"at":1})");
  const auto abort = read_settlement(
      R"({"event":"abort","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":2,"owner":"w","errors":[{"code":"a","args":{"x":1.0},"description":"d"},{"code":"b"}]})");
  ASSERT_TRUE(abort.ok()) << abort.error().message;
  EXPECT_THAT(abort->errors, ElementsAre(TaskError{"a", R"({"x":1.0})", "d"}, TaskError{"b", "{}", ""}));
}

TEST(Bodies, AWholeNumberMayHaveAPointAndZeros) {
  EXPECT_EQ(read_new_task(R"({"queue":"q","spec":1,"priority":7.00})").value().priority, 7);
  const auto settled = read_settlement(
      R"({"event":"complete","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1.0,"owner":"w","number":9007199254740993.0})");
  EXPECT_EQ(settled.value().attempt, 1);
  EXPECT_EQ(settled.value().number, 9007199254740993);
  for (const char* number : {"7.5", "7.01", "7e0", "7.0e1"}) {
    expect_error(read_new_task(std::string(R"({"queue":"q","spec":1,"priority":)") + number + "}"),
                 ErrorCode::kMalformed, {"priority", "whole number"});
  }
}

TEST(Bodies, NullIsNotWhatARequiredFieldNeeds) {
  expect_error(read_new_task(R"({"queue":null,"spec":1})"), ErrorCode::kMalformed, {"queue", "null", "required"});
  expect_error(read_claim(R"({"owner":"w","queues":null})"), ErrorCode::kMalformed, {"queues", "null"});
  expect_error(read_settlement(R"({"event":"complete","id":null,"attempt":1,"owner":"w"})"), ErrorCode::kMalformed,
               {"id", "null"});
  EXPECT_TRUE(read_new_task(R"({"queue":"q","spec":null})").ok()) << "a spec may be any JSON";
}

TEST(Bodies, ANullCheckpointOrResultIsAbsent) {
  const auto beat = read_settlement(
      R"({"event":"heartbeat","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,"owner":"w","checkpoint":null,"result":null})");
  ASSERT_TRUE(beat.ok());
  EXPECT_EQ(beat->checkpoint, std::nullopt);
  EXPECT_EQ(beat->result, std::nullopt);
}

TEST(Bodies, RefusesIncompleteSettlements) {
  expect_error(read_settlement(R"({"id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,"owner":"w"})"),
               ErrorCode::kMalformed, {"event"});
  expect_error(read_settlement(R"({"event":"complete","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","owner":"w"})"),
               ErrorCode::kMalformed, {"attempt"});
  expect_error(read_settlement(R"({"event":"complete","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1})"),
               ErrorCode::kMalformed, {"owner"});
  expect_error(
      read_settlement(R"({"event":"expire","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,"owner":"w"})"),
      ErrorCode::kMalformed, {"event", "expire", "heartbeat"});
  expect_error(
      read_settlement(R"({"event":"abort","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,"owner":"w"})"),
      ErrorCode::kRefused, {"errors"});
  expect_error(
      read_settlement(
          R"({"event":"abort","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,"owner":"w","errors":[{"code":"a"},{"args":{}}]})"),
      ErrorCode::kMalformed, {"errors[1].code"});
  expect_error(
      read_settlement(
          R"({"event":"abort","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,"owner":"w","errors":[{"code":"a","args":[]}]})"),
      ErrorCode::kMalformed, {"errors[0].args", "object"});
  expect_error(
      read_settlement(
          R"({"event":"abort","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,"owner":"w","errors":["x"]})"),
      ErrorCode::kMalformed,
      {"errors[0] ", "this is a string; give an object, with fields of code, args, description"});
}

TEST(Bodies, FindTheItemsOfABatchWhateverIsInThem) {
  for (const std::string_view array :
       {R"([ {"a":"]\\\"},{" , "b":[1,[2,{}]]} , "x\\\\" ,[] , {},1 ,"\\\",[" ])", R"([])", R"([ ])", R"([""])",
        R"([[[]],{"":{}}])", R"(["\\","\"",-1.5e3,true,null])", "[\n1\t,\r\n\"\xC3\xA9,]\"]"}) {
    const auto scanned = scan_array(array).value();
    const std::string body = "{\"tasks\":" + std::string(array) + "}";
    const auto items = read_batch(body, "tasks");
    if (!scanned.empty()) {
      ASSERT_TRUE(items.ok()) << array;
    }
    EXPECT_EQ(items.ok() ? std::vector<std::string>(items->begin(), items->end()) : std::vector<std::string>(),
              std::vector<std::string>(scanned.begin(), scanned.end()));
  }
}

TEST(Bodies, ReadsBatchesUpToTheirLimit) {
  EXPECT_THAT(read_batch(R"({"tasks":[1, {"a":2}]})", "tasks").value(), ElementsAre("1", R"({"a":2})"));
  expect_error(read_batch(R"({"tasks":[]})", "tasks"), ErrorCode::kRefused, {"tasks: 0", "1000"});
  expect_error(read_batch(R"({"jobs":[]})", "tasks"), ErrorCode::kMalformed, {"jobs", "tasks"});
  expect_error(read_batch(R"([])", "tasks"), ErrorCode::kMalformed, {"object"});
  std::string many = "1";
  for (std::size_t i = 1; i < kMaxBatch; ++i) many += ",1";
  EXPECT_EQ(read_batch(R"({"tasks":[)" + many + "]}", "tasks").value().size(), kMaxBatch);
  expect_error(read_batch(R"({"tasks":[)" + many + ",1]}", "tasks"), ErrorCode::kRefused, {"1001", "1000"});
}

TEST(Bodies, ReadsCancelsAndQueueChanges) {
  EXPECT_EQ(read_cancel_reason("").value(), std::nullopt);
  EXPECT_EQ(read_cancel_reason("{}").value(), std::nullopt);
  EXPECT_EQ(read_cancel_reason(R"({"reason":"too late"})").value(), "too late");
  expect_error(read_cancel_reason(R"({"reason":")" + std::string(2000, 'x') + "\"}"), ErrorCode::kRefused, {"reason"});
  expect_error(read_cancel_reason(R"({"ids":[]})"), ErrorCode::kMalformed, {"ids", "give reason"});
  EXPECT_EQ(read_cancel_reason(R"({"ids":[],"reason":null})", "ids").value(), std::nullopt);
  expect_error(read_task_id("7"), ErrorCode::kMalformed, {"7"});
  const auto change = read_queue_change(R"({"paused":true,"ageing_rate":0,"retention":"24h"})");
  ASSERT_TRUE(change.ok());
  EXPECT_EQ(change->paused, true);
  EXPECT_EQ(change->ageing_rate, 0);
  EXPECT_EQ(change->retention, 24h);
  expect_error(read_queue_change(R"({"ageing_rate":-1})"), ErrorCode::kRefused, {"-1"});
  expect_error(read_queue_change(R"({"paused":"yes"})"), ErrorCode::kMalformed, {"paused", "yes", "true"});
}

}  // namespace
}  // namespace horae
