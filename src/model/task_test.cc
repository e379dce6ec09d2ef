#include "model/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace horae {
namespace {

using std::chrono_literals::operator""s;
using std::string_literals::operator""s;
using ::testing::HasSubstr;

NewTask good() { return {.queue = "mail", .spec = "{}"}; }

std::string refusal(const std::function<void(NewTask&)>& change) {
  NewTask task = good();
  change(task);
  const auto checked = check_new_task(task);
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kRefused);
  return checked.error().message;
}

TEST(TaskError, BecomesJsonWithItsArgsUntouched) {
  EXPECT_EQ(to_json({}), "[]");
  EXPECT_EQ(to_json({{.code = "a", .args = "{\"n\": 1.0}", .description = "say \"x\""}, {.code = "b"}}),
            "[{\"code\":\"a\",\"args\":{\"n\": 1.0},\"description\":\"say \\\"x\\\"\"},"
            "{\"code\":\"b\",\"args\":{},\"description\":\"\"}]");
}

TEST(NewTask, NeedsOnlyAQueueAndASpec) {
  EXPECT_TRUE(check_new_task(good()).ok());
  EXPECT_EQ(good().priority, 50);
  EXPECT_EQ(good().max_attempts, 0);
}

TEST(NewTask, QueueNamesArePlain) {
  for (const char* name : {"tms", "horae.internal", "Mail-2_x", "0"}) EXPECT_TRUE(check_queue_name(name).ok()) << name;
  EXPECT_TRUE(check_queue_name(std::string(128, 'q')).ok());
  for (const auto& name : {""s, std::string(129, 'q'), "two words"s, "a/b"s, "Ὧραι"s, "nul\0"s, "a\n"s}) {
    EXPECT_FALSE(check_queue_name(name).ok()) << name;
  }
  EXPECT_EQ(refusal([](NewTask& task) { task.queue = "a b\n"; }),
            "queue \"a b\\x0a\": give 1 to 128 letters, digits, '.', '_' or '-'");
}

TEST(NewTask, KeysAreOneTo128Characters) {
  std::string greek;
  for (int i = 0; i < 128; ++i) greek += "Ὧ";
  EXPECT_TRUE(check_key(greek).ok());
  EXPECT_TRUE(check_key("order 4711 / retry").ok());
  for (const auto& key : {""s, greek + "x", "nul\0"s, "\xFF"s, "line\n"s}) EXPECT_FALSE(check_key(key).ok());
  EXPECT_THAT(refusal([](NewTask& task) { task.key = ""; }), HasSubstr("key \"\": give 1 to 128 characters"));
}

TEST(NewTask, PrioritiesBeyondTheRangeAreRefused) {
  EXPECT_TRUE(check_priority(0).ok());
  EXPECT_TRUE(check_priority(255).ok());
  EXPECT_FALSE(check_priority(256 + 50LL * (1LL << 32)).ok());
  EXPECT_EQ(refusal([](NewTask& task) { task.priority = 256; }), "priority 256: give 0 to 255, higher is more urgent");
  EXPECT_EQ(refusal([](NewTask& task) { task.priority = -1; }), "priority -1: give 0 to 255, higher is more urgent");
}

TEST(NewTask, SpecsHaveALimit) {
  EXPECT_EQ(refusal([](NewTask& task) { task.spec = std::string(1 << 20, ' '); }), "");
  EXPECT_THAT(refusal([](NewTask& task) { task.spec = std::string((1 << 20) + 1, ' '); }), HasSubstr("1048577 bytes"));
  EXPECT_THAT(refusal([](NewTask& task) { task.spec = ""; }), HasSubstr("spec: it is empty"));
}

TEST(NewTask, SpecsAreText) {
  EXPECT_EQ(refusal([](NewTask& task) { task.spec = "\"\\u0000 \xc3\xa9\""; }), "");
  for (const std::string& spec : {std::string("\"\0\"", 3), std::string("\"\xc3\"")}) {
    EXPECT_EQ(refusal([&](NewTask& task) { task.spec = spec; }),
              "spec: give JSON in UTF-8; a NUL is written as \\u0000");
  }
}

TEST(NewTask, IntervalsAndAttemptsHaveARange) {
  EXPECT_EQ(refusal([](NewTask& task) { task.recurring = 3s; }), "");
  EXPECT_THAT(refusal([](NewTask& task) { task.recurring = 0s; }), HasSubstr("recurring 0s: give 1ms to"));
  EXPECT_THAT(refusal([](NewTask& task) { task.recurring = -3s; }), HasSubstr("recurring -3s: give 1ms to"));
  EXPECT_THAT(refusal([](NewTask& task) { task.max_attempts = -1; }), HasSubstr("max_attempts -1: give 0"));
  EXPECT_THAT(refusal([](NewTask& task) { task.retry.jitter = 2; }), HasSubstr("retry policy: jitter 2"));
}

}  // namespace
}  // namespace horae
