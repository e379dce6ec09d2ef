#include "api/json/task_json.h"

#include "api/json/json_writer.h"
#include "api/json/queue_fields.h"
#include "api/json/task_fields.h"

namespace horae {
namespace {

void add_problem(JsonObject& object, const ProblemKind& kind, const std::string& detail) {
  append_problem(object.key("problem"), {.kind = kind, .detail = detail});
}

std::optional<std::string_view> name_of(const std::optional<State>& state) {
  if (!state) return std::nullopt;
  return to_string(*state);
}

}  // namespace

void append_task(std::string& out, const Task& task, bool with_history) {
  JsonObject object(out);
  kTaskFields.write(object, task);
  if (with_history) kTaskHistoryFields.write(object, task);
  object.end();
}

void append_page(std::string& out, const Page& page) {
  JsonObject object(out);
  append_json_array(object.key("tasks"), page.tasks,
                    [](std::string& to, const Task& task) { append_task(to, task, false); });
  if (page.next.empty()) {
    object.add_json("next", "null");
  } else {
    object.add("next", page.next);
  }
  object.add("as_of", page.as_of);
  object.end();
}

void append_leased_task(std::string& out, const LeasedTask& task) {
  JsonObject object(out);
  kLeasedTaskFields.write(object, task);
  object.end();
}

void append_submitted(std::string& out, const SubmitOutcome& outcome) {
  JsonObject object(out);
  object.add("id", outcome.id);
  object.add("state", to_string(outcome.state));
  object.add("outcome", outcome.kind == SubmitOutcome::Kind::kCreated ? "created" : "present");
  object.end();
}

void append_settled(std::string& out, const Settlement& settlement, const SettleOutcome& outcome) {
  JsonObject object(out);
  object.add("id", settlement.id);
  object.add("verdict", to_string(outcome.verdict));
  object.add("state", name_of(outcome.state));
  object.add("attempt", outcome.attempt);
  object.add("owner", outcome.owner);
  object.add("lease_expires", outcome.lease_expires);
  if (!is_success(outcome.verdict)) {
    add_problem(object, problem_kind(outcome.verdict), settle_error(settlement, outcome).message);
  }
  object.end();
}

void append_cancelled(std::string& out, const CancelWish& wish, const CancelOutcome& outcome) {
  JsonObject object(out);
  object.add("id", wish.id);
  object.add("verdict", to_string(outcome.verdict));
  object.add("state", name_of(outcome.state));
  if (!is_success(outcome.verdict)) {
    add_problem(object, problem_kind(outcome.verdict), cancel_error(wish, outcome).message);
  }
  object.end();
}

void append_failed_item(std::string& out, const std::string& id, const ProblemKind& kind, const std::string& detail) {
  JsonObject object(out);
  if (id.empty()) {
    object.add_json("id", "null");
  } else {
    object.add("id", id);
  }
  add_problem(object, kind, detail);
  object.end();
}

void append_queue(std::string& out, const QueueInfo& queue) {
  JsonObject object(out);
  object.add("name", queue.name);
  kQueueSettingsFields.write(object, queue.settings);
  kQueueCountFields.write(object, queue);
  object.end();
}

void append_queue_settings(std::string& out, std::string_view name, const QueueSettings& settings) {
  JsonObject object(out);
  object.add("name", name);
  kQueueSettingsFields.write(object, settings);
  object.end();
}

}  // namespace horae
