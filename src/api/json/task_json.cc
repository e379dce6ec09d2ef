#include "api/json/task_json.h"

#include "api/json/json_writer.h"

namespace horae {
namespace {

void append_history_entry(std::string& out, const HistoryEntry& entry) {
  JsonObject object(out);
  object.add("_typ", to_string(entry.kind));
  object.add("worker", entry.worker);
  object.add("time", entry.time);
  object.add("attempt", entry.attempt);
  if (entry.progress) object.add("progress", *entry.progress);
  if (!entry.detail.empty()) object.add_json("detail", entry.detail);
  object.end();
}

std::string_view kind_name(RetryPolicy::Kind kind) {
  switch (kind) {
    case RetryPolicy::Kind::kNone:
      return "none";
    case RetryPolicy::Kind::kFixed:
      return "fixed";
    case RetryPolicy::Kind::kExponential:
      return "exponential";
  }
  return "none";
}

void append_retry(std::string& out, const RetryPolicy& retry) {
  JsonObject object(out);
  object.add("kind", kind_name(retry.kind));
  object.add("delay", retry.delay);
  object.add("factor", retry.factor);
  object.add("cap", retry.cap);
  object.add("jitter", retry.jitter);
  object.end();
}

void add_history(JsonObject& object, const History& history) {
  append_json_array(object.key("history"), history.entries(), append_history_entry);
  object.add("history_omitted", history.omitted());
}

void add_problem(JsonObject& object, const ProblemKind& kind, const std::string& detail) {
  append_problem(object.key("problem"), {.kind = kind, .detail = detail});
}

void add_settings(JsonObject& object, const QueueSettings& settings) {
  object.add("paused", settings.paused);
  object.add("ageing_rate", settings.ageing_rate);
  object.add("retention", settings.retention);
}

std::optional<std::string_view> name_of(const std::optional<State>& state) {
  if (!state) return std::nullopt;
  return to_string(*state);
}

}  // namespace

void append_task(std::string& out, const Task& task, bool with_history) {
  JsonObject object(out);
  object.add("id", task.id);
  object.add("key", task.key);
  object.add("queue", task.queue);
  object.add("priority", task.priority);
  object.add_json("spec", task.spec);
  object.add("state", to_string(task.state));
  object.add("progress", task.progress);
  object.add("created_at", task.created_at);
  object.add("updated_at", task.updated_at);
  object.add("run_at", task.run_at);
  object.add("recurring", task.recurring);
  object.add("attempt", task.attempt);
  object.add("tries", task.tries);
  object.add("max_attempts", task.max_attempts);
  append_retry(object.key("retry"), task.retry);
  object.add("owner", task.owner);
  object.add("started_at", task.started_at);
  object.add("lease_expires", task.lease_expires);
  object.add_json("errors", to_json(task.errors));
  object.add_optional_json("result", task.result);
  object.add_optional_json("checkpoint", task.checkpoint);
  object.add("cancel_reason", task.cancel_reason);
  if (with_history) add_history(object, task.history);
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
  object.add("id", task.id);
  object.add("number", task.number);
  object.add("queue", task.queue);
  object.add("priority", task.priority);
  object.add_json("spec", task.spec);
  object.add("attempt", task.attempt);
  object.add_optional_json("checkpoint", task.checkpoint);
  object.add("lease_expires", task.lease_expires);
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
  add_settings(object, queue.settings);
  object.add("scheduled", queue.scheduled);
  object.add("ready", queue.ready);
  object.add("running", queue.running);
  object.add("completed", queue.completed);
  object.add("aborted", queue.aborted);
  object.add("cancelled", queue.cancelled);
  object.add("oldest_ready", queue.oldest_ready);
  object.end();
}

void append_queue_settings(std::string& out, std::string_view name, const QueueSettings& settings) {
  JsonObject object(out);
  object.add("name", name);
  add_settings(object, settings);
  object.end();
}

}  // namespace horae
