#include "stores/postgres/cluster.h"

#include <algorithm>

#include "stores/postgres/bulletin.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/upkeep_parts.h"

namespace horae::postgres {
namespace {

constexpr Duration kForgetEach = std::chrono::minutes(10);

const Sql kTick = statement("tick");
const Sql kForgetNodes = statement("forget_nodes", Changes::kAny);
const Sql kForgetAwaited = statement("forget_awaited", Changes::kAny);
const Sql kNodes = statement("nodes");
const Sql kLeave = statement("leave", Changes::kAny);
const Sql kLastAwaited = statement("last_awaited");
const Sql kAhead = statement("ahead");

std::vector<std::string> names_in(const std::vector<std::optional<std::string>>& texts) {
  std::vector<std::string> names;
  for (const auto& text : texts) names.push_back(text.value_or(""));
  return names;
}

Tick read_tick(const Row& row) {
  const Instant now = row.instant(0);
  return {.now = now,
          .peers = static_cast<std::size_t>(row.integer(1)),
          .peers_want_events = row.boolean(2),
          .next_due_in = time_left(row.optional_instant(3), now),
          .has_leases = row.boolean(4),
          .ready = names_in(row.texts(5)),
          .token_version = row.integer(6)};
}

}  // namespace

bool Cluster::is_time_to_forget() {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (now < next_forgetting_) return false;
  next_forgetting_ = now + kForgetEach;
  return true;
}

Result<Tick> Cluster::tick(const TickWish& wish) {
  const bool forgets = is_time_to_forget();
  return database_.run([&] {
    return pool_.alone<Tick>([&](Transaction& transaction) -> Result<Tick> {
      const NodeRecord& self = wish.self;
      const std::size_t ticket =
          transaction.send(kTick, Params::of(self.id, self.address, self.version, wish.wants_events, wish.awaited,
                                             kAwaitedIsNotedEach, kNodeIsGoneAfter));
      if (forgets) {
        transaction.send(kForgetNodes, Params::of(kNodeIsForgottenAfter));
        transaction.send(kForgetAwaited, Params::of(kNodeIsForgottenAfter));
      }
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      Tick tick = read_tick(transaction.rows(ticket)[0]);
      tick.moves = database_.changes();
      return tick;
    });
  });
}

Result<std::vector<NodeRecord>> Cluster::nodes() {
  return pool_.alone<std::vector<NodeRecord>>([&](Transaction& transaction) -> Result<std::vector<NodeRecord>> {
    const std::size_t ticket = transaction.send(kNodes, Params::of(kNodeIsForgottenAfter));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    std::vector<NodeRecord> records;
    for (const Row row : transaction.rows(ticket)) {
      records.push_back({.id = row.text(0),
                         .address = row.text(1),
                         .version = row.text(2),
                         .started_at = row.instant(3),
                         .last_seen = row.instant(4)});
    }
    return records;
  });
}

Result<void> Cluster::leave(std::string_view node) {
  const auto left = pool_.alone<bool>([&](Transaction& transaction) -> Result<bool> {
    transaction.send(kLeave, Params::of(node));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return true;
  });
  if (!left.ok()) return left.error();
  return {};
}

Result<std::optional<Instant>> Cluster::last_awaited(std::string_view queue) {
  return pool_.alone<std::optional<Instant>>([&](Transaction& transaction) -> Result<std::optional<Instant>> {
    const std::size_t ticket = transaction.send(kLastAwaited, Params::of(queue));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    const Rows& rows = transaction.rows(ticket);
    return rows.empty() ? std::nullopt : rows[0].optional_instant(0);
  });
}

Result<std::optional<std::size_t>> Cluster::ahead(const TaskId& id, std::size_t most) {
  using Answer = std::optional<std::size_t>;
  return pool_.look<Answer>([&](Transaction& transaction) -> Result<Answer> {
    const auto number = find_numbers(transaction, {id}).front();
    Rows rows;
    if (number) rows = transaction.run(kAhead, Params::of(*number, static_cast<std::int64_t>(most)));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    if (rows.empty()) return Answer();
    return Answer(std::min(static_cast<std::size_t>(rows[0].integer(0)), most));
  });
}

std::unique_ptr<Bulletin> Cluster::listen(Bulletin::Heard heard) {
  return make_bulletin(url_, pool_, std::move(heard));
}

}  // namespace horae::postgres
