// Layouts for delayed messages on PostgreSQL, by whole lives (enqueue, ready, remove) directly by libpq: the reasons for
// docs/internals/adr/0022-message-layout.md.
//
//   first   two partial indexes on the times of readying: the first table of Horae
//   hot     a row whose readying is a HOT update: the present one
//   slices  rows that are written once; what is ready is named by slices of their order
//
// usage: message_layouts [SECONDS [WAITING]]: so long for each measurement (4); so many messages wait far away meanwhile
// (100,000). One connection, batches of 500 messages of 200 bytes. `held`: another session holds a snapshot.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "bench/postgres_meter.h"
#include "bench/postgres_yardstick.h"
#include "tests/support/postgres_server.h"

namespace {

using namespace horae::bench;
using horae::testing::PostgresServer;

constexpr int kBatch = 500;

struct Layout {
  std::string_view name;
  const char* tables;
  const char* enqueue;  // $1 how many, $2 how long ahead they are due, s
  const char* ready;  // $1 how many; $2 the floor, in µs since 2000: answers what `remove` wants, and the last due time
  const char* remove;  // $1 what `ready` answered
};

// Ids are random, as those of applications mostly are.
#define HORAE_BENCH_MESSAGES                                                                     \
  "select gen_random_uuid()::text as id, clock_timestamp() + $2::float8 * interval '1 second' +" \
  " n * interval '1 microsecond' as due, repeat('x', 200)::bytea as value from generate_series(1, $1::integer) as n"

constexpr Layout kFirst{
    "first",
    "create table message (queue text not null, id text not null, deadline timestamptz not null, readied_at "
    "timestamptz,"
    " readied_by uuid, key bytea, value bytea, headers bytea not null, primary key (queue, id));"
    "create index message_waiting on message (queue, deadline, id) where readied_at is null;"
    "create index message_ready on message (queue, readied_at) where readied_at is not null",
    "insert into message (queue, id, deadline, value, headers) select 'orders', id, due, value, '' from "
    "(" HORAE_BENCH_MESSAGES ") as m order by id on conflict do nothing",
    "with due as materialized (select id from message where readied_at is null and queue = 'orders' and deadline <="
    " clock_timestamp() and $2::text::bigint is not null order by deadline, id limit $1::integer for update skip "
    "locked), taken as"
    " (update message set readied_at = clock_timestamp(), readied_by = '00000000-0000-0000-0000-000000000001' from due "
    "where"
    " message.queue = 'orders' and message.id = due.id and readied_at is null returning message.id, value)"
    " select array_agg(id)::text, 0::bigint, sum(length(value)) from taken",
    "delete from message using unnest($1::text::text[]) as w(id) where queue = 'orders' and message.id = w.id"
    " and readied_by = '00000000-0000-0000-0000-000000000001'"};

constexpr Layout kHot{
    "hot",
    "create table message (due timestamptz not null, deadline timestamptz not null, readied_at timestamptz,"
    " source_offset bigint, source_partition integer, may_be_published boolean not null default false, readied_by uuid,"
    " queue text collate \"C\" not null, id text collate \"C\" not null, headers text not null, key bytea, value bytea,"
    " primary key (queue, id)) with (fillfactor = 45);"
    "create index message_due on message (queue, due, id)",
    "insert into message (queue, id, deadline, due, value, headers) select 'orders', id, due, due, value, '[]'"
    " from (" HORAE_BENCH_MESSAGES ") as m order by id on conflict do nothing",
    "with due as materialized (select id from message where queue = 'orders' and due >= '2000-01-01 utc'::timestamptz +"
    " $2::text::bigint * interval '1 microsecond' and due <= clock_timestamp() and readied_at is null order by queue, "
    "due, id"
    " limit $1::integer for update skip locked), taken as (update message set readied_at = clock_timestamp(), "
    "readied_by ="
    " '00000000-0000-0000-0000-000000000001' from due where message.queue = 'orders' and message.id = due.id and "
    "readied_at"
    " is null returning message.id, message.due, value) select array_agg(id)::text,"
    " (extract(epoch from max(due) - '2000-01-01 utc') * 1000000)::bigint, sum(length(value)) from taken",
    "delete from message using unnest($1::text::text[]) as w(id) where queue = 'orders' and message.id = w.id"
    " and readied_by = '00000000-0000-0000-0000-000000000001'"};

constexpr Layout kSlices{
    "slices",
    "create table message (due timestamptz not null, no bigint generated always as identity, source_offset bigint,"
    " source_partition integer, queue text collate \"C\" not null, id text collate \"C\" not null, headers text not "
    "null,"
    " key bytea, value bytea, primary key (queue, id));"
    "create index message_due on message (queue, due, no);"
    "create table slice (no bigint generated always as identity primary key, queue text not null, lo timestamptz, "
    "lo_no bigint,"
    " hi timestamptz, hi_no bigint, at timestamptz, by uuid);"
    "create table frontier (queue text primary key, due timestamptz, no bigint);"
    "insert into frontier values ('orders', '-infinity', 0)",
    "with gate as materialized (select pg_advisory_xact_lock_shared(1)), f as materialized (select due from frontier, "
    "gate"
    " where queue = 'orders') insert into message (queue, id, due, value, headers) select 'orders', id, "
    "greatest(m.due, f.due),"
    " value, '[]' from (" HORAE_BENCH_MESSAGES ") as m, f order by id on conflict do nothing",
    "with gate as materialized (select pg_advisory_xact_lock(1)), f as materialized (select due, no from frontier, "
    "gate where"
    " queue = 'orders' and $2::text::bigint is not null), next as materialized (select due, no, value from message "
    "where queue ="
    " 'orders' and (due, no) > (select due, no from f) and due <= clock_timestamp() order by queue, due, no limit "
    "$1::integer),"
    " hi as (select due, no from next order by due desc, no desc limit 1), moved as (update frontier set due = hi.due, "
    "no ="
    " hi.no from hi where queue = 'orders'), made as (insert into slice (queue, lo, lo_no, hi, hi_no, at, by) select "
    "'orders',"
    " f.due, f.no, hi.due, hi.no, clock_timestamp(), '00000000-0000-0000-0000-000000000001' from f, hi returning no)"
    " select (select no from made)::text, 0::bigint, sum(length(value)) from next having count(*) > 0",
    "with gone as (delete from slice where no = $1::text::bigint returning lo, lo_no, hi, hi_no) delete from message "
    "using gone"
    " where queue = 'orders' and (message.due, message.no) > (lo, lo_no) and (message.due, message.no) <= (hi, hi_no)"};

struct Figures {
  double per_s = 0;
  double cpu_us = 0;
  double wal_bytes = 0;
};

// Lives for `seconds`: enqueue a batch that is due, ready it, remove it.
Figures live(const PostgresServer& server, BareConnection& connection, const std::string& url, double seconds) {
  PostgresMeter meter(url, server.pid());
  const ServerSpent before = meter.read();
  const Stopwatch watch;
  std::int64_t lives = 0;
  std::int64_t floor = 0;
  while (watch.read().wall_s < seconds) {
    (void)connection.run("enqueue", std::int32_t{kBatch}, -0.01);
    const BareRows taken = connection.run("ready", std::int32_t{kBatch}, std::to_string(floor));
    if (taken.size() == 0) continue;
    floor = taken.int64(0, 1);
    lives += connection.run("remove", taken.text(0, 0)).affected();
  }
  const double wall = watch.read().wall_s;
  const ServerSpent spent = meter.read() - before;
  const auto count = static_cast<double>(std::max<std::int64_t>(lives, 1));
  return {count / wall, spent.cpu_s * 1e6 / count, spent.wal_bytes / count};
}

void print(std::string_view layout, std::string_view when, const Figures& figures) {
  print_result(fmt::format("layout.{}.{}.per_s", layout, when), figures.per_s);
  print_result(fmt::format("layout.{}.{}.server_us", layout, when), figures.cpu_us);
  print_result(fmt::format("layout.{}.{}.wal_bytes", layout, when), figures.wal_bytes);
}

void measure(PostgresServer& server, const Layout& layout, double seconds, int waiting) {
  const std::string url = server.make_database();
  BareConnection connection(url, "public");
  connection.execute(layout.tables);
  connection.prepare("enqueue", layout.enqueue);
  connection.prepare("ready", layout.ready);
  connection.prepare("remove", layout.remove);
  for (int sent = 0; sent < waiting; sent += kBatch) (void)connection.run("enqueue", std::int32_t{kBatch}, 86'400.0);
  connection.execute("vacuum analyze");
  print(layout.name, "free", live(server, connection, url, seconds));
  BareConnection holder(url, "public");
  holder.execute("begin isolation level repeatable read; select count(*) from pg_class");
  print(layout.name, "held", live(server, connection, url, seconds));         // the first seconds of it
  print(layout.name, "held_longer", live(server, connection, url, seconds));  // and the next ones
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const double seconds = arguments.size() > 1 ? std::stod(arguments[1]) : 4.0;
  const int waiting = arguments.size() > 2 ? std::stoi(arguments[2]) : 100'000;
  PostgresServer server({.durable = true, .settings = {"max_wal_size = 8GB"}});
  for (const Layout& layout : {kFirst, kHot, kSlices}) measure(server, layout, seconds, waiting);
}
