// /v1/workers, /v1/claim, /v1/settle: calls of workers.

#include <memory>

#include "api/api.h"
#include "api/json/batch_answer.h"
#include "api/json/bodies.h"
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

void append_settle_outcome(std::string& out, const Settlement& settlement, const Result<SettleOutcome>& outcome) {
  if (outcome.ok()) return append_settled(out, settlement, *outcome);
  append_failed_item(out, to_string(settlement.id), problem_kind(outcome.error().code), outcome.error().message);
}

void settle_tasks(Api& api, const CallPtr& call) {
  const auto items = read_batch(call->request.body, "settlements");
  if (!items.ok()) return call->fail(items.error());
  auto batch = std::make_shared<SettleBatch>();
  std::vector<Settlement> settlements;
  for (const std::string_view item : *items) {
    auto settlement = read_settlement(item);
    batch->answer.add(settlement.ok() ? std::nullopt : std::optional(settlement.error()));
    if (!settlement.ok()) continue;
    settlement->chance = api.parts().random.unit();
    settlement->scope = call->principal.scope;
    batch->settlements.push_back(
        {.event = settlement->event, .id = settlement->id, .attempt = settlement->attempt, .owner = settlement->owner});
    settlements.push_back(std::move(*settlement));
  }
  api.parts().combiner.settle(std::move(settlements),
                              [call, batch](const std::vector<Result<SettleOutcome>>& outcomes) {
                                if (const auto failure = common_failure(outcomes)) return call->fail(*failure);
                                call->answer(200, batch->answer.json([&](std::string& out, std::size_t index) {
                                  append_settle_outcome(out, batch->settlements[index], outcomes[index]);
                                }));
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
  };
}

}  // namespace horae
