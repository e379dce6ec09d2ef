#include "sdk/worker_wire.h"

#include <fmt/format.h>

#include <charconv>

#include "base/duration.h"
#include "base/json_scan.h"
#include "base/json_text.h"
#include "base/uuid.h"

namespace horae {
namespace {

constexpr std::size_t kMaxShown = 200;

// The members of an object by name. Unknown ones are ignored: a newer node may write more.
class Members {
 public:
  explicit Members(std::string_view json) {
    auto members = scan_object(json);
    if (members.ok()) members_ = std::move(*members);
  }

  // Empty if it is absent or null.
  std::string_view json(std::string_view name) const {
    for (const JsonMember& member : members_) {
      if (member.key == name && kind_of(member.value) != JsonKind::kNull) return member.value;
    }
    return {};
  }
  std::optional<std::string> text(std::string_view name) const {
    const std::string_view value = json(name);
    if (value.empty() || kind_of(value) != JsonKind::kString) return std::nullopt;
    return unescape_json(value);
  }
  std::optional<std::int64_t> integer(std::string_view name) const {
    const std::string_view value = json(name);
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    return failed == std::errc() && end == value.data() + value.size() ? std::optional(number) : std::nullopt;
  }
  std::optional<TaskId> id() const {
    const auto uuid = parse_uuid(text("id").value_or(""));
    return uuid.ok() ? std::optional(*uuid) : std::nullopt;
  }
  std::vector<std::string_view> array(std::string_view name) const {
    const std::string_view value = json(name);
    if (value.empty() || kind_of(value) != JsonKind::kArray) return {};
    auto items = scan_array(value);
    return items.ok() ? std::move(*items) : std::vector<std::string_view>();
  }

 private:
  std::vector<JsonMember> members_;
};

Error unexpected(std::string_view what, std::string_view answer) {
  return {ErrorCode::kUnavailable, fmt::format("the answer has no {}: {}", what, answer.substr(0, kMaxShown))};
}

void append_member(std::string& out, std::string_view name, std::string_view json) {
  out += out.ends_with('{') ? "\"" : ",\"";
  out += name;
  out += "\":";
  out += json;
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  std::string json;
  append_json_string(json, text);
  append_member(out, name, json);
}

std::optional<LeasedTask> read_task(std::string_view json) {
  const Members members(json);
  const auto id = members.id();
  const auto attempt = members.integer("attempt");
  const std::string_view spec = members.json("spec");
  if (!id || !attempt) return std::nullopt;
  LeasedTask task{.id = *id,
                  .number = members.integer("number").value_or(0),
                  .queue = members.text("queue").value_or(""),
                  .priority = static_cast<int>(members.integer("priority").value_or(kDefaultPriority)),
                  .spec = spec.empty() ? "null" : std::string(spec),
                  .attempt = static_cast<int>(*attempt)};
  const std::string_view checkpoint = members.json("checkpoint");
  if (!checkpoint.empty()) task.checkpoint = std::string(checkpoint);
  return task;
}

void append_errors(std::string& out, const std::vector<TaskError>& errors) {
  std::string json = "[";
  for (const TaskError& error : errors) {
    if (json.size() > 1) json += ',';
    std::string item = "{";
    append_text(item, "code", error.code);
    append_member(item, "args", error.args);
    append_text(item, "description", error.description);
    json += item + "}";
  }
  append_member(out, "errors", json + "]");
}

}  // namespace

Result<std::string> read_worker_id(std::string_view answer) {
  auto id = Members(answer).text("id");
  if (!id) return unexpected("id", answer);
  return std::move(*id);
}

std::string claim_json(const ClaimWish& wish, Duration wait) {
  std::string queues = "[";
  for (const std::string& queue : wish.queues) {
    if (queues.size() > 1) queues += ',';
    append_json_string(queues, queue);
  }
  std::string claim = "{";
  append_member(claim, "queues", queues + "]");
  append_member(claim, "max", std::to_string(wish.max));
  append_text(claim, "lease", format_duration(wish.lease));
  append_text(claim, "token", to_string(wish.token));
  std::string body = "{";
  append_text(body, "owner", wish.owner);
  append_member(body, "claim", claim + "}");
  append_text(body, "wait", format_duration(wait));
  return body + "}";
}

Result<ClaimAnswer> read_claim_answer(std::string_view answer) {
  const Members members(answer);
  if (members.json("tasks").empty()) return unexpected("tasks", answer);
  ClaimAnswer read;
  for (const std::string_view item : members.array("tasks")) {
    auto task = read_task(item);
    if (!task) return unexpected("task that can be read", item);
    read.tasks.push_back(std::move(*task));
  }
  for (const std::string_view item : members.array("rest")) {
    const Members attempt(item);
    if (const auto id = attempt.id()) {
      read.rest.push_back({.id = *id, .attempt = static_cast<int>(attempt.integer("attempt").value_or(0))});
    }
  }
  read.attention = members.json("attention") == "true";
  return read;
}

std::string settlement_json(const Settlement& settlement) {
  std::string json = "{";
  append_text(json, "event", to_string(settlement.event));
  append_text(json, "owner", settlement.owner);
  append_text(json, "id", to_string(settlement.id));
  if (settlement.number != 0) append_member(json, "number", std::to_string(settlement.number));
  append_member(json, "attempt", std::to_string(settlement.attempt));
  if (settlement.lease) append_text(json, "lease", format_duration(*settlement.lease));
  if (settlement.progress) append_member(json, "progress", fmt::format("{}", *settlement.progress));
  if (settlement.checkpoint) append_member(json, "checkpoint", *settlement.checkpoint);
  if (settlement.result) append_member(json, "result", *settlement.result);
  if (!settlement.errors.empty()) append_errors(json, settlement.errors);
  return json + "}";
}

std::string settle_json(std::span<const std::string> settlements) {
  std::string body = R"({"settlements":[)";
  for (const std::string& settlement : settlements) {
    if (!body.ends_with('[')) body += ',';
    body += settlement;
  }
  return body + "]}";
}

Result<std::vector<SettleAnswer>> read_settle_answer(std::string_view answer, std::size_t count) {
  const std::vector<std::string_view> items = Members(answer).array("outcomes");
  if (items.size() != count) return unexpected(fmt::format("{} outcomes", count), answer);
  std::vector<SettleAnswer> outcomes;
  for (const std::string_view item : items) {
    const Members members(item);
    const std::string_view problem = members.json("problem");
    outcomes.push_back({.verdict = members.text("verdict").value_or(""),
                        .problem = problem.empty() ? "" : detail_of_problem(problem)});
  }
  return outcomes;
}

std::string detail_of_problem(std::string_view body) {
  auto detail = Members(body).text("detail");
  return detail ? std::move(*detail) : std::string(body.substr(0, kMaxShown));
}

}  // namespace horae
