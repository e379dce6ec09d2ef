// /v1/workers, /v1/claim, /v1/settle, /v1/exchange: calls of workers.

#include <memory>
#include <span>

#include "api/api.h"
#include "api/json/batch_answer.h"
#include "api/json/bodies.h"
#include "api/json/claim_answer.h"
#include "api/json/json_writer.h"
#include "api/json/task_json.h"
#include "api/routes/routes.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

void register_worker(Api& api, const CallPtr& call) {
  api.read(call, [&api, call] {
    const auto id = api.parts().queues.new_worker_id();
    if (!id.ok()) return call->fail(id.error());
    std::string json;
    JsonObject object(json);
    object.add("id", *id);
    object.end();
    call->answer(201, std::move(json));
  });
}

// Releases nothing, neither tasks that do not fit nor those that could not be sent: the worker may have repeated the
// claim at another node with its token, and received them there. The token may hold tasks of queues that this caller's
// own access token does not cover; those are left out.
void write_held(const Call& call, JsonObject& object, std::vector<LeasedTask> held, bool has_attention) {
  std::erase_if(held, [&call](const LeasedTask& task) { return !call.principal.allows(task.queue); });
  const std::vector<LeasedTask> rest = take_surplus(held);
  write_leased_tasks(object, held, rest, has_attention);
}

void answer_claim(Api& api, const Call& call, const ClaimWish& wish, Claimer::Answer got) {
  if (!got.tasks.ok()) return call.fail(got.tasks.error());
  if (wish.once) {
    std::string json;
    JsonObject object(json);
    write_held(call, object, std::move(*got.tasks), got.has_attention);
    object.end();
    return call.answer(200, std::move(json));
  }
  const std::vector<LeasedTask> surplus = take_surplus(*got.tasks);
  api.release(wish, releases_of(wish.owner, surplus), "they exceed the size of one answer");
  call.answer({.body = leased_tasks_json(*got.tasks, {}, got.has_attention)},
              [&api, wish, releases = releases_of(wish.owner, *got.tasks)](bool was_sent) {
                if (!was_sent) api.release(wish, releases, "the worker could not receive them");
              });
}

Result<void> check_scope_of(const Call& call, const ClaimWish& wish) {
  for (const std::string& queue : wish.queues) {
    if (auto allowed = call.check_scope(queue); !allowed.ok()) return allowed;
  }
  return {};
}

void claim_tasks(Api& api, const CallPtr& call) {
  auto claim = read_claim(call->request.body);
  if (!claim.ok()) return call->fail(claim.error());
  if (auto allowed = check_scope_of(*call, claim->wish); !allowed.ok()) return call->fail(allowed.error());
  if (!claim->wish.once) claim->wish.token = api.parts().ids.next();
  const ClaimWish& wish = claim->wish;
  api.exchange(call, {.owner = wish.owner, .claim = wish}, claim->wait,
               [&api, call, wish](Claimer::Answer got) { answer_claim(api, *call, wish, std::move(got)); });
}

struct SettleBatch {
  std::vector<Settlement> settlements;  // only the fields that a refusal needs
  BatchAnswer answer;
};

// Reads the items of a batch and returns those that go to the store.
std::vector<Settlement> read_settlements(const Api& api, const Call& call, std::span<const std::string_view> items,
                                         std::string_view owner, SettleBatch& batch) {
  std::vector<Settlement> settlements;
  settlements.reserve(items.size());
  for (const std::string_view item : items) {
    auto settlement = read_settlement(item, owner);
    if (!settlement.ok()) {
      batch.answer.add_rejected(settlement.error(), id_in(item));
      continue;
    }
    batch.answer.add_taken();
    settlement->chance = api.parts().random.unit();
    settlement->scope = call.principal.scope;
    batch.settlements.push_back(
        {.event = settlement->event, .id = settlement->id, .attempt = settlement->attempt, .owner = settlement->owner});
    settlements.push_back(std::move(*settlement));
  }
  return settlements;
}

void append_settle_outcome(std::string& out, const Settlement& settlement, const Result<SettleOutcome>& outcome) {
  if (outcome.ok()) return append_settled(out, settlement, *outcome);
  append_failed_item(out, to_string(settlement.id), problem_kind(outcome.error().code), outcome.error().message);
}

void settle_tasks(Api& api, const CallPtr& call) {
  const auto items = read_batch(call->request.body, "settlements");
  if (!items.ok()) return call->fail(items.error());
  auto batch = std::make_shared<SettleBatch>();
  std::vector<Settlement> settlements = read_settlements(api, *call, *items, {}, *batch);
  api.parts().combiner.settle(std::move(settlements),
                              [call, batch](const std::vector<Result<SettleOutcome>>& outcomes) {
                                call->run([&] {
                                  if (const auto failure = common_failure(outcomes)) return call->fail(*failure);
                                  call->answer(200, batch->answer.json([&](std::string& out, std::size_t index) {
                                    append_settle_outcome(out, batch->settlements[index], outcomes[index]);
                                  }));
                                });
                              });
}

// ---- Both in one call ----

void append_settle_outcomes(JsonObject& object, const SettleBatch& batch,
                            const std::vector<Result<SettleOutcome>>& outcomes) {
  if (batch.answer.empty()) return;
  batch.answer.write(object, [&](std::string& out, std::size_t index) {
    append_settle_outcome(out, batch.settlements[index], outcomes[index]);
  });
}

void answer_exchange(const Call& call, const SettleBatch& batch, Claimer::Answer got) {
  if (const auto failure = common_failure(got.settled)) return call.fail(*failure);
  if (!got.tasks.ok()) return call.fail(got.tasks.error());
  std::string json;
  JsonObject object(json);
  append_settle_outcomes(object, batch, got.settled);
  write_held(call, object, std::move(*got.tasks), got.has_attention);
  object.end();
  call.answer(200, std::move(json));
}

// The whole body is checked before anything is done. The same body may be sent again after a lost answer: settlements
// are repeated, and the token of the claim gives what it got.
void exchange(Api& api, const CallPtr& call) {
  auto body = read_exchange(call->request.body);
  if (!body.ok()) return call->fail(body.error());
  if (body->claim) {
    if (auto allowed = check_scope_of(*call, *body->claim); !allowed.ok()) return call->fail(allowed.error());
  }
  auto batch = std::make_shared<SettleBatch>();
  std::vector<Settlement> settlements = read_settlements(api, *call, body->settlements, body->owner, *batch);
  api.exchange(call, {.owner = body->owner, .settlements = std::move(settlements), .claim = std::move(body->claim)},
               body->wait, [call, batch](Claimer::Answer got) { answer_exchange(*call, *batch, std::move(got)); });
}

}  // namespace

std::vector<Route> worker_routes() {
  return {
      {.method = "POST",
       .pattern = "/v1/workers",
       .name = "register_worker",
       .tag = "workers",
       .summary = "Get a unique id for a worker that has just started",
       .access = Access::kWork,
       .answers = {{201, "The id: the `owner` in claims and settlements", "Worker"},
                   {503, "The store is unavailable, or too many reads are waiting"}},
       .handle = register_worker},
      {.method = "POST",
       .pattern = "/v1/claim",
       .name = "claim_tasks",
       .tag = "workers",
       .summary =
           "Lease ready tasks, waiting for them up to 30 s; repeated with the same token, it returns the tasks that "
           "are still leased under the token, and no new ones",
       .access = Access::kWork,
       .body = "Claim",
       .answers =
           {{200,
             "Tasks, the most urgent first; none after the wait. There may be fewer than `max` although more are "
             "ready: one answer holds one task or at most 8 MiB of specs and checkpoints",
             "LeasedTasks"},
            {409, "Tasks of another owner are leased under the token"},
            {422, "A value is not allowed"},
            {429, "Too many claims of this access token are waiting"},
            {503, "The store is unavailable; repeat with the same token"}},
       .handle = claim_tasks},
      {.method = "POST",
       .pattern = "/v1/settle",
       .name = "settle_tasks",
       .tag = "workers",
       .summary = "Heartbeat, complete, abort, yield or release up to 1,000 attempts; each has its own outcome",
       .access = Access::kWork,
       .body = "Settlements",
       .answers = {{200, "One outcome for each settlement, in order", "SettleOutcomes"},
                   {422, "The batch is empty or too large"},
                   {429, "Too many calls are in progress"},
                   {503, "The store is unavailable; repeat the same settlements"}},
       .handle = settle_tasks},
      {.method = "POST",
       .pattern = "/v1/exchange",
       .name = "exchange",
       .tag = "workers",
       .summary = "Settle attempts and claim the next tasks in one call and one commit. It waits only if it settles "
                  "nothing: for "
                  "tasks, and for `attention`, which says that a task of the owner was cancelled. After a lost answer, "
                  "send the "
                  "same body again",
       .access = Access::kWork,
       .body = "Exchange",
       .answers = {{200, "The outcomes and the tasks", "Exchanged"},
                   {409, "Tasks of another owner are leased under this token; the settlements were made"},
                   {422, "A value is not allowed; nothing was done"},
                   {429, "Too many calls are in progress, or too many of this access token are waiting"},
                   {503, "The store is unavailable; repeat the same body"}},
       .handle = exchange},
  };
}

}  // namespace horae
