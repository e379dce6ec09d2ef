// /v1/delay: delay queues and their messages.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "api/api.h"
#include "api/json/batch_answer.h"
#include "api/json/bodies.h"
#include "api/json/json_writer.h"
#include "api/json/message_json.h"
#include "api/problems.h"
#include "api/routes/routes.h"
#include "base/quote.h"
#include "engine/relay/timing_advance.h"
#include "model/task.h"
#include "store/list.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

// ---- The queue of a call ----

// The delay queue in the path. If the caller may not use it, or it is not configured, answers the call and returns
// nothing.
std::optional<RelayStatus> queue_of(const Api& api, const Call& call) {
  const std::string& name = call.arguments[0];
  if (auto allowed = call.check_scope(name); !allowed.ok()) {
    call.fail(allowed.error());
    return std::nullopt;
  }
  DelayQueues* const queues = api.parts().delay_queues;
  auto status = queues ? queues->status(name) : std::nullopt;
  if (!status) {
    call.fail(
        {ErrorCode::kNotFound,
         fmt::format("delay queue {}: this node has none; its configuration names them ([delay.NAME])", quote(name))});
  }
  return status;
}

// What a delay is counted from: the store's clock, as far as this node knows it.
Instant store_now(const Api& api, const RelayStatus& status) {
  const auto offset =
      std::chrono::duration_cast<std::chrono::microseconds>(status.clock_offset.value_or(Duration::zero()));
  return api.parts().clock.wall_now() + offset;
}

std::string what(const Call& call) {
  return fmt::format("message {} of delay queue {}", quote(call.arguments[1]), call.arguments[0]);
}

// ---- Status ----

void list_delay_queues(Api& api, const CallPtr& call) {
  std::vector<RelayStatus> queues;
  if (const DelayQueues* configured = api.parts().delay_queues) queues = configured->status();
  std::erase_if(queues, [&](const RelayStatus& status) { return !call->principal.allows(status.queue); });
  std::ranges::sort(queues, {}, &RelayStatus::queue);
  std::string json;
  JsonObject object(json);
  append_json_array(object.key("queues"), queues, append_delay_queue);
  object.end();
  call->answer(200, std::move(json));
}

void get_delay_queue(Api& api, const CallPtr& call) {
  const auto status = queue_of(api, *call);
  if (!status) return;
  std::string json;
  append_delay_queue(json, *status);
  call->answer(200, std::move(json));
}

// ---- Put ----

Error firing_error(const std::string& queue, const std::string& id) {
  return {ErrorCode::kConflict,
          fmt::format("message {} of delay queue {}: one with this id is being fired; repeat the call when it is gone, "
                      "mostly within a second",
                      quote(id), queue)};
}

void append_put(std::string& out, const std::string& id, EnqueueKind kind) {
  JsonObject object(out);
  object.add("id", id);
  object.add("outcome", kind == EnqueueKind::kRepeated ? "present" : "created");
  object.end();
}

// Late or not, they are stored; the relay readies what is due. `advance` is that of this node, and others may have
// learnt longer ones: a receiver may have a message that long before its deadline, and put its id again.
Result<EnqueueOutcome> put(const Api& api, const std::string& queue, Duration advance,
                           std::span<const NewMessage> messages) {
  auto outcome = api.parts().messages->enqueue({.delay_queue = queue,
                                                .stores_late = true,
                                                .messages = messages,
                                                .longest_advance = std::max(advance, kMostAdvance)});
  if (outcome.ok() && std::ranges::find(outcome->kinds, EnqueueKind::kWaiting) != outcome->kinds.end()) {
    api.parts().delay_queues->on_put(queue);
  }
  return outcome;
}

void put_message(Api& api, const CallPtr& call) {
  const auto status = queue_of(api, *call);
  if (!status) return;
  auto message = read_new_message(call->request.body, store_now(api, *status), to_string(api.parts().ids.next()));
  if (!message.ok()) return call->fail(message.error());
  const auto batch = std::make_shared<std::vector<NewMessage>>();
  batch->push_back({std::move(*message)});
  api.read(call, [&api, call, batch, advance = status->advance] {
    const auto outcome = put(api, call->arguments[0], advance, *batch);
    if (!outcome.ok()) return call->fail(outcome.error());
    const std::string& id = batch->front().message.id;
    const EnqueueKind kind = outcome->kinds.front();
    if (kind == EnqueueKind::kFiring) {
      return call->fail(message_firing_kind(), firing_error(call->arguments[0], id).message);
    }
    HttpResponse response{.status = kind == EnqueueKind::kRepeated ? 200 : 201};
    append_put(response.body, id, kind);
    call->answer(std::move(response));
  });
}

struct PutBatch {
  std::vector<NewMessage> messages;
  BatchAnswer answer;
};

void put_messages(Api& api, const CallPtr& call) {
  const auto status = queue_of(api, *call);
  if (!status) return;
  const auto items = read_batch(call->request.body, "messages");
  if (!items.ok()) return call->fail(items.error());
  const auto batch = std::make_shared<PutBatch>();
  const Instant now = store_now(api, *status);
  for (const std::string_view item : *items) {
    auto message = read_new_message(item, now, to_string(api.parts().ids.next()));
    if (message.ok()) {
      batch->answer.add_taken();
      batch->messages.push_back({std::move(*message)});
    } else {
      batch->answer.add_rejected(message.error(), message_id_in(item));
    }
  }
  api.read(call, [&api, call, batch, advance = status->advance] {
    const std::string& queue = call->arguments[0];
    const auto outcome = put(api, queue, advance, batch->messages);
    if (!outcome.ok()) return call->fail(outcome.error());
    call->answer(200, batch->answer.json([&](std::string& out, std::size_t index) {
      const std::string& id = batch->messages[index].message.id;
      const EnqueueKind kind = outcome->kinds[index];
      if (kind != EnqueueKind::kFiring) return append_put(out, id, kind);
      append_failed_item(out, id, message_firing_kind(), firing_error(queue, id).message);
    }));
  });
}

// ---- Look up, list ----

Error no_such_message(const Call& call) {
  return {ErrorCode::kNotFound, what(call) + ": there is none; it was fired or cancelled, or never put"};
}

// Answers with the message as it is in the store.
void answer_message(const Api& api, const Call& call) {
  auto found = api.parts().messages->get(call.arguments[0], std::span(&call.arguments[1], 1));
  if (!found.ok()) return call.fail(found.error());
  if (!found->front()) return call.fail(no_such_message(call));
  std::string json;
  append_message(json, *found->front());
  call.answer(200, std::move(json));
}

void get_message(Api& api, const CallPtr& call) {
  if (!queue_of(api, *call)) return;
  api.read(call, [&api, call] { answer_message(api, *call); });
}

Result<MessageQuery> read_message_query(const Call& call) {
  MessageQuery query{.delay_queue = call.arguments[0], .limit = kDefaultPage};
  if (const auto state = call.parameter("state")) {
    if (*state != "waiting" && *state != "ready") {
      return Error{ErrorCode::kMalformed, fmt::format("state {}: give waiting or ready", quote(*state))};
    }
    query.state = *state == "waiting" ? MessageState::kWaiting : MessageState::kReady;
  }
  if (const auto text = call.parameter("limit")) {
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), query.limit);
    if (failure != std::errc() || end != text->data() + text->size() || query.limit < 1 || query.limit > kMaxPage) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("limit {}: give a whole number, 1 to {}", quote(*text), kMaxPage)};
    }
  }
  if (const auto cursor = call.parameter("cursor")) {
    auto position = read_message_cursor(*cursor);
    if (!position.ok()) return position.error();
    query.after = std::move(*position);
  }
  return query;
}

void list_messages(Api& api, const CallPtr& call) {
  if (!queue_of(api, *call)) return;
  auto query = read_message_query(*call);
  if (!query.ok()) return call->fail(query.error());
  api.read(call, [&api, call, query = std::move(*query)] {
    const auto page = api.parts().messages->list(query);
    if (!page.ok()) return call->fail(page.error());
    std::string json;
    append_message_page(json, *page);
    call->answer(200, std::move(json));
  });
}

// ---- Cancel, move ----

// False, and the call is answered, unless the message was changed.
bool is_changed(const Call& call, const Result<std::vector<Verdict>>& verdicts) {
  if (!verdicts.ok()) {
    call.fail(verdicts.error());
  } else if (verdicts->front() == Verdict::kNotFound) {
    call.fail(no_such_message(call));
  } else if (verdicts->front() != Verdict::kAccepted) {
    call.fail(problem_kind(verdicts->front()), what(call) + ": it is ready: a node is about to fire it");
  } else {
    return true;
  }
  return false;
}

void cancel_message(Api& api, const CallPtr& call) {
  if (!queue_of(api, *call)) return;
  api.read(call, [&api, call] {
    const auto verdicts = api.parts().messages->cancel(call->arguments[0], std::span(&call->arguments[1], 1));
    if (is_changed(*call, verdicts)) call->answer(HttpResponse{.status = 204});
  });
}

void move_message(Api& api, const CallPtr& call) {
  const auto status = queue_of(api, *call);
  if (!status) return;
  const auto deadline = read_message_change(call->request.body, store_now(api, *status));
  if (!deadline.ok()) return call->fail(deadline.error());
  api.read(call, [&api, call, wish = MoveWish{call->arguments[1], *deadline}] {
    const auto verdicts = api.parts().messages->move(call->arguments[0], std::span(&wish, 1));
    if (!is_changed(*call, verdicts)) return;
    api.parts().delay_queues->on_put(call->arguments[0]);
    std::string json;
    JsonObject object(json);
    object.add("id", wish.id);
    object.add("deadline", wish.deadline);
    object.end();
    call->answer(200, std::move(json));
  });
}

// ---- Routes ----

constexpr std::string_view kAway = "The store is unavailable, or too many reads are waiting";
constexpr std::string_view kUnknown = "The store is unavailable; the outcome is unknown. Repeat with the same id";
constexpr std::string_view kNoQueue = "There is no such delay queue at this node";
constexpr std::string_view kNoMessage = "There is no such delay queue or message";
constexpr std::string_view kTooLate = "It is ready: a node is about to fire it";

std::vector<Route> message_routes() {
  return {
      {.method = "GET",
       .pattern = "/v1/delay/{queue}/messages",
       .name = "list_messages",
       .tag = "delay",
       .summary = "List the messages of a delay queue by the time at which they are due, page by page",
       .access = Access::kRead,
       .parameters = {{"state", R"({"enum":["waiting","ready"]})", "Only messages in this state"},
                      {"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":100})",
                       "The size of a page; it may be shorter"},
                      {"cursor", R"({"type":"string","minLength":1})", "`next` of the page before"}},
       .answers = {{200, "A page", "MessagePage"}, {404, kNoQueue}, {503, kAway}},
       .handle = list_messages},
      {.method = "GET",
       .pattern = "/v1/delay/{queue}/messages/{id}",
       .name = "get_message",
       .tag = "delay",
       .summary = "Get a message that waits or is ready",
       .access = Access::kRead,
       .answers = {{200, "The message", "Message"}, {404, kNoMessage}, {503, kAway}},
       .handle = get_message},
      {.method = "DELETE",
       .pattern = "/v1/delay/{queue}/messages/{id}",
       .name = "cancel_message",
       .tag = "delay",
       .summary = "Cancel a message that waits",
       .access = Access::kSubmit,
       .answers = {{204, "It will not be fired"}, {404, kNoMessage}, {409, kTooLate}, {503, kAway}},
       .handle = cancel_message},
      {.method = "PATCH",
       .pattern = "/v1/delay/{queue}/messages/{id}",
       .name = "move_message",
       .tag = "delay",
       .summary = "Give a message that waits another deadline",
       .access = Access::kSubmit,
       .body = "MessageChange",
       .answers = {{200, "It will be fired at the new deadline", "MovedMessage"},
                   {404, kNoMessage},
                   {409, kTooLate},
                   {503, kAway}},
       .handle = move_message},
  };
}

}  // namespace

std::vector<Route> delay_routes() {
  std::vector<Route> all = {
      {.method = "GET",
       .pattern = "/v1/delay",
       .name = "list_delay_queues",
       .tag = "delay",
       .summary = "List the delay queues of this node with their status",
       .access = Access::kRead,
       .answers = {{200, "The delay queues, sorted by name", "DelayQueues"}},
       .handle = list_delay_queues},
      {.method = "GET",
       .pattern = "/v1/delay/{queue}",
       .name = "get_delay_queue",
       .tag = "delay",
       .summary = "Get the status of a delay queue",
       .access = Access::kRead,
       .answers = {{200, "The status", "DelayQueue"}, {404, kNoQueue}},
       .handle = get_delay_queue},
      {.method = "POST",
       .pattern = "/v1/delay/{queue}/messages",
       .name = "put_message",
       .tag = "delay",
       .summary = "Put a message, to be fired at its deadline; it is durable when the call is answered",
       .access = Access::kSubmit,
       .body = "NewMessage",
       .answers = {{201, "The message is stored", "MessagePut"},
                   {200, "A message with this id waits or is ready; nothing was changed", "MessagePut"},
                   {404, kNoQueue},
                   {409, "A message with this id is being fired; repeat the call when it is gone"},
                   {503, kUnknown}},
       .handle = put_message},
      {.method = "POST",
       .pattern = "/v1/delay/{queue}/messages/batch",
       .name = "put_messages",
       .tag = "delay",
       .summary = "Put up to 1,000 messages; one outcome for each, in order",
       .access = Access::kSubmit,
       .body = "NewMessages",
       .answers = {{200, "One outcome for each", "MessagePutOutcomes"}, {404, kNoQueue}, {503, kUnknown}},
       .handle = put_messages},
  };
  std::ranges::move(message_routes(), std::back_inserter(all));
  return all;
}

}  // namespace horae
