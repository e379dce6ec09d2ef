#include "tests/sim/worker.h"

#include <fmt/format.h>

#include "base/mutant.h"

namespace horae::sim {
namespace {

constexpr double kLongShare = 0.1;                          // of the attempts take several times their lease
constexpr double kStubbornShare = 0.3;                      // of the workers that lost a lease continue anyway
constexpr double kOwnTokenShare = 0.3;                      // of the claims carry a token of the worker
constexpr double kExchangeShare = 0.5;                      // of the settlements carry a claim
constexpr Duration kAtOnce = std::chrono::milliseconds(4);  // about the time of a claim that does not wait

}  // namespace

// ---- Up and down ----

void Worker::start() {
  ++peer_.incarnation;
  if (is_claiming_) world_.record(WaitOver{id_});
  id_.clear();
  runs_.clear();
  is_claiming_ = false;
  is_draining_ = false;
  register_again();
}

void Worker::register_again() {
  network_.call<std::string>(
      peer_, network_.any_node(), {.timeout = world_.plan.lease / 4},
      [](NodeLife& node, const Network::Reply<std::string>& reply) { reply(node.new_worker_id()); },
      [this](Result<std::string> id) {
        if (!id.ok()) return network_.later(peer_, soon(), [this] { register_again(); });
        id_ = *id;
        claim_tasks();
      });
}

void Worker::crash() {
  world_.fault(id_ + " crashes");
  ++peer_.incarnation;
  network_.later(peer_, world_.chance.around(world_.plan.lease / 2), [this] { start(); });
}

void Worker::pause(Duration time) {
  if (peer_.paused_until > world_.now()) return;
  world_.fault(id_ + " is paused");
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
  restart_if_drained();
}

void Worker::restart_if_drained() {
  if (!is_draining_ || !runs_.empty() || id_.empty()) return;
  // It waits for the response to its last claim or hangs up; the latter only without a token of its own, since no node
  // would release the tasks of that token.
  if (is_claiming_ && (has_own_token_ || world_.chance.happens(0.5))) return;
  start();
}

// ---- Claims ----

void Worker::claim_tasks() {
  const int room = world_.plan.slots - static_cast<int>(runs_.size());
  if (is_claiming_ || is_draining_ || id_.empty() || room <= 0) return;
  is_claiming_ = true;
  ClaimWish wish = new_wish(room);
  wish.once = has_own_token_ = world_.chance.happens(kOwnTokenShare);
  claim(wish);
}

ClaimWish Worker::new_wish(int room) {
  ClaimWish wish{
      .owner = id_, .queues = {}, .max = world_.chance.between(1, room), .token = world_.ids.next(), .lease = lease_};
  for (int queue = 0; queue < world_.plan.queues; ++queue) wish.queues.push_back(fmt::format("queue-{}", queue));
  return wish;
}

// For the call that settles a task, whose slot is free then.
std::optional<ClaimWish> Worker::next_claim() {
  if (is_claiming_ || is_draining_ || !world_.chance.happens(kExchangeShare)) return std::nullopt;
  is_claiming_ = has_own_token_ = true;
  ClaimWish wish = new_wish(world_.plan.slots - static_cast<int>(runs_.size()) + 1);
  wish.once = true;
  return wish;
}

void Worker::claim(const ClaimWish& wish) {
  const Duration wait = world_.plan.lease * 3;
  // With a token of its own it may time out before the node does, even while the node's claim is in progress: the tasks
  // of that claim are then found by the token at another node. Tasks of a claim that is not repeated expire, so this
  // happens in chaos only.
  const bool is_hasty = wish.once && world_.in_chaos();
  const bool is_rash = is_hasty && world_.chance.happens(0.5);
  const Duration patience = is_rash    ? world_.chance.around(kAtOnce)
                            : is_hasty ? world_.chance.around(world_.plan.lease / 4)
                                       : wait + world_.plan.lease / 2;
  network_.call<std::vector<LeasedTask>>(
      peer_, network_.any_node(), {.timeout = patience, .may_repeat = wish.once},
      [wish, wait](NodeLife& node, const Network::Reply<std::vector<LeasedTask>>& reply) {
        node.wait_for_tasks(wish, wait, reply);
      },
      [this, wish, is_rash](Result<std::vector<LeasedTask>> tasks) {
        const bool repeats = !tasks.ok() && wish.once;
        const Duration pause = is_rash ? Duration::zero() : soon();
        if (repeats) return network_.later(peer_, pause, [this, wish] { claim(wish); });
        take(std::move(tasks));
      });
}

void Worker::take(Result<std::vector<LeasedTask>> tasks) {
  is_claiming_ = false;
  if (tasks.ok()) {
    for (const LeasedTask& task : *tasks) begin(task);
  }
  restart_if_drained();
  network_.later(peer_, tasks.ok() ? std::chrono::milliseconds(1) : soon(), [this] { claim_tasks(); });
}

void Worker::begin(const LeasedTask& task) {
  const RunKey key{task.id, task.attempt};
  runs_[key] = {.task = task};
  if (is_draining_) {
    runs_[key].is_ending = true;
    return send_end(key, settlement(Event::kRelease, task));
  }
  world_.record(WorkBegins{task.id, task.attempt});
  const bool is_long = world_.chance.happens(kLongShare);
  const Duration work = world_.chance.around(is_long ? world_.plan.lease * 3 : world_.plan.work);
  network_.later(peer_, work, [this, key] { finish(key); });
  network_.later(peer_, lease_ / 3, [this, key] { beat(key); });
}

// ---- Settlements ----

Settlement Worker::settlement(Event event, const LeasedTask& task) const {
  return {.event = event, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = id_, .lease = lease_};
}

void Worker::beat(const RunKey& key) {
  const auto run = runs_.find(key);
  if (run == runs_.end() || (is_draining_ && HORAE_MUTANT("heartbeats_stop_in_drain"))) return;
  Settlement heartbeat = settlement(Event::kHeartbeat, run->second.task);
  if (world_.chance.happens(0.3)) heartbeat.progress = world_.chance.unit();
  if (world_.chance.happens(0.1)) heartbeat.checkpoint = "{}";
  network_.call<SettleOutcome>(
      peer_, network_.any_node(), {.timeout = lease_ / 8, .may_repeat = true},
      [heartbeat](NodeLife& node, const Network::Reply<SettleOutcome>& reply) { node.settle(heartbeat, reply); },
      [this, key](Result<SettleOutcome> outcome) {
        const bool is_lost = outcome.ok() && !is_success(outcome->verdict);
        const auto found = runs_.find(key);
        if (found == runs_.end()) return;
        if (is_lost && !found->second.is_ending && !world_.chance.happens(kStubbornShare)) return forget(key);
        network_.later(peer_, outcome.ok() ? lease_ / 3 : soon(), [this, key] { beat(key); });
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
  const Settlement end = draw_end(run->second.task);
  send_end(key, end, next_claim());
}

// Repeats the same call until it is acknowledged, since the request or the response may be lost.
void Worker::send_end(const RunKey& key, const Settlement& end, const std::optional<ClaimWish>& next) {
  network_.call<Claimer::Answer>(
      peer_, network_.any_node(), {.timeout = lease_ / 8, .may_repeat = true},
      [end, next](NodeLife& node, const Network::Reply<Claimer::Answer>& reply) { node.exchange(end, next, reply); },
      [this, key, end, next](Result<Claimer::Answer> answer) {
        if (!answer.ok()) return network_.later(peer_, soon(), [this, key, end, next] { send_end(key, end, next); });
        if (is_success(answer->settled.front()->verdict)) world_.record(EndAcknowledged{end.id, end.attempt});
        if (next) take(std::move(answer->tasks));
        forget(key);
      });
}

void Worker::forget(const RunKey& key) {
  runs_.erase(key);
  restart_if_drained();
  claim_tasks();
}

}  // namespace horae::sim
