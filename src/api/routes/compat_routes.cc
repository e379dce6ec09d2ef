// Endpoints for clients of two earlier schedulers, with their shapes, texts and statuses: /tasks of the task management
// system, /scheduler/start and /scheduler/stop of the master of the master/slave scheduler.

#include <fmt/format.h>

#include <memory>

#include "api/api.h"
#include "api/json/field_reader.h"
#include "api/json/json_writer.h"
#include "api/routes/routes.h"
#include "base/duration.h"
#include "base/quote.h"
#include "engine/slots/sleep_executor.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

constexpr std::string_view kQueue = "tms";
constexpr int kNewest = 1'000;  // tasks that GET /tasks returns, or kMaxPageBytes of them
constexpr int kMaxPages = 32;   // pages that it reads for them

constexpr ProblemKind kAway{"unavailable", 500, "The store is unavailable"};

// These endpoints use 400, 404 and 500 only.
void fail(const Call& call, const Error& error) {
  switch (error.code) {
    case ErrorCode::kMalformed:
    case ErrorCode::kRefused:
      return call.fail(problem_kind("malformed"), error.message);
    case ErrorCode::kNotFound:
      return call.fail(problem_kind("not_found"), error.message);
    case ErrorCode::kUnavailable:
      return call.fail(kAway, error.message);
    default:
      return call.fail(problem_kind("internal"), error.message);
  }
}

std::string_view status_of(State state) {
  switch (state) {
    case State::kScheduled:
      return "SCHEDULED";
    case State::kReady:
      return "PENDING";
    case State::kRunning:
      return "RUNNING";
    case State::kCompleted:
    case State::kAborted:
    case State::kCancelled:
      return "FINISHED";
  }
  return "FINISHED";
}

std::string spec_of(std::string_view command) {
  std::string spec = R"({"run":"sleep","for":)";
  append_json_string(spec, command);
  return spec + "}";
}

// The command that the client gave; for a task that was submitted through /v1, its spec.
std::string command_of(const std::string& spec) {
  FieldReader fields(spec, {"run", "for"}, {}, FieldReader::Unknown::kIgnored);
  const auto run = fields.text("run");
  const auto duration = fields.text("for");
  return run == "sleep" && duration ? *duration : spec;
}

struct TaskView {
  TaskId id;
  std::string_view status;
  Instant start_at;
  std::optional<Duration> recurring;
  std::string command;
};

void append_view(std::string& out, const TaskView& view) {
  JsonObject object(out);
  object.add("id", view.id);
  object.add("status", view.status);
  object.add("start_at", view.start_at);
  object.add("recurring", view.recurring ? format_duration(*view.recurring) : "");
  object.add("command", view.command);
  object.end();
}

TaskView view_of(const Task& task) {
  return {.id = task.id,
          .status = status_of(task.state),
          .start_at = task.run_at,
          .recurring = task.recurring,
          .command = command_of(task.spec)};
}

// ---- POST /tasks ----

// The reply to a POST always says SCHEDULED, even if the task has already started; `start_at` is the one that the store
// chose.
void answer_scheduled(Api& api, const CallPtr& call, TaskView view) {
  const auto answer = [call](const TaskView& shown) {
    std::string json;
    append_view(json, shown);
    call->answer(200, std::move(json));
  };
  const bool taken = api.try_read(call, [&api, answer, view]() mutable {
    const auto found = api.parts().tasks.get(std::span(&view.id, 1));
    if (found.ok() && found->front()) view.start_at = found->front()->run_at;
    answer(view);
  });
  if (!taken) answer(view);  // the task is stored, only its exact start is unknown
}

void schedule_task(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope(kQueue); !allowed.ok()) return call->fail(allowed.error());
  auto task = read_schedule_request(call->request.body);
  if (!task.ok()) return fail(*call, task.error());
  const TaskView view{.id = api.parts().ids.next(),
                      .status = "SCHEDULED",
                      .start_at = task->run_at.value_or(api.parts().clock.wall_now()),
                      .recurring = task->recurring,
                      .command = command_of(task->spec)};
  api.parts().combiner.submit({.task = std::move(*task), .new_id = view.id, .allowance = call->principal.allowance},
                              [&api, call, view](Result<SubmitOutcome> outcome) {
                                if (!outcome.ok()) return fail(*call, outcome.error());
                                using Kind = SubmitOutcome::Kind;
                                if (outcome->kind == Kind::kOverLimit || outcome->kind == Kind::kOverAllowance) {
                                  return fail(*call, {ErrorCode::kOverLimit, "the limit of queues is reached"});
                                }
                                answer_scheduled(api, call, view);
                              });
}

// ---- GET /tasks ----

Result<std::vector<TaskView>> newest_tasks(TaskStore& tasks) {
  std::vector<TaskView> views;
  ListQuery query{.queue = std::string(kQueue), .limit = kNewest};
  std::size_t bytes = 0;  // of commands, which are specs if they come from other clients
  for (int page = 0; page < kMaxPages; ++page) {
    const auto read = tasks.list(query);
    if (!read.ok()) return read.error();
    for (const Task& task : read->tasks) {
      views.push_back(view_of(task));
      bytes += views.back().command.size();
    }
    query.cursor = read->next;
    query.limit = kNewest - static_cast<int>(views.size());
    if (query.cursor.empty() || query.limit <= 0 || bytes >= kMaxPageBytes) break;
  }
  return views;
}

void list_tasks(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope(kQueue); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call] {
    const auto views = newest_tasks(api.parts().tasks);
    if (!views.ok()) return fail(*call, views.error());
    std::string json;
    append_json_array(json, *views, append_view);
    call->answer(200, std::move(json));
  });
}

void get_task(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope(kQueue); !allowed.ok()) return call->fail(allowed.error());
  const auto id = parse_uuid(call->arguments[0]);
  const Error not_found = {ErrorCode::kNotFound, fmt::format("Task not found: {}", quote(call->arguments[0]))};
  if (!id.ok()) return fail(*call, not_found);
  api.read(call, [&api, call, id = *id, not_found] {
    const auto found = api.parts().tasks.get(std::span(&id, 1));
    if (!found.ok()) return fail(*call, found.error());
    if (!found->front() || found->front()->queue != kQueue) return fail(*call, not_found);
    std::string json;
    append_view(json, view_of(*found->front()));
    call->answer(200, std::move(json));
  });
}

// ---- /scheduler ----

struct Replies {
  std::string_view changed;
  std::string_view unchanged;
};

void set_scheduler(Api& api, const CallPtr& call, bool running, Replies replies) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call, running, replies] {
    const auto changed = api.parts().queues.set_scheduler_running(running);
    if (!changed.ok()) return fail(*call, changed.error());
    std::string json;
    JsonObject object(json);
    object.add(*changed ? "message" : "error", *changed ? replies.changed : replies.unchanged);
    object.end();
    call->answer(*changed ? 200 : 400, std::move(json));
  });
}

void start_scheduler(Api& api, const CallPtr& call) {
  set_scheduler(api, call, true, {"Scheduler has started...", "Scheduler is already running!"});
}

void stop_scheduler(Api& api, const CallPtr& call) {
  set_scheduler(api, call, false, {"Scheduler has stopped.", "Scheduler was not running!"});
}

}  // namespace

Result<NewTask> read_schedule_request(std::string_view body) {
  FieldReader fields(body, {"command", "start_at", "recurring"}, {}, FieldReader::Unknown::kIgnored);
  fields.require("command");
  const std::string command = fields.text("command").value_or("");
  if (const auto sleep = parse_duration(command); !sleep.ok()) {
    fields.fail_text("command", command,
                     "give how long to sleep, such as \"5s\" or \"10ms\": " + sleep.error().message);
  } else if (*sleep > kLongestSleep) {
    fields.fail_text("command", command, fmt::format("sleep {} at most", format_duration(kLongestSleep)));
  }
  NewTask task{.queue = std::string(kQueue), .spec = spec_of(command)};
  // Some clients send an empty text for an absent value.
  if (fields.text("start_at").value_or("") != "") task.run_at = fields.instant("start_at");
  if (fields.text("recurring").value_or("") != "") task.recurring = fields.duration("recurring");
  if (fields.fault()) return *fields.fault();
  if (auto checked = check_new_task(task); !checked.ok()) return checked.error();
  return task;
}

std::vector<Route> compat_routes() {
  constexpr std::string_view kFailed = "The call failed; `detail` says why";
  constexpr std::string_view kBusy = "Too many reads are waiting";
  return {
      {.method = "POST",
       .pattern = "/tasks",
       .name = "tms_schedule_task",
       .tag = "compatibility",
       .summary = "Schedule a task that sleeps (task management system)",
       .access = Access::kSubmit,
       .body = "ScheduleTaskRequest",
       .answers = {{200, "The task", "TaskResponse"}, {400, "Invalid request payload"}, {500, kFailed}},
       .handle = schedule_task},
      {.method = "GET",
       .pattern = "/tasks",
       .name = "tms_list_tasks",
       .tag = "compatibility",
       .summary = "The newest 1,000 tasks of queue tms, or 8 MiB of them (task management system)",
       .access = Access::kRead,
       .answers = {{200, "The tasks", "TaskResponses"}, {500, kFailed}, {503, kBusy}},
       .handle = list_tasks},
      {.method = "GET",
       .pattern = "/tasks/{id}",
       .name = "tms_get_task",
       .tag = "compatibility",
       .summary = "A task of queue tms (task management system)",
       .access = Access::kRead,
       .answers = {{200, "The task", "TaskResponse"}, {404, "Task not found"}, {500, kFailed}, {503, kBusy}},
       .handle = get_task},
      {.method = "POST",
       .pattern = "/scheduler/start",
       .name = "master_start_scheduler",
       .tag = "compatibility",
       .summary = "Start the scheduler (master/slave)",
       .access = Access::kAdmin,
       .answers = {{200, "Scheduler has successfully started", "SchedulerMessage"},
                   {400, "Scheduler already running, no change", "SchedulerError"},
                   {500, kFailed},
                   {503, kBusy}},
       .handle = start_scheduler},
      {.method = "POST",
       .pattern = "/scheduler/stop",
       .name = "master_stop_scheduler",
       .tag = "compatibility",
       .summary = "Stop the scheduler (master/slave)",
       .access = Access::kAdmin,
       .answers = {{200, "Scheduler has successfully stopped", "SchedulerMessage"},
                   {400, "Scheduler was not running, no change", "SchedulerError"},
                   {500, kFailed},
                   {503, kBusy}},
       .handle = stop_scheduler},
  };
}

}  // namespace horae
