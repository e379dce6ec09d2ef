// /v1/events, /v1/nodes and /v1/tasks/{id}/explain: the state of the cluster.

#include <algorithm>
#include <memory>

#include "api/api.h"
#include "api/event_stream.h"
#include "api/explain.h"
#include "api/json/fields.h"
#include "api/json/json_writer.h"
#include "api/json/task_json.h"
#include "api/routes/routes.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

// ---- Events ----

Result<EventFilter> read_filter(const Call& call) {
  EventFilter filter{.task = std::nullopt, .queue = std::nullopt, .scope = call.principal.scope};
  if (const auto text = call.parameter("task")) {
    const auto id = parse_uuid(*text);
    if (!id.ok()) return Error{ErrorCode::kMalformed, "task: " + id.error().message};
    filter.task = *id;
  }
  if (const auto queue = call.parameter("queue")) {
    if (auto allowed = call.check_scope(*queue); !allowed.ok()) return allowed.error();
    filter.queue = std::string(*queue);
  }
  return filter;
}

// The last event that the reader has seen, by its own account. An id of another node, whose numbers mean nothing here,
// becomes the highest number, which EventStream answers with a resync.
std::optional<std::uint64_t> last_seen(const Call& call, std::string_view node) {
  std::string_view said = call.request.header("Last-Event-ID");
  if (said.empty()) said = call.parameter("after").value_or("");
  if (said.empty()) return std::nullopt;
  return parse_event_id(said, node).value_or(std::numeric_limits<std::uint64_t>::max());
}

void stream_events(Api& api, const CallPtr& call) {
  auto filter = read_filter(*call);
  if (!filter.ok()) return call->fail(filter.error());
  const std::string& node = api.parts().node;
  auto stream = std::make_shared<EventStream>(api.parts().events, api.parts().clock, node, std::move(*filter),
                                              last_seen(*call, node),
                                              [&api, caller = call->principal] { return api.is_current(caller); });
  stream->begin([responder = call->responder] { responder.resume(); });
  call->stream({.content_type = "text/event-stream", .body = {}}, std::move(stream));
}

// ---- Explanations ----

// While the scheduler is stopped all queues are closed, so the settings of this one decide.
Result<bool> is_paused(QueueStore& queues, const std::string& name, bool is_scheduler_running) {
  if (is_scheduler_running) {
    const auto closed = queues.closed(std::span(&name, 1));
    if (!closed.ok()) return closed.error();
    return !closed->empty();
  }
  const auto list = queues.queues();
  if (!list.ok()) return list.error();
  return std::ranges::any_of(list->queues,
                             [&](const QueueInfo& queue) { return queue.name == name && queue.settings.paused; });
}

// A node's own task may still wait for a slot; only that node knows.
Result<Circumstances> circumstances_of_running(const ApiParts& parts, const Task& task) {
  Circumstances known{.task = task, .now = {}};
  if (task.owner == parts.node) {
    if (!parts.scheduler_status) return known;
    for (const BacklogEntry& entry : parts.scheduler_status().backlog) {
      if (entry.task == task.id && entry.attempt == task.attempt) known.chore = entry.position;
    }
    return known;
  }
  const auto nodes = parts.cluster.nodes();
  if (!nodes.ok()) return nodes.error();
  const auto node = std::ranges::find_if(*nodes, [&](const NodeRecord& each) { return each.id == task.owner; });
  if (node != nodes->end()) known.other_node = node->address;
  return known;
}

Result<Circumstances> circumstances_of(const Api& api, const Task& task) {
  const ApiParts& parts = api.parts();
  if (task.state == State::kRunning) return circumstances_of_running(parts, task);
  Circumstances known{.task = task, .now = {}};
  if (task.state != State::kReady) return known;
  const auto seen = parts.tasks.look();
  if (!seen.ok()) return seen.error();
  known.now = seen->now;
  const auto running = parts.queues.scheduler_running();
  if (!running.ok()) return running.error();
  known.is_scheduler_running = *running;
  const auto paused = is_paused(parts.queues, task.queue, *running);
  if (!paused.ok()) return paused.error();
  known.is_queue_paused = *paused;
  const auto ahead = parts.cluster.ahead(task.id, kMostAhead);
  if (!ahead.ok()) return ahead.error();
  known.ahead = *ahead;
  const auto awaited = parts.cluster.last_awaited(task.queue);
  if (!awaited.ok()) return awaited.error();
  known.last_awaited = *awaited;
  return known;
}

std::string explanation_json(const Circumstances& known) {
  std::string json;
  JsonObject object(json);
  object.add("id", known.task.id);
  object.add("queue", known.task.queue);
  object.add("state", to_string(known.task.state));
  if (known.ahead) object.add("ahead", static_cast<std::int64_t>(*known.ahead));
  append_json_array(object.key("reasons"), explain(known), [](std::string& out, const Reason& reason) {
    JsonObject each(out);
    each.add("code", reason.code);
    each.add("detail", reason.detail);
    each.end();
  });
  if (known.task.state == State::kAborted) object.add_json("errors", to_json(known.task.errors));
  object.end();
  return json;
}

void explain_task(Api& api, const CallPtr& call) {
  const auto id = id_in_path(*call);
  if (!id) return;
  api.read(call, [&api, call, id = *id] {
    const auto found = api.parts().tasks.get(std::span(&id, 1));
    if (!found.ok()) return call->fail(found.error());
    const auto& task = found->front();
    if (!task || !call->principal.allows(task->queue)) return call->fail(no_such_task("task " + to_string(id)));
    const auto known = circumstances_of(api, *task);
    if (!known.ok()) return call->fail(known.error());
    call->answer(200, explanation_json(*known));
  });
}

// ---- Nodes ----

void append_node(std::string& out, const NodeRecord& node) {
  JsonObject object(out);
  object.add("id", node.id);
  object.add("address", node.address);
  object.add("version", node.version);
  object.add("started_at", node.started_at);
  object.add("last_seen", node.last_seen);
  object.end();
}

void list_nodes(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call] {
    const auto nodes = api.parts().cluster.nodes();
    if (!nodes.ok()) return call->fail(nodes.error());
    std::string json;
    JsonObject object(json);
    append_json_array(object.key("nodes"), *nodes, append_node);
    object.end();
    call->answer(200, std::move(json));
  });
}

}  // namespace

std::vector<Route> cluster_routes() {
  constexpr std::string_view kAway = "The store is unavailable, or too many reads are waiting";
  return {
      {.method = "GET",
       .pattern = "/v1/tasks/{id}/explain",
       .name = "explain_task",
       .tag = "tasks",
       .summary = "Explain why a task does not run, the most important reason first",
       .access = Access::kRead,
       .answers = {{200, "The reasons", "Explanation"},
                   {400, "The id is not a UUID"},
                   {404, "There is no such task"},
                   {503, kAway}},
       .handle = explain_task},
      {.method = "GET",
       .pattern = "/v1/events",
       .name = "stream_events",
       .tag = "events",
       .summary = "Changes of tasks, as server-sent events. Some may be lost; `resync` says so",
       .access = Access::kRead,
       .parameters = {{"task", R"({"type":"string","format":"uuid"})", "Only events of this task."},
                      {"queue", schema::kQueueName, "Only events of this queue."},
                      {"after", R"({"type":"string","minLength":1,"examples":["worker-7:123"]})",
                       "Resume after this event id, for clients that cannot send Last-Event-ID."}},
       .answers = {{200, "An endless stream of events", "text/event-stream"}, {503, "Too many streams are open"}},
       .handle = stream_events},
      {.method = "GET",
       .pattern = "/v1/nodes",
       .name = "list_nodes",
       .tag = "node",
       .summary = "List the nodes on this store, and when each was last seen",
       .access = Access::kRead,
       .answers = {{200, "The nodes, oldest first", "Nodes"}, {503, kAway}},
       .handle = list_nodes},
  };
}

}  // namespace horae
