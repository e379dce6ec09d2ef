#include "model/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/json_text.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "model/names.h"

namespace horae {
namespace {

Error refused(std::string message) { return {ErrorCode::kRefused, std::move(message)}; }

bool is_queue_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

Result<void> check_range(std::string_view field, const std::optional<Duration>& value, Duration least, Duration most) {
  if (!value || (*value >= least && *value <= most)) return {};
  return refused(fmt::format("{} {}: give {} to {}", field, format_duration(*value), format_duration(least),
                             format_duration(most)));
}

Result<void> check_spec_size(std::string_view spec) {
  if (spec.empty()) return refused("spec: it is empty; give a JSON value");
  if (spec.size() > kMaxSpecBytes) {
    return refused(fmt::format("spec: {} bytes, at most {} are allowed; keep large data elsewhere and name it here",
                               spec.size(), kMaxSpecBytes));
  }
  return {};
}

Result<void> check_max_attempts(int max_attempts) {
  if (max_attempts >= 0 && max_attempts <= kMaxAttemptsLimit) return {};
  return refused(fmt::format("max_attempts {}: give 0 (without end) to {}", max_attempts, kMaxAttemptsLimit));
}

}  // namespace

std::string to_json(const std::vector<TaskError>& errors) {
  std::string json = "[";
  for (const TaskError& error : errors) {
    if (json.size() > 1) json += ',';
    json += "{\"code\":";
    append_json_string(json, error.code);
    json += ",\"args\":" + error.args + ",\"description\":";
    append_json_string(json, error.description);
    json += '}';
  }
  return json + "]";
}

Result<void> check_queue_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxQueueNameLength && std::ranges::all_of(name, is_queue_character)) return {};
  return refused(
      fmt::format("queue {}: give 1 to {} letters, digits, '.', '_' or '-'", quote(name), kMaxQueueNameLength));
}

Result<void> check_key(std::string_view key) {
  if (is_free_form_name(key, kMaxKeyCharacters)) return {};
  return refused(fmt::format("key {}: give 1 to {} characters of UTF-8 without control characters", quote(key),
                             kMaxKeyCharacters));
}

Result<void> check_priority(std::int64_t priority) {
  if (priority >= kMinPriority && priority <= kMaxPriority) return {};
  return refused(
      fmt::format("priority {}: give {} to {}, higher is more urgent", priority, kMinPriority, kMaxPriority));
}

Result<void> check_new_task(const NewTask& task) {
  if (auto checked = check_queue_name(task.queue); !checked.ok()) return checked;
  if (task.key) {
    if (auto checked = check_key(*task.key); !checked.ok()) return checked;
  }
  if (auto checked = check_priority(task.priority); !checked.ok()) return checked;
  if (auto checked = check_spec_size(task.spec); !checked.ok()) return checked;
  if (!is_text(task.spec)) return refused("spec: give JSON in UTF-8; a NUL is written as \\u0000");
  if (auto checked = check_range("recurring", task.recurring, kMinRecurring, kMaxRecurring); !checked.ok())
    return checked;
  if (auto checked = check_max_attempts(task.max_attempts); !checked.ok()) return checked;
  return check_retry_policy(task.retry);
}

}  // namespace horae
