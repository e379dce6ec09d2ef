// The model store: submit, claim, promote, the monitor, purge and get.

#include <algorithm>
#include <set>
#include <tuple>

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

SubmitOutcome outcome_of(SubmitOutcome::Kind kind, const ModelTask& held) {
  return {.kind = kind, .id = held.task.id, .number = held.task.number, .state = held.task.state};
}

// Reading: where the key and the id are taken by two different tasks, the one under the key is named, as submit_error()
// words it.
ModelTask* find_stored(Model& model, const Submission& submission) {
  const NewTask& request = submission.task;
  ModelTask* held = request.key ? model.find_task(request.queue, *request.key) : nullptr;
  return held ? held : model.find_task(submission.id());
}

Task new_task(const Submission& submission, std::int64_t number, Instant now) {
  const NewTask& request = submission.task;
  Task task;
  task.id = submission.id();
  task.number = number;
  task.key = request.key;
  task.queue = request.queue;
  task.priority = request.priority;
  task.spec = request.spec;
  task.created_at = now;
  task.updated_at = now;
  task.run_at = request.run_at.value_or(now);
  task.recurring = request.recurring;
  task.max_attempts = request.max_attempts;
  task.retry = request.retry;
  const auto condition = task.run_at > now ? Condition::kDueLater : Condition::kNone;
  task.state = **next_state(task.id, Event::kSubmit, std::nullopt, condition);
  return task;
}

LeasedTask leased(const ModelTask& held) {
  const Task& task = held.task;
  return {.id = task.id,
          .number = task.number,
          .queue = task.queue,
          .priority = task.priority,
          .spec = task.spec,
          .attempt = task.attempt,
          .checkpoint = task.checkpoint,
          .lease_expires = *task.lease_expires};
}

LeasedTask lease(Model& model, ModelTask& held, const ClaimWish& wish) {
  const Instant now = model.now();
  model.move(held, Event::kClaim);
  ++held.task.attempt;
  held.task.owner = wish.owner;
  held.task.started_at = now;
  held.task.lease_expires = after(now, wish.lease);
  held.token = wish.token;
  held.lease = wish.lease;
  held.log.push_back(
      {.kind = HistoryKind::kAssignment, .worker = wish.owner, .time = now, .attempt = held.task.attempt});
  return leased(held);
}

// Within a queue the effective priority falls as the rank grows, so one order serves both within and across queues.
using Urgency = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // lower first

Urgency urgency(const Model& model, const ModelTask& held) {
  const Ageing& ageing = model.queues.at(held.task.queue).ageing;
  return {-effective_priority(ageing, held.rank, model.now_second()), held.ready_second, held.task.number};
}

}  // namespace

SubmitOutcome submit_one(Model& model, const Submission& submission) {
  const std::string digest = request_digest(submission.task);
  if (const ModelTask* held = find_stored(model, submission)) {
    const bool same = held->digest == digest;
    return outcome_of(same ? SubmitOutcome::Kind::kPresent : SubmitOutcome::Kind::kConflict, *held);
  }
  if (!model.queues.contains(submission.task.queue)) {
    const QueueAllowance* const allowance = submission.allowance.get();
    if (allowance && model.queues_made_by(allowance->token) >= allowance->most) {
      return {.kind = SubmitOutcome::Kind::kOverAllowance, .id = submission.id()};
    }
    ModelQueue* const made = model.make_queue(submission.task.queue);
    if (!made) return {.kind = SubmitOutcome::Kind::kOverLimit, .id = submission.id()};
    if (allowance) made->made_by = allowance->token;
  }
  const std::int64_t number = ++model.last_number;
  ModelTask& held = model.tasks[number];
  held.task = new_task(submission, number, model.now());
  held.digest = digest;
  if (held.task.state == State::kReady) model.rank(held);
  model.ids[held.task.id] = number;
  if (held.task.key) model.keys[{held.task.queue, *held.task.key}] = number;
  if (submission.start) {
    const auto& [owner, token, length] = *submission.start;
    (void)lease(model, held, {.owner = owner, .queues = {}, .token = token, .lease = length});
  }
  return outcome_of(SubmitOutcome::Kind::kCreated, held);
}

namespace {

std::vector<LeasedTask> leased_under(const Model& model, const Uuid& token) {
  std::vector<LeasedTask> found;
  for (const auto& [number, held] : model.tasks) {
    if (held.task.state == State::kRunning && held.token == token) found.push_back(leased(held));
  }
  return found;
}

std::vector<LeasedTask> claim_new(Model& model, const ClaimWish& wish) {
  if (!model.scheduler_running) return {};
  std::vector<std::pair<Urgency, ModelTask*>> waiting;
  for (auto& [number, held] : model.tasks) {
    if (held.task.state != State::kReady) continue;
    if (std::ranges::find(wish.queues, held.task.queue) == wish.queues.end()) continue;
    if (model.queues.at(held.task.queue).settings.paused) continue;
    waiting.push_back({urgency(model, held), &held});
  }
  const auto count = std::min(waiting.size(), static_cast<std::size_t>(wish.max));
  std::partial_sort(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count), waiting.end());
  waiting.resize(count);

  std::vector<LeasedTask> taken;
  for (const auto& [order, held] : waiting) taken.push_back(lease(model, *held, wish));
  return taken;
}

bool is_held_by_another(const Model& model, const ClaimWish& wish) {
  return std::ranges::any_of(model.tasks, [&](const auto& each) {
    const ModelTask& held = each.second;
    return held.task.state == State::kRunning && held.token == wish.token && held.task.owner != wish.owner;
  });
}

ClaimOutcome claim_one(Model& model, const ClaimWish& wish) {
  if (wish.once && model.served.contains(wish.token)) {
    if (is_held_by_another(model, wish)) return {ClaimOutcome::Kind::kOtherOwner, {}};
    return {ClaimOutcome::Kind::kRepeated, leased_under(model, wish.token)};
  }
  ClaimOutcome taken{.tasks = claim_new(model, wish)};
  if (wish.once && !taken.tasks.empty()) model.served[wish.token] = model.now();
  return taken;
}

// True if there are more of them.
bool forget_old_tokens(Model& model, std::size_t max) {
  const auto is_old = [&model](const auto& entry) {
    return after(entry.second, kTokenMemory) < model.now() && leased_under(model, entry.first).empty();
  };
  for (auto each = model.served.begin(); each != model.served.end() && max > 0;) {
    const bool forgets = is_old(*each);
    max -= forgets ? 1U : 0U;
    each = forgets ? model.served.erase(each) : std::next(each);
  }
  return std::ranges::any_of(model.served, is_old);
}

bool is_purgeable(const Model& model, const ModelTask& held) {
  const Duration retention = model.queues.at(held.task.queue).settings.retention;
  return is_terminal(held.task.state) && after(held.task.updated_at, retention) < model.now();
}

void forget_queues(Model& model, std::size_t max) {
  for (auto each = model.queues.begin(); each != model.queues.end() && max > 0;) {
    const ModelQueue& queue = each->second;
    const bool is_old = after(queue.made_at, kQueueMemory) < model.now();
    const bool is_forgotten = !queue.is_configured && is_old && !model.has_any_task(each->first);
    if (is_forgotten) --max;
    each = is_forgotten ? model.queues.erase(each) : std::next(each);
  }
}

ExpiredLease expire_one(Model& model, ModelTask& held) {
  Task& task = held.task;
  ++task.tries;
  const bool exhausted = task.max_attempts > 0 && task.tries >= task.max_attempts;
  model.move(held, Event::kExpire, exhausted ? Condition::kExhausted : Condition::kNone);
  if (exhausted) task.errors = {{.code = "attempts_exhausted", .description = "the last lease expired"}};
  held.log.push_back({.kind = HistoryKind::kTimeout,
                      .worker = *task.owner,
                      .time = model.now(),
                      .attempt = task.attempt,
                      .progress = task.progress});
  held.ended = AttemptEnd{Event::kExpire, *task.owner};
  // Reading: the progress is reset by both ends of an expiry, so an exhausted task shows 0 as well.
  task.progress = 0.0;
  return {.id = task.id, .queue = task.queue, .owner = *task.owner, .attempt = task.attempt, .state = task.state};
}

// The running tasks, those whose lease ends first in front.
std::vector<ModelTask*> by_lease_end(Model& model) {
  std::vector<ModelTask*> running;
  for (auto& [number, held] : model.tasks) {
    if (held.task.state == State::kRunning) running.push_back(&held);
  }
  std::ranges::stable_sort(running, {}, [](const ModelTask* held) { return *held->task.lease_expires; });
  return running;
}

}  // namespace

Result<std::vector<SubmitOutcome>> ModelTaskStore::submit(std::span<const Submission> submissions) {
  const auto checked = check_all(submissions, check_submission);
  if (!checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<SubmitOutcome> outcomes;
  for (const Submission& submission : submissions) outcomes.push_back(submit_one(model_, submission));
  return outcomes;
}

Result<std::vector<ClaimOutcome>> ModelTaskStore::claim(std::span<const ClaimWish> wishes) {
  if (auto checked = check_all(wishes, check_claim_wish); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<ClaimOutcome> taken;
  for (const ClaimWish& wish : wishes) taken.push_back(claim_one(model_, wish));
  return taken;
}

Result<std::vector<LeasedTask>> ModelTaskStore::leases_of(const Uuid& token) {
  const std::lock_guard lock(model_.mutex);
  return leased_under(model_, token);
}

Result<std::vector<bool>> ModelTaskStore::have_served(std::span<const Uuid> tokens) {
  if (auto checked = check_batch(tokens.size()); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<bool> served;
  for (const Uuid& token : tokens) served.push_back(model_.served.contains(token));
  return served;
}

Result<PromoteOutcome> ModelTaskStore::promote_due(std::size_t max) {
  const std::lock_guard lock(model_.mutex);
  const Instant now = model_.now();
  std::vector<ModelTask*> scheduled;
  for (auto& [number, held] : model_.tasks) {
    if (held.task.state == State::kScheduled) scheduled.push_back(&held);
  }
  std::ranges::stable_sort(scheduled, {}, [](const ModelTask* held) { return held->task.run_at; });

  PromoteOutcome outcome;
  std::set<std::string> queues;
  for (ModelTask* held : scheduled) {
    if (held->task.run_at > now || outcome.promoted == max) {
      outcome.next_in = std::max(between(now, held->task.run_at), Duration::zero());
      break;
    }
    model_.move(*held, Event::kPromote);
    model_.rank(*held);
    queues.insert(held->task.queue);
    ++outcome.promoted;
  }
  outcome.queues.assign(queues.begin(), queues.end());
  return outcome;
}

Result<Watch> ModelTaskStore::look() {
  const std::lock_guard lock(model_.mutex);
  const auto running = by_lease_end(model_);
  Watch watch{.now = model_.now(), .stamp = model_.stamp, .has_leases = !running.empty()};
  if (!running.empty()) {
    watch.next_expiry_in = std::max(between(watch.now, *running.front()->task.lease_expires), Duration::zero());
  }
  return watch;
}

// Reading: it stamps also when there are no leases. The length of a lease is the newest that was given, by its claim
// or its newest heartbeat.
Result<bool> ModelTaskStore::extend_leases(const std::optional<Instant>& seen) {
  const std::lock_guard lock(model_.mutex);
  if (model_.stamp != seen) return false;
  for (ModelTask* held : by_lease_end(model_)) held->task.lease_expires = after(model_.now(), held->lease);
  model_.stamp = model_.now();
  return true;
}

namespace {

// No monitor has stamped for more than a third of its length, since it was given, renewed or extended.
bool is_out_of_sight(const ModelTask& held, Instant stamp, Instant now, Duration slack) {
  using Micros = std::chrono::microseconds;
  const auto length = std::chrono::ceil<Micros>(held.lease);
  if (*held.task.lease_expires < stamp) return false;  // it was overdue by then, and only waits for its turn
  const auto begun = std::max(stamp, *held.task.lease_expires - length);
  return 3 * (between(begun, now) - std::chrono::floor<Micros>(slack)) > length;
}

}  // namespace

// Reading: "without leases nothing happens" comes first, also before the stamp is compared. Leases that end at the same
// moment are taken by number.
Result<ExpireOutcome> ModelTaskStore::expire_leases(const ExpireWish& wish) {
  const std::lock_guard lock(model_.mutex);
  const Instant now = model_.now();
  const auto running = by_lease_end(model_);
  if (running.empty()) return ExpireOutcome{};
  if (model_.stamp != wish.seen) return ExpireOutcome{.kind = ExpireOutcome::Kind::kStampMoved};
  if (!model_.stamp) return ExpireOutcome{.kind = ExpireOutcome::Kind::kNoStamp};
  ExpireOutcome outcome;
  for (ModelTask* held : running) {
    if (!is_out_of_sight(*held, *model_.stamp, now, wish.slack)) continue;
    held->task.lease_expires = after(now, held->lease);
    outcome.extended = true;
  }
  model_.stamp = now;
  for (ModelTask* held : by_lease_end(model_)) {
    if (*held->task.lease_expires >= now || outcome.expired.size() == wish.max) break;
    outcome.expired.push_back(expire_one(model_, *held));
  }
  return outcome;
}

Result<PurgeOutcome> ModelTaskStore::purge(std::size_t max) {
  const std::lock_guard lock(model_.mutex);
  PurgeOutcome outcome{.more = forget_old_tokens(model_, max)};
  for (auto each = model_.tasks.begin(); each != model_.tasks.end();) {
    if (!is_purgeable(model_, each->second)) {
      ++each;
      continue;
    }
    if (outcome.purged == max) {
      outcome.more = true;
      break;
    }
    each = model_.purge(each);
    ++outcome.purged;
  }
  if (!outcome.more) forget_queues(model_, max);
  return outcome;
}

Result<std::vector<std::optional<Task>>> ModelTaskStore::get(std::span<const TaskId> ids) {
  if (auto checked = check_batch(ids.size()); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<std::optional<Task>> tasks;
  for (const TaskId& id : ids) {
    const ModelTask* held = model_.find_task(id);
    tasks.push_back(held ? std::optional(view(*held)) : std::nullopt);
  }
  return tasks;
}

Result<std::optional<Task>> ModelTaskStore::find(std::string_view queue, std::string_view key) {
  const std::lock_guard lock(model_.mutex);
  const ModelTask* held = model_.find_task(queue, key);
  return held ? std::optional(view(*held)) : std::nullopt;
}

}  // namespace horae::testing
