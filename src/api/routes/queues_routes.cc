// /v1/queues and /v1/scheduler: calls of operators.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "api/api.h"
#include "api/json/bodies.h"
#include "api/json/json_writer.h"
#include "api/json/task_json.h"
#include "api/routes/queue_removal.h"
#include "api/routes/routes.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

void list_queues(Api& api, const CallPtr& call) {
  api.read(call, [&api, call] {
    auto list = api.parts().queues.queues();
    if (!list.ok()) return call->fail(list.error());
    std::erase_if(list->queues, [&](const QueueInfo& queue) { return !call->principal.allows(queue.name); });
    std::string json;
    JsonObject object(json);
    append_json_array(object.key("queues"), list->queues, append_queue);
    object.add("as_of", list->as_of);
    object.end();
    call->answer(200, std::move(json));
  });
}

Error no_such_queue(std::string_view queue) {
  return {ErrorCode::kNotFound, fmt::format("queue {}: there is none; its first task creates it", queue)};
}

void get_queue(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope(call->arguments[0]); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call] {
    const auto list = api.parts().queues.queues();
    if (!list.ok()) return call->fail(list.error());
    const auto found = std::ranges::find(list->queues, call->arguments[0], &QueueInfo::name);
    if (found == list->queues.end()) return call->fail(no_such_queue(call->arguments[0]));
    std::string json;
    append_queue(json, *found);
    call->answer(200, std::move(json));
  });
}

// What a change does to a queue that does not exist.
enum class MissingQueue { kCreate, kRefuse };

// A queue that ends between this look and the change is made again, with the changed settings.
Result<void> check_exists(QueueStore& queues, std::string_view queue) {
  const auto list = queues.queues();
  if (!list.ok()) return list.error();
  if (std::ranges::find(list->queues, queue, &QueueInfo::name) != list->queues.end()) return {};
  Error error = no_such_queue(queue);
  error.message += fmt::format(
      ". Check its name (`horae queue list`); to create it, paused at first: `horae queue pause {0} --create`, or "
      "PATCH "
      "/v1/queues/{0} with {{\"paused\":true}}",
      queue);
  return error;
}

void configure(Api& api, const CallPtr& call, const QueueChange& change, MissingQueue missing) {
  const std::string& queue = call->arguments[0];
  if (auto checked = check_queue_name(queue); !checked.ok()) return call->fail(checked.error());
  if (auto allowed = call->check_scope(queue); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call, change, queue, missing] {
    if (missing == MissingQueue::kRefuse) {
      if (auto exists = check_exists(api.parts().queues, queue); !exists.ok()) return call->fail(exists.error());
    }
    const auto settings = api.parts().queues.configure(queue, change);
    if (!settings.ok()) return call->fail(settings.error());
    std::string json;
    append_queue_settings(json, queue, *settings);
    call->answer(200, std::move(json));
  });
}

void change_queue(Api& api, const CallPtr& call) {
  const auto change = read_queue_change(call->request.body);
  if (!change.ok()) return call->fail(change.error());
  configure(api, call, *change, MissingQueue::kCreate);
}

// Settings may be given before the first task. A pause is for an existing queue: a typo in its name must not look like
// success.
void set_paused(Api& api, const CallPtr& call, bool paused) {
  configure(api, call, {.paused = paused}, MissingQueue::kRefuse);
}

void pause_queue(Api& api, const CallPtr& call) { set_paused(api, call, true); }
void resume_queue(Api& api, const CallPtr& call) { set_paused(api, call, false); }

// Converts monotonic times, which mean nothing outside the process.
struct WallTimes {
  explicit WallTimes(const Clock& clock) : now(clock.now()), wall(clock.wall_now()) {}
  Instant of(MonotonicTime time) const {
    return wall - std::chrono::duration_cast<std::chrono::microseconds>(now - time);
  }
  MonotonicTime now;
  Instant wall;
};

void append_slot(std::string& out, const SlotEntry& slot, const WallTimes& times) {
  JsonObject object(out);
  object.add("internal", slot.is_internal);
  object.add("state", slot.run ? "busy" : "idle");
  if (slot.run) {
    object.add("task", slot.run->task);
    object.add("queue", slot.run->queue);
    object.add("attempt", slot.run->attempt);
    object.add("since", times.of(slot.run->since));
  }
  object.end();
}

void append_backlog_entry(std::string& out, const BacklogEntry& entry, const WallTimes& times) {
  JsonObject object(out);
  object.add("level", entry.position.level);
  object.add("place", entry.position.place);
  object.add("task", entry.task);
  object.add("queue", entry.queue);
  object.add("attempt", entry.attempt);
  object.add("since", times.of(entry.since));
  object.end();
}

std::string scheduler_json(const Api& api, bool running) {
  const auto& report = api.parts().scheduler_status;
  const DispatcherStatus status = report ? report() : DispatcherStatus();
  const std::size_t waiting = api.parts().claimer.waiting();
  const WallTimes times(api.parts().clock);
  std::string json;
  JsonObject object(json);
  object.add("running", running);
  append_json_array(object.key("slots"), status.slots,
                    [&](std::string& out, const SlotEntry& slot) { append_slot(out, slot, times); });
  append_json_array(object.key("backlog"), status.backlog,
                    [&](std::string& out, const BacklogEntry& entry) { append_backlog_entry(out, entry, times); });
  object.add("waiting_workers",
             waiting - std::min<std::size_t>(waiting, status.is_waiting ? 1 : 0));  // the node itself is no worker
  object.end();
  return json;
}

void get_scheduler(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call] {
    const auto running = api.parts().queues.scheduler_running();
    if (!running.ok()) return call->fail(running.error());
    call->answer(200, scheduler_json(api, *running));
  });
}

void set_scheduler(Api& api, const CallPtr& call, bool running) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call, running] {
    const auto changed = api.parts().queues.set_scheduler_running(running);
    if (!changed.ok()) return call->fail(changed.error());
    std::string json;
    JsonObject object(json);
    object.add("running", running);
    object.add("changed", *changed);
    object.end();
    call->answer(200, std::move(json));
  });
}

void start_scheduler(Api& api, const CallPtr& call) { set_scheduler(api, call, true); }
void stop_scheduler(Api& api, const CallPtr& call) { set_scheduler(api, call, false); }

std::vector<Route> scheduler_routes() {
  constexpr std::string_view kAway = "The store is unavailable, or too many reads are waiting";
  return {
      {.method = "GET",
       .pattern = "/v1/scheduler",
       .name = "get_scheduler",
       .tag = "scheduler",
       .summary = "Whether tasks can be claimed, and the state of this node's own slots",
       .access = Access::kRead,
       .answers = {{200, "The status", "Scheduler"}, {503, kAway}},
       .handle = get_scheduler},
      {.method = "POST",
       .pattern = "/v1/scheduler/start",
       .name = "start_scheduler",
       .tag = "scheduler",
       .summary = "Allow claims again, on all nodes",
       .access = Access::kAdmin,
       .answers = {{200, "It is running; `changed` is true if it was stopped before", "SchedulerChange"}, {503, kAway}},
       .handle = start_scheduler},
      {.method = "POST",
       .pattern = "/v1/scheduler/stop",
       .name = "stop_scheduler",
       .tag = "scheduler",
       .summary = "Suspend claims on all nodes until it is started again; running tasks continue",
       .access = Access::kAdmin,
       .answers = {{200, "It is stopped; `changed` is true if it was running before", "SchedulerChange"}, {503, kAway}},
       .handle = stop_scheduler},
  };
}

}  // namespace

std::vector<Route> queue_routes() {
  constexpr std::string_view kAway = "The store is unavailable, or too many reads are waiting";
  const std::vector<Answer> change_answers = {{200, "The settings after the change", "QueueSettings"},
                                              {422, "The queue's name or a setting is not allowed"},
                                              {429, "The limit of queues is reached"},
                                              {503, kAway}};
  const std::vector<Answer> switch_answers = {{200, "The settings after the change", "QueueSettings"},
                                              {404, "There is no such queue"},
                                              {422, "The queue's name is not allowed"},
                                              {503, kAway}};
  std::vector<Route> all = {
      {.method = "GET",
       .pattern = "/v1/queues",
       .name = "list_queues",
       .tag = "queues",
       .summary = "List all queues with their settings, counts and longest wait",
       .access = Access::kRead,
       .answers = {{200, "The queues, sorted by name", "Queues"}, {503, kAway}},
       .handle = list_queues},
      {.method = "GET",
       .pattern = "/v1/queues/{queue}",
       .name = "get_queue",
       .tag = "queues",
       .summary = "Get a queue with its settings, counts and longest wait",
       .access = Access::kRead,
       .answers = {{200, "The queue", "Queue"}, {404, "There is no such queue"}, {503, kAway}},
       .handle = get_queue},
      {.method = "PATCH",
       .pattern = "/v1/queues/{queue}",
       .name = "change_queue",
       .tag = "queues",
       .summary = "Change settings of a queue: paused, ageing rate, retention; creates the queue if needed",
       .access = Access::kAdmin,
       .body = "QueueChange",
       .answers = change_answers,
       .handle = change_queue},
      {.method = "DELETE",
       .pattern = "/v1/queues/{queue}",
       .name = "delete_queue",
       .tag = "queues",
       .summary = "Delete a queue with its settings and its finished tasks; a later task creates it anew",
       .access = Access::kAdmin,
       .parameters = {{"cancel_tasks", R"({"type":"boolean","default":false})",
                       "Whether tasks that wait or run are cancelled first; without it they make the call fail"}},
       .answers = {{200, "The queue is deleted", "QueueRemoval"},
                   {404, "There is no such queue"},
                   {409, "Tasks wait or run in it"},
                   {422, "The queue's name is not allowed"},
                   {503, "The store is unavailable, or tasks keep coming; repeat the call"}},
       .handle = delete_queue},
      {.method = "POST",
       .pattern = "/v1/queues/{queue}/pause",
       .name = "pause_queue",
       .tag = "queues",
       .summary = "Suspend claims from a queue",
       .access = Access::kAdmin,
       .answers = switch_answers,
       .handle = pause_queue},
      {.method = "POST",
       .pattern = "/v1/queues/{queue}/resume",
       .name = "resume_queue",
       .tag = "queues",
       .summary = "Allow claims from a queue again",
       .access = Access::kAdmin,
       .answers = switch_answers,
       .handle = resume_queue},
  };
  std::ranges::move(scheduler_routes(), std::back_inserter(all));
  return all;
}

}  // namespace horae
