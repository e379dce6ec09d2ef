#include "stores/postgres/cluster.h"

#include <algorithm>

#include "stores/postgres/bulletin.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/upkeep_parts.h"

namespace horae::postgres {
namespace {

constexpr Duration kForgetEach = std::chrono::minutes(10);

// All that a node says and asks each second.
//   It writes only what has changed or is too old, because ticks may come ten times a second, and names are sorted, so
//   that two nodes do not wait for each other in a circle.
//   It reads by primary keys and by scheduled_due, running_expires and ready_order, from whose beginnings it takes one row.
//   Nothing of it has to outlive a crash: it does not wait for the disk, nor for standbys.
const Sql kTick{
    "tick",
    "with wish as materialized (select distinct name from unnest($5::text[]) as w(name)),"
    " here as ("
    "  insert into node (id, address, version, wants_hints, started_at, last_seen)"
    "   select $1, $2, $3, $4, horae_now(), horae_now()"
    "   where not exists (select from node where id = $1 and address = $2 and version = $3 and wants_hints = $4"
    "    and last_seen > horae_now() - interval '900 milliseconds')"
    "   on conflict (id) do update set address = excluded.address, version = excluded.version,"
    "    wants_hints = excluded.wants_hints, last_seen = excluded.last_seen),"
    " waiting as ("
    "  insert into awaited (queue, at)"
    "   select name, horae_now() from wish where not exists (select from awaited where awaited.queue = wish.name"
    "    and awaited.at > horae_now() - $6::bigint / 1000 * interval '1 microsecond')"
    "   order by name on conflict (queue) do update set at = excluded.at)"
    " select horae_now(), peers.count, peers.want_hints,"
    "  (select due from scheduled order by due limit 1),"
    "  (select expires from running order by expires limit 1) is not null,"
    "  array(select q.name from wish join queue as q on q.name = wish.name and not q.paused"
    "   cross join lateral (select from ready where ready.queue = q.no"
    "    order by ready.queue, ready.rank, ready.at, ready.lo + 0 limit 1) as r"
    "   where not control.stopped order by q.name),"
    "  control.token_version, set_config('synchronous_commit', 'off', true)"
    " from control,"
    "  (select count(*), coalesce(bool_or(wants_hints), false) as want_hints from node"
    "   where id <> $1 and last_seen >= horae_now() - $7::bigint / 1000 * interval '1 microsecond') as peers"};

const Sql kForgetNodes{"forget_nodes",
                       "delete from node where last_seen < horae_now() - $1::bigint / 1000 * interval '1 microsecond'"};
// Names come from workers, and anything may be waited for.
const Sql kForgetAwaited{"forget_awaited",
                         "delete from awaited where at < horae_now() - $1::bigint / 1000 * interval '1 microsecond'"
                         " and not exists (select from queue where queue.name = awaited.queue)"};

const Sql kNodes{"nodes",
                 "select id, address, version, started_at, last_seen from node"
                 " where last_seen >= horae_now() - $1::bigint / 1000 * interval '1 microsecond'"
                 " order by started_at, id collate \"C\""};
const Sql kLeave{"leave", "delete from node where id = $1"};
const Sql kLastAwaited{"last_awaited", "select at from awaited where queue = $1"};

// The range of the task by the primary key; those before it by ready_order, from the head of the queue on: no more than
// $2 ranges are read, and each has one task at least.
const Sql kAhead{"ahead",
                 "select mine.task - mine.lo + coalesce((select sum(before.hi - before.lo + 1)::bigint from ("
                 "  select lo, hi from ready where ready.queue = mine.queue"
                 "   and (ready.rank, ready.at, ready.lo + 0) < (mine.rank, mine.at, mine.lo)"
                 "   order by ready.queue, ready.rank, ready.at, ready.lo + 0 limit $2::bigint) as before), 0)"
                 " from (select $1::bigint as task, * from ready where lo > $1::bigint - 64 and lo <= $1::bigint"
                 "  order by lo desc limit 1) as mine where mine.hi >= $1::bigint"};

std::vector<std::string> names_in(const std::vector<std::optional<std::string>>& texts) {
  std::vector<std::string> names;
  for (const auto& text : texts) names.push_back(text.value_or(""));
  return names;
}

Tick read_tick(const Row& row) {
  const Instant now = row.instant(0);
  return {.now = now,
          .peers = static_cast<std::size_t>(row.integer(1)),
          .peers_want_hints = row.boolean(2),
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
          transaction.send(kTick, Params::of(self.id, self.address, self.version, wish.wants_hints, wish.awaited,
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
