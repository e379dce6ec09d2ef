#include "cli/client/replies.h"

#include <fmt/format.h>

#include <initializer_list>

#include "api/json/field_reader.h"
#include "base/json_scan.h"

namespace horae::cli {
namespace {

// Ignores fields that it does not know: a newer node may add some.
class Reader : public FieldReader {
 public:
  Reader(std::string_view json, std::initializer_list<std::string_view> known)
      : FieldReader(json, known, {}, FieldReader::Unknown::kIgnored) {}

  std::string word(std::string_view name) { return text(name).value_or(""); }
  std::int64_t count(std::string_view name) { return integer(name).value_or(0); }
  std::string raw(std::string_view name) { return std::string(present_json(name).value_or("")); }
};

Error unreadable(std::string_view what, const Error& fault) {
  return {ErrorCode::kInternal,
          fmt::format("cannot read the node's answer as a {}: {}; are both of the same version?", what, fault.message)};
}

template <typename T>
Result<T> finish(const Reader& reader, std::string_view what, T value) {
  if (reader.fault()) return unreadable(what, *reader.fault());
  return value;
}

// Reads each element; the first that cannot be read is the error of all.
template <typename T>
Result<std::vector<T>> read_all(const std::optional<std::vector<std::string_view>>& elements,
                                Result<T> (*read)(std::string_view)) {
  std::vector<T> all;
  if (!elements) return all;
  for (const std::string_view element : *elements) {
    auto one = read(element);
    if (!one.ok()) return one.error();
    all.push_back(std::move(*one));
  }
  return all;
}

std::vector<Member> members_of(std::string_view json) {
  std::vector<Member> all;
  const auto members = scan_object(json);
  if (!members.ok()) return all;  // the caller's Reader says so
  for (const JsonMember& member : *members) all.push_back({std::string(member.key), std::string(member.value)});
  return all;
}

Result<HistoryReply> read_history_entry(std::string_view json) {
  Reader reader(json, {"_typ", "worker", "time", "attempt", "progress", "detail"});
  return finish(reader, "history",
                HistoryReply{.kind = reader.word("_typ"),
                             .worker = reader.word("worker"),
                             .time = reader.word("time"),
                             .attempt = reader.count("attempt"),
                             .progress = reader.number("progress"),
                             .detail = reader.raw("detail")});
}

Result<ErrorReply> read_task_error(std::string_view json) {
  Reader reader(json, {"code", "args", "description"});
  return finish(
      reader, "error",
      ErrorReply{.code = reader.word("code"), .args = reader.raw("args"), .description = reader.word("description")});
}

Result<SchedulerReply::Work> read_work(std::string_view json) {
  Reader reader(json, {"level", "internal", "state", "task", "queue", "attempt", "since"});
  return finish(reader, "slot",
                SchedulerReply::Work{.level = reader.count("level"),
                                     .is_internal = reader.boolean("internal").value_or(false),
                                     .state = reader.word("state"),
                                     .task = reader.word("task"),
                                     .queue = reader.word("queue"),
                                     .attempt = reader.count("attempt"),
                                     .since = reader.word("since")});
}

Result<ExplainReply::Reason> read_reason(std::string_view json) {
  Reader reader(json, {"code", "detail"});
  reader.require("detail");
  return finish(reader, "reason", ExplainReply::Reason{.code = reader.word("code"), .detail = reader.word("detail")});
}

Result<NodeReply> read_node(std::string_view json) {
  Reader reader(json, {"id", "address", "version", "started_at", "last_seen"});
  reader.require("id");
  return finish(reader, "node",
                NodeReply{.id = reader.word("id"),
                          .address = reader.word("address"),
                          .version = reader.word("version"),
                          .started_at = reader.word("started_at"),
                          .last_seen = reader.word("last_seen")});
}

}  // namespace

std::string text_of(const Member& member) {
  switch (kind_of(member.json)) {
    case JsonKind::kNull:
      return "";
    case JsonKind::kString:
      return unescape_json(member.json);
    default:
      return member.json;
  }
}

Result<TaskReply> read_task(std::string_view json) {
  Reader reader(json,
                {"id", "key", "queue", "priority", "state", "progress", "updated_at", "run_at", "attempt", "tries",
                 "max_attempts", "retry", "owner", "errors", "result", "cancel_reason", "history", "history_omitted"});
  for (const std::string_view name : {"id", "queue", "state"}) reader.require(name);
  TaskReply task{.members = members_of(json),
                 .id = reader.word("id"),
                 .key = reader.word("key"),
                 .queue = reader.word("queue"),
                 .priority = reader.count("priority"),
                 .state = reader.word("state"),
                 .progress = reader.number("progress").value_or(0),
                 .updated_at = reader.word("updated_at"),
                 .run_at = reader.word("run_at"),
                 .attempt = reader.count("attempt"),
                 .tries = reader.count("tries"),
                 .max_attempts = reader.count("max_attempts"),
                 .retry = members_of(reader.raw("retry")),
                 .owner = reader.word("owner"),
                 .errors = {},
                 .result = reader.raw("result"),
                 .cancel_reason = reader.word("cancel_reason"),
                 .history = {},
                 .history_omitted = reader.count("history_omitted")};
  auto errors = read_all(reader.array("errors"), read_task_error);
  if (!errors.ok()) return errors.error();
  task.errors = std::move(*errors);
  auto history = read_all(reader.array("history"), read_history_entry);
  if (!history.ok()) return history.error();
  task.history = std::move(*history);
  return finish(reader, "task", std::move(task));
}

Result<PageReply> read_page(std::string_view json) {
  Reader reader(json, {"tasks", "next", "as_of"});
  reader.require("tasks");
  auto tasks = read_all(reader.array("tasks"), read_task);
  if (!tasks.ok()) return tasks.error();
  return finish(reader, "page",
                PageReply{.tasks = std::move(*tasks), .next = reader.word("next"), .as_of = reader.word("as_of")});
}

Result<SubmitReply> read_submitted(std::string_view json) {
  Reader reader(json, {"id", "state", "outcome"});
  for (const std::string_view name : {"id", "state", "outcome"}) reader.require(name);
  return finish(reader, "answer to a submit",
                SubmitReply{.id = reader.word("id"), .state = reader.word("state"), .outcome = reader.word("outcome")});
}

namespace {

bool says_misuse(std::string_view problem) {
  Reader reader(problem, {"status"});
  const std::int64_t status = reader.count("status");
  return status == 400 || status == 422;
}

}  // namespace

Result<CancelReply> read_cancelled(std::string_view json) {
  Reader reader(json, {"id", "verdict", "state", "problem"});
  CancelReply reply{
      .id = reader.word("id"), .verdict = reader.word("verdict"), .state = reader.word("state"), .problem = {}};
  if (const auto problem = reader.json("problem")) {
    reply.problem = read_problem(*problem).value_or(std::string(*problem));
    reply.is_misuse = says_misuse(*problem);
  }
  return finish(reader, "answer to a cancel", std::move(reply));
}

Result<std::vector<CancelReply>> read_cancel_outcomes(std::string_view json) {
  Reader reader(json, {"outcomes"});
  reader.require("outcomes");
  auto outcomes = read_all(reader.array("outcomes"), read_cancelled);
  if (!outcomes.ok()) return outcomes;
  return finish(reader, "answer to a cancel", std::move(*outcomes));
}

Result<QueueReply> read_queue(std::string_view json) {
  Reader reader(json, {"name", "paused", "ageing_rate", "retention", "scheduled", "ready", "running", "completed",
                       "aborted", "cancelled", "oldest_ready"});
  reader.require("name");
  return finish(reader, "queue",
                QueueReply{.name = reader.word("name"),
                           .paused = reader.boolean("paused").value_or(false),
                           .ageing_rate = reader.count("ageing_rate"),
                           .retention = reader.word("retention"),
                           .scheduled = reader.count("scheduled"),
                           .ready = reader.count("ready"),
                           .running = reader.count("running"),
                           .completed = reader.count("completed"),
                           .aborted = reader.count("aborted"),
                           .cancelled = reader.count("cancelled"),
                           .oldest_ready = reader.word("oldest_ready")});
}

Result<std::vector<QueueReply>> read_queues(std::string_view json) {
  Reader reader(json, {"queues"});
  reader.require("queues");
  auto queues = read_all(reader.array("queues"), read_queue);
  if (!queues.ok()) return queues;
  return finish(reader, "list of queues", std::move(*queues));
}

Result<ScheduleReply> read_schedule(std::string_view json) {
  Reader reader(json, {"name", "words", "next_at", "paused"});
  reader.require("name");
  return finish(reader, "schedule",
                ScheduleReply{.members = members_of(json),
                              .name = reader.word("name"),
                              .words = reader.word("words"),
                              .next_at = reader.word("next_at"),
                              .paused = reader.boolean("paused").value_or(false)});
}

Result<SchedulesReply> read_schedules(std::string_view json) {
  Reader reader(json, {"schedules", "next"});
  reader.require("schedules");
  auto schedules = read_all(reader.array("schedules"), read_schedule);
  if (!schedules.ok()) return schedules.error();
  return finish(reader, "list of schedules", SchedulesReply{std::move(*schedules), reader.word("next")});
}

namespace {

Result<FireReply> read_fire(std::string_view json) {
  Reader reader(json, {"at", "last", "count", "task", "skipped"});
  reader.require("at");
  return finish(reader, "fire",
                FireReply{.at = reader.word("at"),
                          .last = reader.word("last"),
                          .count = reader.count("count"),
                          .task = reader.word("task"),
                          .skipped = reader.word("skipped")});
}

Result<FirePreviewReply::Fire> read_previewed(std::string_view json) {
  Reader reader(json, {"at", "run_at"});
  reader.require("at");
  return finish(reader, "fire", FirePreviewReply::Fire{reader.word("at"), reader.word("run_at")});
}

}  // namespace

Result<std::vector<FireReply>> read_fires(std::string_view json) {
  Reader reader(json, {"fires"});
  reader.require("fires");
  auto fires = read_all(reader.array("fires"), read_fire);
  if (!fires.ok()) return fires;
  return finish(reader, "list of fires", std::move(*fires));
}

Result<FirePreviewReply> read_fire_preview(std::string_view json) {
  Reader reader(json, {"words", "fires"});
  reader.require("fires");
  auto fires = read_all(reader.array("fires"), read_previewed);
  if (!fires.ok()) return fires.error();
  return finish(reader, "preview", FirePreviewReply{reader.word("words"), std::move(*fires)});
}

Result<QueueRemovalReply> read_queue_removal(std::string_view json) {
  Reader reader(json, {"name", "cancelled", "purged"});
  reader.require("name");
  return finish(
      reader, "deleted queue",
      QueueRemovalReply{
          .name = reader.word("name"), .cancelled = reader.count("cancelled"), .purged = reader.count("purged")});
}

Result<SchedulerReply> read_scheduler(std::string_view json) {
  Reader reader(json, {"running", "changed", "slots", "backlog", "waiting_workers"});
  reader.require("running");
  auto slots = read_all(reader.array("slots"), read_work);
  if (!slots.ok()) return slots.error();
  auto backlog = read_all(reader.array("backlog"), read_work);
  if (!backlog.ok()) return backlog.error();
  return finish(reader, "status of a scheduler",
                SchedulerReply{.running = reader.boolean("running").value_or(false),
                               .changed = reader.boolean("changed"),
                               .slots = std::move(*slots),
                               .backlog = std::move(*backlog),
                               .waiting_workers = reader.count("waiting_workers")});
}

Result<TokenReply> read_token(std::string_view json) {
  Reader reader(json, {"id", "name", "role", "queues", "created_at", "secret"});
  for (const std::string_view name : {"id", "name", "role", "queues"}) reader.require(name);
  return finish(reader, "token",
                TokenReply{.id = reader.word("id"),
                           .name = reader.word("name"),
                           .role = reader.word("role"),
                           .queues = reader.texts("queues").value_or(std::vector<std::string>()),
                           .created_at = reader.word("created_at"),
                           .secret = reader.word("secret")});
}

Result<std::vector<TokenReply>> read_tokens(std::string_view json) {
  Reader reader(json, {"tokens"});
  reader.require("tokens");
  auto tokens = read_all(reader.array("tokens"), read_token);
  if (!tokens.ok()) return tokens;
  return finish(reader, "list of tokens", std::move(*tokens));
}

Result<ExplainReply> read_explanation(std::string_view json) {
  Reader reader(json, {"id", "queue", "state", "reasons"});
  for (const std::string_view name : {"id", "state", "reasons"}) reader.require(name);
  auto reasons = read_all(reader.array("reasons"), read_reason);
  if (!reasons.ok()) return reasons.error();
  return finish(reader, "explanation",
                ExplainReply{.id = reader.word("id"),
                             .queue = reader.word("queue"),
                             .state = reader.word("state"),
                             .reasons = std::move(*reasons)});
}

Result<std::vector<NodeReply>> read_nodes(std::string_view json) {
  Reader reader(json, {"nodes"});
  reader.require("nodes");
  auto nodes = read_all(reader.array("nodes"), read_node);
  if (!nodes.ok()) return nodes;
  return finish(reader, "list of nodes", std::move(*nodes));
}

Result<NodeStatusReply> read_node_status(std::string_view json) {
  Reader reader(json, {"status", "version"});
  reader.require("version");
  return finish(reader, "status of a node", NodeStatusReply{reader.word("status"), reader.word("version")});
}

std::optional<std::string> read_problem(std::string_view json) {
  Reader reader(json, {"detail"});
  reader.require("detail");
  auto detail = reader.text("detail");
  if (reader.fault()) return std::nullopt;
  return detail;
}

Result<void> check_json(std::string_view text) {
  const auto scanned = scan_json(text);
  if (!scanned.ok()) return scanned.error();
  return {};
}

}  // namespace horae::cli
