#include "tests/sim/worker.h"

#include <fmt/format.h>

#include "base/mutant.h"

namespace horae::sim {
namespace {

constexpr double kLongShare = 0.1;                          // of the attempts outlast their lease several times
constexpr double kStubbornShare = 0.3;                      // of the losses of a lease are not heeded
constexpr double kOwnTokenShare = 0.3;                      // of the claims are made under a token of the worker's own
constexpr Duration kAtOnce = std::chrono::milliseconds(4);  // about as long as a claim takes without a wait

}  // namespace

// ---- Up and down ----

void Worker::start() {
  ++peer_.incarnation;
  if (is_asking_) world_.record(WaitOver{id_});
  id_.clear();
  runs_.clear();
  is_asking_ = false;
  is_draining_ = false;
  register_again();
}

void Worker::register_again() {
  network_.ask<std::string>(
      peer_, network_.any_node(), {.patience = world_.plan.lease / 4},
      [](NodeLife& node, const Network::Reply<std::string>& reply) { reply(node.new_worker_id()); },
      [this](Result<std::string> id) {
        if (!id.ok()) return network_.later(peer_, soon(), [this] { register_again(); });
        id_ = *id;
        ask_for_tasks();
      });
}

void Worker::crash() {
  world_.fault(id_ + " dies");
  ++peer_.incarnation;
  network_.later(peer_, world_.chance.around(world_.plan.lease / 2), [this] { start(); });
}

void Worker::pause(Duration time) {
  if (peer_.paused_until > world_.now()) return;
  world_.fault(id_ + " stands still");
  peer_.paused_until = world_.now() + std::chrono::ceil<std::chrono::microseconds>(time);
}

void Worker::cut_off(Duration time) {
  if (peer_.cut_off_until > world_.now()) return;
  world_.fault(id_ + " is cut off");
  peer_.cut_off_until = world_.now() + std::chrono::ceil<std::chrono::microseconds>(time);
}

void Worker::heal() { peer_.cut_off_until = world_.now(); }

void Worker::drain() {
  is_draining_ = true;
  leave_if_done();
}

void Worker::leave_if_done() {
  if (!is_draining_ || !runs_.empty() || id_.empty()) return;
  // It waits for the answer to its last wish, or it hangs up, unless nobody would give back what its token holds.
  if (is_asking_ && (has_own_token_ || world_.chance.happens(0.5))) return;
  start();
}

// ---- Tasks come ----

void Worker::ask_for_tasks() {
  const int room = world_.plan.slots - static_cast<int>(runs_.size());
  if (is_asking_ || is_draining_ || id_.empty() || room <= 0) return;
  is_asking_ = true;
  ClaimWish wish{.owner = id_,
                 .queues = {},
                 .max = world_.chance.between(1, room),
                 .token = world_.ids.next(),
                 .lease = world_.plan.lease};
  for (int queue = 0; queue < world_.plan.queues; ++queue) wish.queues.push_back(fmt::format("queue-{}", queue));
  wish.once = has_own_token_ = world_.chance.happens(kOwnTokenShare);
  ask(wish);
}

void Worker::ask(const ClaimWish& wish) {
  const Duration wait = world_.plan.lease * 3;
  // With a token of its own it may lose patience before the node does, also while its claim is under way: what the node
  // gets for it meanwhile is found by the token at another one. What nobody asks for again expires, so it does that in
  // chaos only.
  const bool is_hasty = wish.once && world_.in_chaos();
  const bool is_rash = is_hasty && world_.chance.happens(0.5);
  const Duration patience = is_rash    ? world_.chance.around(kAtOnce)
                            : is_hasty ? world_.chance.around(world_.plan.lease / 4)
                                       : wait + world_.plan.lease / 2;
  network_.ask<std::vector<LeasedTask>>(
      peer_, network_.any_node(), {.patience = patience, .may_repeat = wish.once},
      [wish, wait](NodeLife& node, const Network::Reply<std::vector<LeasedTask>>& reply) {
        node.wait_for_tasks(wish, wait, reply);
      },
      [this, wish, is_rash](Result<std::vector<LeasedTask>> tasks) {
        const bool asks_again = !tasks.ok() && wish.once;
        const Duration pause = is_rash ? Duration::zero() : soon();
        if (asks_again) return network_.later(peer_, pause, [this, wish] { ask(wish); });
        take(std::move(tasks));
      });
}

void Worker::take(Result<std::vector<LeasedTask>> tasks) {
  is_asking_ = false;
  if (tasks.ok()) {
    for (const LeasedTask& task : *tasks) begin(task);
  }
  leave_if_done();
  network_.later(peer_, tasks.ok() ? std::chrono::milliseconds(1) : soon(), [this] { ask_for_tasks(); });
}

void Worker::begin(const LeasedTask& task) {
  const RunKey key{task.id, task.attempt};
  runs_[key] = {.task = task};
  if (is_draining_) {
    runs_[key].is_ending = true;
    return tell(key, settlement(Event::kRelease, task));
  }
  world_.record(WorkBegins{task.id, task.attempt});
  const bool is_long = world_.chance.happens(kLongShare);
  const Duration work = world_.chance.around(is_long ? world_.plan.lease * 3 : world_.plan.work);
  network_.later(peer_, work, [this, key] { finish(key); });
  network_.later(peer_, world_.plan.lease / 3, [this, key] { beat(key); });
}

// ---- Tasks go ----

Settlement Worker::settlement(Event event, const LeasedTask& task) const {
  return {.event = event,
          .id = task.id,
          .number = task.number,
          .attempt = task.attempt,
          .owner = id_,
          .lease = world_.plan.lease};
}

void Worker::beat(const RunKey& key) {
  const auto run = runs_.find(key);
  if (run == runs_.end() || (is_draining_ && HORAE_MUTANT("heartbeats_stop_in_drain"))) return;
  Settlement told = settlement(Event::kHeartbeat, run->second.task);
  if (world_.chance.happens(0.3)) told.progress = world_.chance.unit();
  if (world_.chance.happens(0.1)) told.checkpoint = "{}";
  network_.ask<SettleOutcome>(
      peer_, network_.any_node(), {.patience = world_.plan.lease / 8, .may_repeat = true},
      [told](NodeLife& node, const Network::Reply<SettleOutcome>& reply) { reply(node.settle(told)); },
      [this, key](Result<SettleOutcome> outcome) {
        const bool is_lost = outcome.ok() && !is_success(outcome->verdict);
        const auto found = runs_.find(key);
        if (found == runs_.end()) return;
        if (is_lost && !found->second.is_ending && !world_.chance.happens(kStubbornShare)) return forget(key);
        network_.later(peer_, outcome.ok() ? world_.plan.lease / 3 : soon(), [this, key] { beat(key); });
      });
}

Settlement Worker::draw_end(const LeasedTask& task) {
  const double drawn = world_.chance.unit();
  Settlement end = settlement(drawn < 0.8 ? Event::kComplete : drawn < 0.9 ? Event::kAbort : Event::kYield, task);
  end.chance = world_.chance.unit();
  if (end.event == Event::kComplete) end.result = "{}";
  if (end.event == Event::kAbort) end.errors = {{.code = "failed", .description = "by chance"}};
  if (end.event == Event::kYield) end.progress = 0.5;
  return end;
}

void Worker::finish(const RunKey& key) {
  const auto run = runs_.find(key);
  if (run == runs_.end() || run->second.is_ending) return;
  run->second.is_ending = true;
  tell(key, draw_end(run->second.task));
}

// Again and again, until somebody answers: what it was told may be lost on its way, or the answer.
void Worker::tell(const RunKey& key, const Settlement& end) {
  network_.ask<SettleOutcome>(
      peer_, network_.any_node(), {.patience = world_.plan.lease / 8, .may_repeat = true},
      [end](NodeLife& node, const Network::Reply<SettleOutcome>& reply) { reply(node.settle(end)); },
      [this, key, end](Result<SettleOutcome> outcome) {
        if (outcome.ok()) return forget(key);
        network_.later(peer_, soon(), [this, key, end] { tell(key, end); });
      });
}

void Worker::forget(const RunKey& key) {
  runs_.erase(key);
  leave_if_done();
  ask_for_tasks();
}

}  // namespace horae::sim
