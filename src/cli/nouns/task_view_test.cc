// horae task get shows every field that a node writes.
#include "cli/nouns/task_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "api/json/task_fields.h"
#include "api/json/task_json.h"
#include "base/json_scan.h"
#include "base/time_text.h"

namespace horae::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// A task in which no field has the value that it has in an empty one.
Task whole_task() {
  const Instant time = parse_instant("2026-11-16T02:14:07Z").value();
  Task task{.id = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value(),
            .number = 7,
            .key = "order-1",
            .queue = "mail",
            .priority = 90,
            .spec = R"("a spec")",
            .state = State::kAborted,
            .progress = 0.5,
            .created_at = time,
            .updated_at = time + 1s,
            .run_at = time + 2s,
            .recurring = 90min,
            .attempt = 5,
            .tries = 2,
            .max_attempts = 3,
            .retry = {RetryPolicy::Kind::kExponential, 2s, 3.0, 10min, 0.5},
            .owner = "worker-7",
            .started_at = time + 3s,
            .lease_expires = time + 4s,
            .errors = {{.code = "no_disk", .args = R"({"free":12})", .description = "the disk is full"}},
            .result = R"({"at":1.0})",
            .checkpoint = "[1, 2]",
            .cancel_reason = "too late",
            .history = History(3)};
  task.history.append({.kind = HistoryKind::kRetry,
                       .worker = "worker-6",
                       .time = time + 5s,
                       .attempt = 4,
                       .progress = 0.25,
                       .detail = R"([{"code":"late"}])"});
  return task;
}

std::string shown(const std::string& json) {
  const auto task = read_task(json);
  if (!task.ok()) return task.error().message;
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  show_task({.in = in, .out = out, .err = err}, *task);
  return out.str();
}

std::string json_of(const Task& task) {
  std::string json;
  append_task(json, task);
  return json;
}

// The object with another value in place of one member; without it if there is no value.
std::string with(std::string_view object, std::string_view name, std::string_view value) {
  std::string changed;
  for (const JsonMember& member : scan_object(object).value()) {
    const std::string_view to = member.key == name ? value : member.value;
    if (!to.empty()) changed += fmt::format("{}\"{}\":{}", changed.empty() ? "" : ",", member.key, to);
  }
  return "{" + changed + "}";
}

std::string_view member_of(std::string_view object, std::string_view name) {
  for (const JsonMember& member : scan_object(object).value()) {
    if (member.key == name) return member.value;
  }
  return "";
}

TEST(TaskView, ShowsEveryFieldOfATask) {
  const std::string json = json_of(whole_task());
  const std::string all = shown(json);
  std::vector<std::string_view> names(kTaskFields.names.begin(), kTaskFields.names.end());
  names.insert(names.end(), kTaskHistoryFields.names.begin(), kTaskHistoryFields.names.end());
  for (const std::string_view name : names) {
    ASSERT_NE(member_of(json, name), "") << name;
    EXPECT_NE(shown(with(json, name, "")), all) << name << " makes no difference to:\n" << all;
  }
}

TEST(TaskView, ShowsEveryFieldOfARetryPolicyAnErrorAndAHistoryEntry) {
  const std::string json = json_of(whole_task());
  const std::string all = shown(json);
  for (const std::string_view name : kRetryFields.names) {
    EXPECT_NE(shown(with(json, "retry", with(member_of(json, "retry"), name, ""))), all) << "retry." << name;
  }
  const auto expect_shown_in_array = [&](std::string_view array, std::span<const std::string_view> names) {
    const std::string_view item = scan_array(member_of(json, array)).value().front();
    for (const std::string_view name : names) {
      EXPECT_NE(shown(with(json, array, "[" + with(item, name, "") + "]")), all) << array << "." << name;
    }
  };
  expect_shown_in_array("errors", kTaskErrorFields.names);
  expect_shown_in_array("history", kHistoryEntryFields.names);
}

TEST(TaskView, ShowsFieldsThatOnlyANewerNodeKnows) {
  const std::string json = json_of(whole_task());
  const std::string newer = json.substr(0, json.size() - 1) + R"(,"labels":{"team":"a"},"due_by":"noon"})";
  EXPECT_THAT(shown(newer), HasSubstr(R"({"team":"a"})"));
  EXPECT_THAT(shown(newer), HasSubstr("due by"));
}

TEST(TaskView, ShowsJsonOfClientsAsItsExactBytesAndLeavesAbsentValuesOut) {
  const std::string all = shown(json_of(whole_task()));
  EXPECT_THAT(all, HasSubstr(R"("a spec")"));
  EXPECT_THAT(all, HasSubstr(R"({"at":1.0})"));
  EXPECT_THAT(all, HasSubstr("exponential, delay 2s, factor 3, cap 10m, jitter 0.5"));
  EXPECT_THAT(all, HasSubstr(R"(no_disk: the disk is full {"free":12})"));
  const std::string least = shown(json_of({.queue = "mail", .spec = "null", .history = History()}));
  EXPECT_THAT(least, HasSubstr("spec        null\n"));
  EXPECT_THAT(least, HasSubstr("retry       none\n"));
  EXPECT_THAT(least, Not(HasSubstr("result")));
  EXPECT_THAT(least, Not(HasSubstr("owner")));
}

}  // namespace
}  // namespace horae::cli
