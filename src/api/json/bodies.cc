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

// Queues of Horae itself can be read, and their settings changed, but only Horae submits to them and claims from them.
Result<void> check_not_reserved(std::string_view queue) {
  if (!queue.starts_with(kReservedPrefix)) return {};
  return Error{
      ErrorCode::kRefused,
      fmt::format("queue {}: names that begin with {} belong to Horae; choose another name", queue, kReservedPrefix)};
}

Result<void> check_client_task(const NewTask& task) {
  if (auto passed = check_new_task(task); !passed.ok()) return passed;
  return check_not_reserved(task.queue);
}

// Takes the value over if there is one, and else leaves the default.
template <typename T, typename U>
void assign(T& to, std::optional<U> from) {
  if (from) to = std::move(*from);
}

Result<void> check_wait(Duration wait) {
  if (wait <= kMaxWait) return {};
  return Error{ErrorCode::kRefused,
               fmt::format("wait {}: give 0s to {}", format_duration(wait), format_duration(kMaxWait))};
}

// The fields that say what to claim.
Result<ClaimWish> claim_of(FieldReader& fields, const std::string& owner) {
  fields.require("queues");
  ClaimWish wish{.owner = owner};
  assign(wish.queues, fields.texts("queues"));
  assign(wish.max, fields.small_integer("max"));
  assign(wish.lease, fields.duration("lease"));
  const auto token = fields.uuid("token");
  wish.once = token.has_value();
  assign(wish.token, token);
  if (fields.fault()) return *fields.fault();
  if (auto passed = check_claim_wish(wish); !passed.ok()) return passed.error();
  for (const std::string& queue : wish.queues) {
    if (auto passed = check_not_reserved(queue); !passed.ok()) return passed.error();
  }
  return wish;
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

Result<NewTask> read_new_task(std::string_view json) { return read_checked(kNewTaskFields, json, check_client_task); }

Result<ClaimBody> read_claim(std::string_view body) {
  FieldReader fields(body, {"owner", "queues", "max", "wait", "lease", "token"});
  fields.require("owner");
  const std::string owner = fields.text("owner").value_or("");
  const Duration wait = fields.duration("wait").value_or(Duration::zero());
  auto wish = claim_of(fields, owner);
  if (!wish.ok()) return wish.error();
  if (auto passed = check_wait(wait); !passed.ok()) return passed.error();
  return ClaimBody{.wish = std::move(*wish), .wait = wait};
}

Result<Settlement> read_settlement(std::string_view json, std::string_view owner) {
  auto settlement = kSettlementFields.read(json);
  if (!settlement.ok()) return settlement;
  if (settlement->owner.empty() && owner.empty()) {
    return Error{ErrorCode::kMalformed, "owner: it is missing; this field is required"};
  }
  if (settlement->owner.empty()) settlement->owner = owner;
  if (auto passed = check_settlement(*settlement); !passed.ok()) return passed.error();
  return settlement;
}

Result<ExchangeBody> read_exchange(std::string_view body) {
  FieldReader fields(body, {"owner", "settlements", "claim", "wait"});
  fields.require("owner");
  ExchangeBody exchange;
  assign(exchange.owner, fields.text("owner"));
  assign(exchange.settlements, fields.array("settlements"));
  const auto claim = fields.present_json("claim");
  const Duration wait = fields.duration("wait").value_or(Duration::zero());
  if (fields.fault()) return *fields.fault();
  if (auto passed = check_owner(exchange.owner); !passed.ok()) return passed.error();
  if (exchange.settlements.size() > kMaxBatch) {
    return Error{ErrorCode::kRefused,
                 fmt::format("settlements: {} of them, give at most {}", exchange.settlements.size(), kMaxBatch)};
  }
  if (auto passed = check_wait(wait); !passed.ok()) return passed.error();
  if (exchange.settlements.empty()) exchange.wait = wait;
  if (!claim && exchange.settlements.empty() && wait == Duration::zero()) {
    return Error{ErrorCode::kRefused, "settlements, claim, wait: give at least one of them"};
  }
  if (!claim) return exchange;
  FieldReader parts(*claim, {"queues", "max", "lease", "token"}, "claim.");
  parts.require("token");
  auto read = claim_of(parts, exchange.owner);
  if (!read.ok()) return read.error();
  exchange.claim = std::move(*read);
  return exchange;
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
    return Error{ErrorCode::kMalformed, fmt::format("id {}: give a UUID as a string", show_json(item))};
  }
  return parse_uuid(unescape_json(item));
}

std::string id_in(std::string_view item) {
  if (kind_of(item) != JsonKind::kObject) return {};
  FieldReader fields(item, {"id"}, {}, FieldReader::Unknown::kIgnored);
  const auto id = fields.uuid("id");
  return id ? to_string(*id) : std::string();
}

Result<QueueChange> read_queue_change(std::string_view body) {
  return read_checked(kQueueChangeFields, body, check_queue_change);
}

}  // namespace horae
