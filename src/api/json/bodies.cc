#include "api/json/bodies.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "api/json/field_reader.h"
#include "api/json/queue_fields.h"
#include "api/json/task_fields.h"
#include "base/duration.h"
#include "base/json_scan.h"
#include "base/quote.h"
#include "store/submission.h"

namespace horae {
namespace {

// Reads an object by its table of fields and then checks what the values mean.
template <typename T>
Result<T> read_checked(const FieldTable<T>& fields, std::string_view json, Result<void> (*check)(const T&)) {
  auto value = fields.read(json);
  if (!value.ok()) return value;
  if (auto passed = check(*value); !passed.ok()) return passed.error();
  return value;
}

// The reader of an object with one field, and perhaps another.
FieldReader with_also(std::string_view body, std::string_view field, std::string_view also) {
  const std::array names = {field, also};
  return FieldReader(body, std::span(names).first(also.empty() ? 1 : 2));
}

// Takes the value over if there is one, and else leaves the default.
template <typename T, typename U>
void assign(T& to, std::optional<U> from) {
  if (from) to = std::move(*from);
}

}  // namespace

Result<std::vector<std::string_view>> read_batch(std::string_view body, std::string_view field, std::string_view also) {
  FieldReader fields = with_also(body, field, also);
  fields.require(field);
  auto items = fields.array(field);
  if (fields.fault()) return *fields.fault();
  if (!items || items->empty() || items->size() > kMaxBatch) {
    return Error{ErrorCode::kRefused,
                 fmt::format("{}: {} of them, give 1 to {}", field, items ? items->size() : 0, kMaxBatch)};
  }
  return std::move(*items);
}

Result<NewTask> read_new_task(std::string_view json) { return read_checked(kNewTaskFields, json, check_new_task); }

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
  return read_checked(kSettlementFields, json, check_settlement);
}

Result<std::optional<std::string>> read_cancel_reason(std::string_view body, std::string_view also) {
  if (body.empty()) return std::optional<std::string>();
  FieldReader fields = with_also(body, "reason", also);
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
  return read_checked(kQueueChangeFields, body, check_queue_change);
}

}  // namespace horae
