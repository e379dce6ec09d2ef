#include "stores/sqlite/cluster.h"

#include <algorithm>
#include <set>

#include "stores/sqlite/statements.h"
#include "stores/upkeep_parts.h"

namespace horae::sqlite {
namespace {

bool has_row(Statement& statement) {
  const bool found = statement.next();
  statement.finish();
  return found;
}

}  // namespace

Cluster::Cluster(Writer& writer)
    : writer_(writer),
      next_due_(writer.database(), statement("cluster_next_due")),
      has_lease_(writer.database(), statement("cluster_has_lease")),
      token_version_(writer.database(), statement("cluster_token_version")),
      has_ready_(writer.database(), statement("cluster_has_ready")),
      place_(writer.database(), statement("cluster_place")),
      before_(writer.database(), statement("cluster_before")) {}

Result<Tick> Cluster::tick(const TickWish& wish) {
  return writer_.transact<Tick>([&](Change& change) {
    note(wish, change.now());
    forget(change.now());
    Tick tick{.now = change.now()};
    count_peers(wish.self.id, tick);
    std::optional<Instant> next_due;
    if (next_due_.start().next()) next_due = next_due_.optional_instant(0);
    next_due_.finish();
    tick.next_due_in = time_left(next_due, change.now());
    tick.has_leases = has_row(has_lease_.start());
    tick.ready = ready_of(wish.awaited);
    if (token_version_.start().next()) tick.token_version = token_version_.integer(0);
    token_version_.finish();
    return tick;
  });
}

void Cluster::note(const TickWish& wish, Instant now) {
  Node& node = nodes_[wish.self.id];
  const Instant started_at = node.record.id.empty() ? now : node.record.started_at;
  node = {.record = wish.self, .wants_events = wish.wants_events};
  node.record.started_at = started_at;
  node.record.last_seen = now;
  for (const std::string& queue : wish.awaited) awaited_[queue] = now;
}

void Cluster::forget(Instant now) {
  const Instant oldest = now - std::chrono::floor<std::chrono::microseconds>(kNodeIsForgottenAfter);
  std::erase_if(nodes_, [&](const auto& each) { return each.second.record.last_seen < oldest; });
  std::erase_if(awaited_, [&](const auto& each) { return each.second < oldest && !writer_.find_queue(each.first); });
}

void Cluster::count_peers(const std::string& self, Tick& tick) const {
  for (const auto& [id, node] : nodes_) {
    if (id == self || distance(node.record.last_seen, tick.now) > kNodeIsGoneAfter) continue;
    ++tick.peers;
    tick.peers_want_events = tick.peers_want_events || node.wants_events;
  }
}

std::vector<std::string> Cluster::ready_of(const std::vector<std::string>& queues) {
  if (writer_.scheduler_stopped()) return {};
  std::vector<std::string> ready;
  for (const std::string& name : std::set<std::string>(queues.begin(), queues.end())) {
    const auto queue = writer_.find_queue(name);
    if (queue && !queue->paused && has_row(has_ready_.start(queue->no))) ready.push_back(name);
  }
  return ready;
}

Result<std::vector<NodeRecord>> Cluster::nodes() {
  return writer_.transact<std::vector<NodeRecord>>([&](Change& change) {
    forget(change.now());
    std::vector<NodeRecord> records;
    for (const auto& [id, node] : nodes_) records.push_back(node.record);
    std::ranges::stable_sort(records, {}, &NodeRecord::started_at);
    return records;
  });
}

Result<void> Cluster::leave(std::string_view node) {
  const auto left = writer_.transact<bool>([&](Change&) {
    std::erase_if(nodes_, [&](const auto& each) { return each.first == node; });
    return true;
  });
  if (!left.ok()) return left.error();
  return {};
}

Result<std::optional<Instant>> Cluster::last_awaited(std::string_view queue) {
  return writer_.transact<std::optional<Instant>>([&](Change&) {
    const auto found = awaited_.find(queue);
    return found == awaited_.end() ? std::nullopt : std::optional(found->second);
  });
}

Result<std::optional<std::size_t>> Cluster::ahead(const TaskId& id, std::size_t most) {
  return writer_.transact<std::optional<std::size_t>>([&](Change&) {
    std::optional<std::size_t> ahead;
    if (place_.start(id).next() &&
        before_.start(place_.integer(0), place_.integer(1), place_.integer(2), place_.integer(3), most).next()) {
      ahead = static_cast<std::size_t>(before_.integer(0));
    }
    before_.finish();
    place_.finish();
    return ahead;
  });
}

}  // namespace horae::sqlite
