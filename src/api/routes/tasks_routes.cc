// /v1/tasks: submit, look up, list, cancel.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "api/api.h"
#include "api/json/batch_answer.h"
#include "api/json/bodies.h"
#include "api/json/list_query.h"
#include "api/json/task_json.h"
#include "api/routes/routes.h"
#include "base/quote.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

// ---- Submit ----

bool was_stored(const SubmitOutcome& outcome) {
  return outcome.kind == SubmitOutcome::Kind::kCreated || outcome.kind == SubmitOutcome::Kind::kPresent;
}

void answer_submitted(const Call& call, const SubmitOutcome& outcome) {
  const bool created = outcome.kind == SubmitOutcome::Kind::kCreated;
  HttpResponse response{.status = created ? 201 : 200};
  append_submitted(response.body, outcome);
  if (created) response.headers.push_back({"Location", "/v1/tasks/" + to_string(outcome.id)});
  call.answer(std::move(response));
}

void submit_task(Api& api, const CallPtr& call) {
  auto task = read_new_task(call->request.body);
  if (!task.ok()) return call->fail(task.error());
  if (auto allowed = call->check_scope(task->queue); !allowed.ok()) return call->fail(allowed.error());
  Submission submission{
      .task = std::move(*task), .new_id = api.parts().ids.next(), .allowance = call->principal.allowance};
  // Keeps only the fields that a refusal needs: the spec may be large.
  auto refusal = std::make_shared<Submission>(Submission{
      .task = {.id = submission.task.id, .key = submission.task.key, .queue = submission.task.queue, .spec = {}},
      .new_id = submission.new_id,
      .allowance = submission.allowance});
  api.parts().combiner.submit(std::move(submission), [call, refusal](Result<SubmitOutcome> outcome) {
    call->run([&] {
      if (!outcome.ok()) return call->fail(outcome.error());
      if (!was_stored(*outcome)) return call->fail(submit_error(*refusal, *outcome));
      answer_submitted(*call, *outcome);
    });
  });
}

struct SubmitBatch {
  std::vector<Submission> submissions;
  BatchAnswer answer;
};

void append_submit_outcome(std::string& out, const Submission& submission, const Result<SubmitOutcome>& outcome) {
  if (!outcome.ok())
    return append_failed_item(out, to_string(submission.id()), problem_kind(outcome.error().code),
                              outcome.error().message);
  if (was_stored(*outcome)) return append_submitted(out, *outcome);
  const Error error = submit_error(submission, *outcome);
  append_failed_item(out, to_string(submission.id()), problem_kind(error.code), error.message);
}

void submit_tasks(Api& api, const CallPtr& call) {
  const auto items = read_batch(call->request.body, "tasks");
  if (!items.ok()) return call->fail(items.error());
  auto batch = std::make_shared<SubmitBatch>();
  for (const std::string_view item : *items) {
    auto task = read_new_task(item);
    if (task.ok()) {
      if (auto allowed = call->check_scope(task->queue); !allowed.ok()) task = allowed.error();
    }
    if (!task.ok()) {
      batch->answer.add_rejected(task.error(), id_in(item));
      continue;
    }
    batch->answer.add_taken();
    batch->submissions.push_back(
        {.task = std::move(*task), .new_id = api.parts().ids.next(), .allowance = call->principal.allowance});
  }
  auto submissions = batch->submissions;
  api.parts().combiner.submit(std::move(submissions),
                              [call, batch](const std::vector<Result<SubmitOutcome>>& outcomes) {
                                call->run([&] {
                                  if (const auto failure = common_failure(outcomes)) return call->fail(*failure);
                                  call->answer(200, batch->answer.json([&](std::string& out, std::size_t index) {
                                    append_submit_outcome(out, batch->submissions[index], outcomes[index]);
                                  }));
                                });
                              });
}

// ---- Look up ----

void answer_task(const Call& call, const Result<std::optional<Task>>& task, const std::string& what) {
  if (!task.ok()) return call.fail(task.error());
  if (!*task || !call.principal.allows((*task)->queue)) {
    return call.fail(no_such_task(what));
  }
  std::string json;
  append_task(json, **task);
  call.answer(200, std::move(json));
}

void get_task(Api& api, const CallPtr& call) {
  const auto id = id_in_path(*call);
  if (!id) return;
  api.read(call, [&api, call, id = *id] {
    auto found = api.parts().tasks.get(std::span(&id, 1));
    if (!found.ok()) return call->fail(found.error());
    answer_task(*call, std::move(found->front()), "task " + to_string(id));
  });
}

void find_task(Api& api, const CallPtr& call) {
  const std::string& queue = call->arguments[0];
  const std::string& key = call->arguments[1];
  if (auto checked = check_queue_name(queue); !checked.ok()) return call->fail(checked.error());
  if (auto checked = check_key(key); !checked.ok()) return call->fail(checked.error());
  if (auto allowed = call->check_scope(queue); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call, queue, key] {
    answer_task(*call, api.parts().tasks.find(queue, key), fmt::format("key {} in queue {}", quote(key), queue));
  });
}

// ---- List ----

void list_tasks(Api& api, const CallPtr& call) {
  auto query = read_list_query(*call);
  if (!query.ok()) return call->fail(query.error());
  if (query->queue) {
    if (auto allowed = call->check_scope(*query->queue); !allowed.ok()) return call->fail(allowed.error());
  }
  query->scope = call->principal.scope;
  api.read(call, [&api, call, query = std::move(*query)] {
    const auto page = api.parts().tasks.list(query);
    if (!page.ok()) return call->fail(page.error());
    std::string json;
    append_page(json, *page);
    call->answer(200, std::move(json));
  });
}

// ---- Cancel ----

void cancel_task(Api& api, const CallPtr& call) {
  const auto id = id_in_path(*call);
  if (!id) return;
  auto reason = read_cancel_reason(call->request.body);
  if (!reason.ok()) return call->fail(reason.error());
  const CancelWish wish{.id = *id, .reason = std::move(*reason), .scope = call->principal.scope};
  api.parts().combiner.cancel(wish, [call, wish](Result<CancelOutcome> outcome) {
    if (!outcome.ok()) return call->fail(outcome.error());
    if (!is_success(outcome->verdict)) {
      return call->fail(problem_kind(outcome->verdict), cancel_error(wish, *outcome).message);
    }
    std::string json;
    append_cancelled(json, wish, *outcome);
    call->answer(200, std::move(json));
  });
}

struct CancelBatch {
  std::vector<CancelWish> wishes;
  BatchAnswer answer;
};

void append_cancel_outcome(std::string& out, const CancelWish& wish, const Result<CancelOutcome>& outcome) {
  if (outcome.ok()) return append_cancelled(out, wish, *outcome);
  append_failed_item(out, to_string(wish.id), problem_kind(outcome.error().code), outcome.error().message);
}

void cancel_tasks(Api& api, const CallPtr& call) {
  const auto items = read_batch(call->request.body, "ids", "reason");
  if (!items.ok()) return call->fail(items.error());
  const auto reason = read_cancel_reason(call->request.body, "ids");
  if (!reason.ok()) return call->fail(reason.error());
  auto batch = std::make_shared<CancelBatch>();
  for (const std::string_view item : *items) {
    const auto id = read_task_id(item);
    if (!id.ok()) {
      batch->answer.add_rejected(id.error(), {});
      continue;
    }
    batch->answer.add_taken();
    batch->wishes.push_back({.id = *id, .reason = *reason, .scope = call->principal.scope});
  }
  auto wishes = batch->wishes;
  api.parts().combiner.cancel(std::move(wishes), [call, batch](const auto& outcomes) {
    call->run([&] {
      if (const auto failure = common_failure(outcomes)) return call->fail(*failure);
      call->answer(200, batch->answer.json([&](std::string& out, std::size_t index) {
        append_cancel_outcome(out, batch->wishes[index], outcomes[index]);
      }));
    });
  });
}

// ---- Routes ----

constexpr std::string_view kUnknownOutcome =
    "The store is unavailable; the outcome is unknown. Repeat with the same id or key";
constexpr std::string_view kUnavailable = "The store is unavailable, or too many reads are waiting";

std::vector<Route> submit_routes() {
  return {
      {.method = "POST",
       .pattern = "/v1/tasks",
       .name = "submit_task",
       .tag = "tasks",
       .summary = "Submit a task",
       .access = Access::kSubmit,
       .body = "NewTask",
       .answers = {{201, "The task is stored", "Submitted"},
                   {200, "The same task was stored before", "Submitted"},
                   {409, "The id or key belongs to a different task"},
                   {422, "A value is not allowed"},
                   {429, "Too many calls are in progress, or the limit of queues is reached"},
                   {503, kUnknownOutcome}},
       .handle = submit_task},
      {.method = "POST",
       .pattern = "/v1/tasks/batch",
       .name = "submit_tasks",
       .tag = "tasks",
       .summary = "Submit up to 1,000 tasks; each has its own outcome",
       .access = Access::kSubmit,
       .body = "NewTasks",
       .answers = {{200, "One outcome for each task, in order", "SubmitOutcomes"},
                   {422, "The batch is empty or too large"},
                   {429, "Too many calls are in progress"},
                   {503, kUnknownOutcome}},
       .handle = submit_tasks},
  };
}

std::vector<Route> read_routes() {
  return {
      {.method = "GET",
       .pattern = "/v1/tasks",
       .name = "list_tasks",
       .tag = "tasks",
       .summary = "List tasks, in pages, without their history",
       .access = Access::kRead,
       .parameters = list_parameters(),
       .answers = {{200, "A page; pass `next` as `cursor` for the next one", "Page"},
                   {422, "The filter is not allowed"},
                   {503, kUnavailable}},
       .handle = list_tasks},
      {.method = "GET",
       .pattern = "/v1/tasks/{id}",
       .name = "get_task",
       .tag = "tasks",
       .summary = "Look up a task by its id",
       .access = Access::kRead,
       .answers = {{200, "The task", "Task"},
                   {400, "The id is not a UUID"},
                   {404, "There is no such task"},
                   {503, kUnavailable}},
       .handle = get_task},
      {.method = "GET",
       .pattern = "/v1/queues/{queue}/keys/{key}",
       .name = "find_task",
       .tag = "tasks",
       .summary = "Look up a task by its queue and key",
       .access = Access::kRead,
       .answers = {{200, "The task", "Task"},
                   {404, "There is no task with this key"},
                   {422, "The queue or key is not a valid name"},
                   {503, kUnavailable}},
       .handle = find_task},
  };
}

std::vector<Route> cancel_routes() {
  return {
      {.method = "POST",
       .pattern = "/v1/tasks/{id}/cancel",
       .name = "cancel_task",
       .tag = "tasks",
       .summary = "Cancel a task for good, with an optional reason",
       .access = Access::kSubmit,
       .body = "Cancel",
       .body_is_optional = true,
       .answers = {{200, "The task is cancelled, now or by an earlier call", "Cancelled"},
                   {404, "There is no such task"},
                   {409, "The task had already finished"},
                   {422, "The reason is too long"},
                   {429, "Too many calls are in progress"},
                   {503, kUnknownOutcome}},
       .handle = cancel_task},
      {.method = "POST",
       .pattern = "/v1/tasks/cancel",
       .name = "cancel_tasks",
       .tag = "tasks",
       .summary = "Cancel up to 1,000 tasks; each has its own outcome",
       .access = Access::kSubmit,
       .body = "CancelMany",
       .answers = {{200, "One outcome for each id, in order", "CancelOutcomes"},
                   {422, "The batch is empty or too large, or the reason too long"},
                   {429, "Too many calls are in progress"},
                   {503, kUnknownOutcome}},
       .handle = cancel_tasks},
  };
}

}  // namespace

std::optional<TaskId> id_in_path(const Call& call) {
  const auto id = parse_uuid(call.arguments[0]);
  if (id.ok()) return *id;
  call.fail({ErrorCode::kMalformed, "id: " + id.error().message});
  return std::nullopt;
}

Error no_such_task(const std::string& what) {
  return {ErrorCode::kNotFound,
          what + ": there is no such task; it may have been removed after its retention, or with its queue"};
}

std::vector<Route> task_routes() {
  std::vector<Route> all = submit_routes();
  std::ranges::move(read_routes(), std::back_inserter(all));
  std::ranges::move(cancel_routes(), std::back_inserter(all));
  return all;
}

}  // namespace horae
