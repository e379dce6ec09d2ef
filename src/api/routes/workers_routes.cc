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

void claim_tasks(Api& api, const CallPtr& call) {
  auto claim = read_claim(call->request.body);
  if (!claim.ok()) return call->fail(claim.error());
  for (const std::string& queue : claim->wish.queues) {
    if (auto allowed = call->check_scope(queue); !allowed.ok()) return call->fail(allowed.error());
  }
  if (!claim->wish.once) claim->wish.token = api.parts().ids.next();
  api.wait_for_tasks(call, *claim);
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

// The token may hold tasks of queues that the caller's access token does not cover: see Api::deliver_once().
void answer_exchange(const Call& call, const SettleBatch& batch, const ClaimWish& wish, Exchanged exchanged) {
  if (const auto failure = common_failure(exchanged.settled)) return call.fail(*failure);
  if (!exchanged.leased.ok()) return call.fail(exchanged.leased.error());
  if (exchanged.leased->kind == ClaimOutcome::Kind::kOtherOwner) return call.fail(other_owner_error(wish));
  std::vector<LeasedTask>& held = exchanged.leased->tasks;
  std::erase_if(held, [&call](const LeasedTask& task) { return !call.principal.allows(task.queue); });
  const std::vector<LeasedTask> rest = take_surplus(held);
  std::string json;
  JsonObject object(json);
  append_settle_outcomes(object, batch, exchanged.settled);
  write_leased_tasks(object, held, rest);
  object.end();
  call.answer(200, std::move(json));
}

// The whole body is checked before anything is done. The same body may be sent again after a lost answer: settlements
// are repeated, and the token of the claim gives what it got.
void exchange(Api& api, const CallPtr& call) {
  auto body = read_exchange(call->request.body);
  if (!body.ok()) return call->fail(body.error());
  for (const std::string& queue : body->claim ? body->claim->wish.queues : std::vector<std::string>()) {
    if (auto allowed = call->check_scope(queue); !allowed.ok()) return call->fail(allowed.error());
  }
  if (body->settlements.empty() && body->claim->wait > Duration::zero()) return api.wait_for_tasks(call, *body->claim);
  auto batch = std::make_shared<SettleBatch>();
  std::vector<Settlement> settlements = read_settlements(api, *call, body->settlements, body->owner, *batch);
  const ClaimWish wish = body->claim ? body->claim->wish : ClaimWish{.owner = body->owner};
  const auto answer = [call, batch, wish](Exchanged exchanged) {
    call->run([&] { answer_exchange(*call, *batch, wish, std::move(exchanged)); });
  };
  if (body->claim) return api.parts().combiner.exchange(std::move(settlements), wish, answer);
  api.parts().combiner.settle(std::move(settlements), [answer](std::vector<Result<SettleOutcome>> outcomes) {
    answer({.settled = std::move(outcomes)});
  });
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
       .summary =
           "Settle attempts and claim the next tasks in one call and one commit. It waits for tasks only if it settles "
           "nothing. After a lost answer, send the same body again",
       .access = Access::kWork,
       .body = "Exchange",
       .answers = {{200, "The outcomes and the tasks", "Exchanged"},
                   {409, "Tasks of another owner are leased under this token; the settlements were made"},
                   {422, "A value is not allowed; nothing was done"},
                   {429, "Too many calls are in progress"},
                   {503, "The store is unavailable; repeat the same body"}},
       .handle = exchange},
  };
}

}  // namespace horae
