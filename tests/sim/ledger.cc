#include "tests/sim/ledger.h"

#include <algorithm>

namespace horae::sim {
namespace {

std::tuple<std::int64_t, std::int64_t, std::int64_t> order_of(const Life& life) {
  return {life.rank, life.ready_second, life.born.number};
}

}  // namespace

std::int64_t second_of(Instant at) { return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count(); }

void QueueLedger::set(const QueueSettings& wanted, Instant at) {
  base = points_at(second_of(at));
  since = second_of(at);
  if (settings.paused && !wanted.paused) claimable_since = at;
  settings = wanted;
}

Life& Ledger::add(const Submitted& born, Instant at, int node) {
  Life& life = lives_[born.task];
  life = Life{.born = born};
  const Instant run_at = born.wish.run_at.value_or(at);
  if (run_at > at) {
    make_scheduled(life, run_at, at);
  } else {
    life.run_at = run_at;
    make_ready(life, at, node);
  }
  if (born.owner) make_running(life, *born.owner, born.lease, at);
  return life;
}

Life* Ledger::find(const TaskId& id) {
  const auto found = lives_.find(id);
  return found == lives_.end() ? nullptr : &found->second;
}

bool QueueLedger::had_others(int node, Instant after) const {
  const auto is_ready = [&](const auto& each) { return each.first != node && !each.second.empty(); };
  const auto has_left = [&](const auto& each) { return each.first != node && each.second >= after; };
  return std::ranges::any_of(ready_at_node, is_ready) || std::ranges::any_of(last_left_of_node, has_left);
}

void Ledger::leave(Life& life, Instant at) {
  QueueLedger& home = queue(life.born.wish.queue);
  scheduled_.erase({life.run_at, {life.born.number, &life}});
  running_.erase(life.born.number);
  home.ready.erase(order_of(life));
  if (home.ready_at_node[life.ready_node].erase({life.ready_at, life.born.number}) > 0) {
    home.last_left_of_node[life.ready_node] = at;
  }
  life.updated = at;
}

void Ledger::make_scheduled(Life& life, Instant run_at, Instant at) {
  leave(life, at);
  life.state = State::kScheduled;
  life.run_at = run_at;
  scheduled_.insert({run_at, {life.born.number, &life}});
}

void Ledger::make_ready(Life& life, Instant at, int node) {
  leave(life, at);
  life.ready_second = second_of(at);
  life.rank = queue(life.born.wish.queue).points_at(life.ready_second) - life.born.wish.priority;
  enter_ready(life, at, node);
}

void Ledger::return_to_ready(Life& life, Instant at, int node) {
  leave(life, at);
  enter_ready(life, at, node);
}

void Ledger::enter_ready(Life& life, Instant at, int node) {
  QueueLedger& home = queue(life.born.wish.queue);
  life.state = State::kReady;
  life.ready_at = at;
  life.ready_node = node;
  home.ready.emplace(order_of(life), &life);
  home.ready_at_node[node].insert({at, life.born.number});
}

void Ledger::make_running(Life& life, const std::string& owner, Duration lease, Instant at) {
  leave(life, at);
  life.state = State::kRunning;
  life.attempts.push_back({.owner = owner, .at = at});
  running_.emplace(life.born.number, &life);
  extend(life, lease, at);
}

void Ledger::finish(Life& life, State state, Instant at) {
  leave(life, at);
  life.state = state;
}

void Ledger::extend(Life& life, Duration lease, Instant at) {
  life.granted = at;
  life.lease = lease;
  life.lease_expires = at + std::chrono::ceil<std::chrono::microseconds>(lease);
}

}  // namespace horae::sim
