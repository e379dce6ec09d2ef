#include "tests/sim/client.h"

#include <fmt/format.h>

#include "base/mutant.h"

namespace horae::sim {
namespace {

constexpr double kCancelShare = 0.08;
constexpr double kKeyShare = 0.4;  // of the submits have a key; the rest have an id chosen by the client

}  // namespace

void Client::start() {
  for (int i = 0; i < world_.plan.recurring; ++i) submit(draw_recurring());
  submit_next();
  meddle_next();
}

void Client::stop() {
  is_stopped_ = true;
  set_scheduler_running(true);
  for (int i = 0; i < world_.plan.queues; ++i)
    configure(fmt::format("queue-{}", i), {.paused = false, .ageing_rate = 1});
}

void Client::submit_next() {
  network_.later(peer_, world_.chance.around(world_.plan.submit_every), [this] {
    if (is_stopped_) return;
    submit(draw_task());
    submit_next();
  });
}

void Client::meddle_next() {
  network_.later(peer_, world_.chance.around(world_.plan.lease * 20), [this] {
    if (is_stopped_) return;
    meddle();
    meddle_next();
  });
}

std::string Client::any_queue() { return fmt::format("queue-{}", world_.chance.between(0, world_.plan.queues - 1)); }

// ---- Tasks ----

NewTask Client::draw_task() {
  Chance& chance = world_.chance;
  const Duration lease = world_.plan.lease;
  NewTask task{.queue = any_queue(), .priority = chance.happens(0.5) ? kDefaultPriority : chance.between(0, 255)};
  const auto work = std::chrono::ceil<std::chrono::milliseconds>(chance.around(world_.plan.work));
  task.spec = spec_of_intent(++intents_, chance.happens(0.95) ? "sleep" : "unknown", work);
  if (chance.happens(kKeyShare)) {
    task.key = fmt::format("key-{}", intents_);
  } else {
    task.id = world_.ids.next();
  }
  if (chance.happens(0.2)) {
    const Duration delay = chance.between(-lease, lease * 8);
    task.run_at = world_.now() + std::chrono::ceil<std::chrono::microseconds>(delay);
  }
  if (chance.happens(0.3)) {
    task.max_attempts = chance.between(1, 4);
    task.retry = {.kind = chance.happens(0.5) ? RetryPolicy::Kind::kFixed : RetryPolicy::Kind::kExponential,
                  .delay = lease / 2,
                  .jitter = chance.unit()};
  }
  return task;
}

NewTask Client::draw_recurring() {
  NewTask task{.id = world_.ids.next(), .queue = any_queue()};
  task.spec = spec_of_intent(++intents_, "sleep", std::chrono::milliseconds(10));
  task.recurring =
      std::chrono::ceil<std::chrono::milliseconds>(world_.chance.between(world_.plan.lease / 4, world_.plan.lease * 3));
  task.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = world_.plan.lease / 2};  // so that an abort does not end it
  return task;
}

void Client::submit(const NewTask& task) {
  ++open_calls_;
  send(task);
}

// Repeats the same request until it is acknowledged.
void Client::send(const NewTask& task) {
  network_.call<SubmitOutcome>(
      peer_, network_.any_node(), {.timeout = world_.plan.lease / 4, .may_repeat = true},
      [this, task](NodeLife& node, const Network::Reply<SubmitOutcome>& reply) {
        Submission submission{.task = task, .new_id = world_.ids.next()};
        if (HORAE_MUTANT("key_is_forgotten")) submission.task.key.reset();
        node.submit(submission, reply);
      },
      [this, task](Result<SubmitOutcome> outcome) {
        if (!outcome.ok()) {
          NewTask again = task;
          if (HORAE_MUTANT("new_id_for_a_repetition") && again.id) again.id = world_.ids.next();
          return network_.later(peer_, soon(), [this, again] { send(again); });
        }
        --open_calls_;
        world_.record(Acknowledged{outcome->id});
        if (!world_.chance.happens(kCancelShare)) return;
        const Duration delay = world_.chance.around(world_.plan.lease);
        network_.later(peer_, delay, [this, id = outcome->id] { cancel(id); });
      });
}

void Client::cancel(const TaskId& id) {
  network_.call<CancelOutcome>(
      peer_, network_.any_node(), {.timeout = world_.plan.lease / 4, .may_repeat = true},
      [id](NodeLife& node, const Network::Reply<CancelOutcome>& reply) {
        node.cancel({.id = id, .reason = {}}, reply);
      },
      [this, id](Result<CancelOutcome> outcome) {
        if (!outcome.ok()) network_.later(peer_, soon(), [this, id] { cancel(id); });
      });
}

// ---- Queues and the scheduler ----

void Client::meddle() {
  switch (world_.chance.between(0, 3)) {
    case 0:
      configure(any_queue(), {.ageing_rate = world_.chance.one_of<std::int64_t>({0, 1, 1, 5, 100})});
      break;
    case 1:
      set_scheduler_running(false);
      network_.later(peer_, world_.chance.around(world_.plan.lease), [this] { set_scheduler_running(true); });
      break;
    default:
      pause_for_a_while(any_queue());
  }
}

void Client::pause_for_a_while(const std::string& queue) {
  configure(queue, {.paused = true});
  network_.later(peer_, world_.chance.around(world_.plan.lease),
                 [this, queue] { configure(queue, {.paused = false}); });
}

void Client::configure(const std::string& queue, const QueueChange& change) {
  ++open_calls_;
  network_.call<QueueSettings>(
      peer_, network_.any_node(), {.timeout = world_.plan.lease / 4},
      [queue, change](NodeLife& node, const Network::Reply<QueueSettings>& reply) {
        reply(node.configure(queue, change));
      },
      [this, queue, change](Result<QueueSettings> settings) {
        --open_calls_;
        if (!settings.ok()) network_.later(peer_, soon(), [this, queue, change] { configure(queue, change); });
      });
}

void Client::set_scheduler_running(bool running) {
  ++open_calls_;
  network_.call<bool>(
      peer_, network_.any_node(), {.timeout = world_.plan.lease / 4},
      [running](NodeLife& node, const Network::Reply<bool>& reply) { reply(node.set_scheduler_running(running)); },
      [this, running](Result<bool> changed) {
        --open_calls_;
        if (!changed.ok()) network_.later(peer_, soon(), [this, running] { set_scheduler_running(running); });
      });
}

}  // namespace horae::sim
