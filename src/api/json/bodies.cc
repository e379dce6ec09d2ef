#include "api/json/bodies.h"

#include <fmt/format.h>

#include <utility>

#include "base/duration.h"
#include "base/json_scan.h"
#include "base/quote.h"
#include "api/json/field_reader.h"
#include "store/submission.h"

namespace horae {
namespace {

// Takes the value over if there is one, and else leaves the default.
template <typename T, typename U>
void assign(T& to, std::optional<U> from) {
  if (from) to = std::move(*from);
}

std::optional<std::string> copied(std::optional<std::string_view> json) {
  if (!json || kind_of(*json) == JsonKind::kNull) return std::nullopt;
  return std::string(*json);
}

template <typename T>
Result<T> checked(T value, Result<void> (*check)(const T&)) {
  if (auto passed = check(value); !passed.ok()) return passed.error();
  return value;
}

std::optional<RetryPolicy::Kind> parse_retry_kind(std::string_view text) {
  if (text == "none") return RetryPolicy::Kind::kNone;
  if (text == "fixed") return RetryPolicy::Kind::kFixed;
  if (text == "exponential") return RetryPolicy::Kind::kExponential;
  return std::nullopt;
}

Result<RetryPolicy> read_retry(std::string_view json) {
  FieldReader fields(json, {"kind", "delay", "factor", "cap", "jitter"}, "retry.");
  fields.require("kind");
  RetryPolicy policy;
  const std::string kind = fields.text("kind").value_or("");
  const auto known = parse_retry_kind(kind);
  if (!known) fields.fail("kind", kind, "give none, fixed or exponential");
  assign(policy.kind, known);
  assign(policy.delay, fields.duration("delay"));
  assign(policy.factor, fields.number("factor"));
  assign(policy.cap, fields.duration("cap"));
  assign(policy.jitter, fields.number("jitter"));
  if (fields.fault()) return *fields.fault();
  return policy;
}

void read_retry_into(RetryPolicy& policy, FieldReader& fields) {
  const auto json = copied(fields.json("retry"));
  if (!json) return;
  auto read = read_retry(*json);
  if (!read.ok()) return fields.fail(read.error());
  policy = *read;
}

Result<TaskError> read_task_error(std::string_view json, std::size_t index) {
  FieldReader fields(json, {"code", "args", "description"}, fmt::format("errors[{}].", index));
  fields.require("code");
  TaskError error;
  assign(error.code, fields.text("code"));
  assign(error.description, fields.text("description"));
  const auto args = copied(fields.json("args"));
  if (args && kind_of(*args) != JsonKind::kObject) fields.fail("args", *args, "give an object");
  assign(error.args, args);
  if (fields.fault()) return *fields.fault();
  return error;
}

std::vector<TaskError> read_task_errors(FieldReader& fields) {
  std::vector<TaskError> errors;
  const auto elements = fields.array("errors");
  for (std::size_t i = 0; elements && i < elements->size(); ++i) {
    auto error = read_task_error((*elements)[i], i);
    if (!error.ok()) {
      fields.fail(error.error());
      return {};
    }
    errors.push_back(std::move(*error));
  }
  return errors;
}

std::optional<Event> parse_settle_event(std::string_view text) {
  for (const Event event : {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease}) {
    if (to_string(event) == text) return event;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string_view>> read_batch(std::string_view body, std::string_view field, std::string_view also) {
  FieldReader fields(body, {field, also.empty() ? field : also});
  fields.require(field);
  auto items = fields.array(field);
  if (fields.fault()) return *fields.fault();
  if (!items || items->empty() || items->size() > kMaxBatch) {
    return Error{ErrorCode::kRefused,
                 fmt::format("{}: {} of them, give 1 to {}", field, items ? items->size() : 0, kMaxBatch)};
  }
  return std::move(*items);
}

Result<NewTask> read_new_task(std::string_view json) {
  FieldReader fields(json, {"id", "key", "queue", "priority", "spec", "run_at", "recurring", "max_attempts", "retry"});
  fields.require("queue");
  fields.require("spec");
  NewTask task;
  task.id = fields.uuid("id");
  task.key = fields.text("key");
  assign(task.queue, fields.text("queue"));
  if (const auto priority = fields.integer("priority")) {
    if (auto allowed = check_priority(*priority); !allowed.ok()) fields.fail(allowed.error());
    task.priority = static_cast<int>(*priority);
  }
  assign(task.spec, fields.json("spec"));
  task.run_at = fields.instant("run_at");
  task.recurring = fields.duration("recurring");
  assign(task.max_attempts, fields.small_integer("max_attempts"));
  read_retry_into(task.retry, fields);
  if (fields.fault()) return *fields.fault();
  return checked(std::move(task), check_new_task);
}

Result<ClaimBody> read_claim(std::string_view body) {
  FieldReader fields(body, {"owner", "queues", "max", "wait", "lease", "token"});
  fields.require("owner");
  fields.require("queues");
  ClaimBody claim;
  assign(claim.wish.owner, fields.text("owner"));
  assign(claim.wish.queues, fields.texts("queues"));
  assign(claim.wish.max, fields.small_integer("max"));
  assign(claim.wish.lease, fields.duration("lease"));
  assign(claim.wait, fields.duration("wait"));
  const auto token = fields.uuid("token");
  claim.wish.once = token.has_value();
  assign(claim.wish.token, token);
  if (fields.fault()) return *fields.fault();
  if (claim.wait > kMaxWait) {
    return Error{ErrorCode::kRefused,
                 fmt::format("wait {}: give 0s to {}", format_duration(claim.wait), format_duration(kMaxWait))};
  }
  if (auto passed = check_claim_wish(claim.wish); !passed.ok()) return passed.error();
  return claim;
}

Result<Settlement> read_settlement(std::string_view json) {
  FieldReader fields(
      json, {"event", "id", "number", "attempt", "owner", "lease", "progress", "checkpoint", "result", "errors"});
  for (const std::string_view name : {"event", "id", "attempt", "owner"}) fields.require(name);
  Settlement settlement;
  const std::string event = fields.text("event").value_or("");
  const auto known = parse_settle_event(event);
  if (!known) fields.fail("event", event, "give heartbeat, complete, abort, yield or release");
  assign(settlement.event, known);
  assign(settlement.id, fields.uuid("id"));
  assign(settlement.number, fields.integer("number"));
  assign(settlement.attempt, fields.small_integer("attempt"));
  assign(settlement.owner, fields.text("owner"));
  assign(settlement.lease, fields.duration("lease"));
  settlement.progress = fields.number("progress");
  settlement.checkpoint = copied(fields.json("checkpoint"));
  settlement.result = copied(fields.json("result"));
  settlement.errors = read_task_errors(fields);
  if (fields.fault()) return *fields.fault();
  return checked(std::move(settlement), check_settlement);
}

Result<std::optional<std::string>> read_cancel_reason(std::string_view body) {
  if (body.empty()) return std::optional<std::string>();
  FieldReader fields(body, {"reason", "ids"});
  auto reason = fields.text("reason");
  if (fields.fault()) return *fields.fault();
  if (auto passed = check_cancel_wish({.id = {}, .reason = reason}); !passed.ok()) return passed.error();
  return reason;
}

Result<TaskId> read_task_id(std::string_view item) {
  if (kind_of(item) != JsonKind::kString) {
    return Error{ErrorCode::kMalformed, fmt::format("id {}: give a UUID as a string", quote(item))};
  }
  return parse_uuid(unescape_json(item));
}

Result<QueueChange> read_queue_change(std::string_view body) {
  FieldReader fields(body, {"paused", "ageing_rate", "retention"});
  const QueueChange change{.paused = fields.boolean("paused"),
                           .ageing_rate = fields.integer("ageing_rate"),
                           .retention = fields.duration("retention")};
  if (fields.fault()) return *fields.fault();
  return checked(change, check_queue_change);
}

}  // namespace horae
