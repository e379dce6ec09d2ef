#include "bench/postgres_floor.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include "base/check.h"

namespace horae::bench {
namespace {

constexpr const char* kSchema = "bench_floor";
constexpr std::int16_t kQueue = 1;
constexpr double kLeaseSeconds = 60;
constexpr std::int64_t kBlock = 4096;
constexpr std::int16_t kCompleted = 2;
constexpr std::int32_t kAccepted = 1;

constexpr const char* kTables = R"sql(
drop schema if exists bench_floor cascade;
create schema bench_floor;

-- A block is 4,096 numbers; 2^28 of them are a day's.
create sequence task_block minvalue 0 maxvalue 268435455 cycle;
create sequence lease_part;

create table task (
  seq        bigint      not null primary key,
  id         uuid        not null,
  rank       bigint      not null,
  run_at     timestamptz not null,
  created_at timestamptz not null default now(),
  queue      smallint    not null,
  priority   smallint    not null,
  spec       text        not null
) partition by range (seq);

create table outcome (
  lo          bigint      not null primary key,
  hi          bigint      not null,
  started_at  timestamptz,
  finished_at timestamptz not null,
  attempt     int         not null,
  state       smallint    not null,
  owner       text,
  results     text,
  check (hi >= lo and hi < lo + 64)
) partition by range (lo);

create table run (
  queue   smallint not null,
  rank    bigint   not null,
  lo      bigint   not null,
  hi      bigint   not null,
  attempt int      not null default 0,
  check (lo <= hi)
);
create index run_order on run (queue, rank, lo);

create table delayed (
  due     timestamptz not null,
  queue   smallint    not null,
  rank    bigint      not null,
  lo      bigint      not null primary key,
  hi      bigint      not null,
  attempt int         not null default 0,
  check (lo <= hi)
);
create index delayed_due on delayed (due);

-- Named (lo, attempt): lo is the first number of the claimed piece and never changes; open is what is not settled yet.
create table lease (
  lo         bigint         not null,
  attempt    int            not null,
  part       bigint         not null default nextval('lease_part'),
  queue      smallint       not null,
  rank       bigint         not null,
  open       int8multirange not null,
  expires    timestamptz    not null,
  started_at timestamptz    not null,
  owner      text           not null,
  primary key (lo, attempt, part),
  check (not isempty(open) and lower(open) >= lo and upper(open) <= lo + 64)
);
create index lease_expires on lease (expires);

do $$
declare
  day bigint := floor(extract(epoch from now()) / 86400);
begin
  execute format('create table task_today partition of task for values from (%s) to (%s)', day << 40, (day + 1) << 40);
  execute format('create table outcome_today partition of outcome for values from (%s) to (%s)',
                 day << 40, (day + 1) << 40);
end $$;
create unique index on task_today (id);
)sql";

// The first number of a new block: day << 40 | counter.
constexpr const char* kTakeBlock = R"sql(
select (floor(extract(epoch from now()) / 86400)::bigint << 40) | (nextval('task_block') << 12)
)sql";

// Takes no locks that other statements wait for: only inserts.
// $1 numbers, $2 queue, $3 ids, $4 priorities, $5 ranks, $6 specs; the runs: $7 ranks, $8 first, $9 last numbers
constexpr const char* kSubmit = R"sql(
with stored as (
  insert into task (seq, id, rank, run_at, queue, priority, spec)
  select seq, id, rank, now(), $2::smallint, priority, spec
  from unnest($1::bigint[], $3::uuid[], $4::smallint[], $5::bigint[], $6::text[])
    as fresh (seq, id, priority, rank, spec)
)
insert into run (queue, rank, lo, hi)
select $2::smallint, rank, lo, hi
from unnest($7::bigint[], $8::bigint[], $9::bigint[]) as fresh (rank, lo, hi)
)sql";

// Reads the head of run_order and skips rows that another claim has locked. Runs are deleted and inserted, never updated
// (an updated one was handed out twice). Pieces of at most 64 become leases.
// $1 queue, $2 at most so many tasks, $3 owner, $4 seconds of the lease, $5 at most so many runs
constexpr const char* kClaim = R"sql(
with head as (
  delete from run
  where ctid = any (array(
    select ctid from run where queue = $1::smallint order by rank, lo limit $5::int for update skip locked))
  returning *
),
cut as (
  select *,
         least(hi, lo + $2::int - 1 - coalesce(
           sum(hi - lo + 1) over (order by rank, lo rows between unbounded preceding and 1 preceding), 0))::bigint
           as upto
  from head
),
rest as (
  insert into run (queue, rank, lo, hi, attempt)
  select queue, rank, greatest(lo, upto + 1), hi, attempt from cut where upto < hi
),
given as (
  insert into lease (lo, attempt, queue, rank, open, expires, started_at, owner)
  select piece, attempt + 1, queue, rank, int8multirange(int8range(piece, least(piece + 63, upto), '[]')),
         now() + $4::float8 * interval '1s', now(), $3::text
  from cut, generate_series(lo, upto, 64) as piece
  returning lo, attempt, upper(open) - 1 as hi
)
select given.lo, task.seq, task.id, given.attempt, task.spec
from given cross join lateral (select * from task where seq between given.lo and given.hi offset 0) as task
)sql";

// Locks the leases by their primary key in the order (lo, attempt, part), like every statement. One verdict for each
// entry: 1 accepted, 0 refused for good, 2 not now. Entries with state 0 would go to `delayed`; the bench has none, and
// unnest fills their missing times up with nulls.
// $1 first, $2 last numbers, $3 attempts, $4 leases (their lo), $5 states, $6 results, $7 owner
constexpr const char* kSettle = R"sql(
with entry as (
  select *, int8range(lo, hi, '[]') as piece
  from unnest($1::bigint[], $2::bigint[], $3::int[], $4::bigint[], $5::smallint[], $6::text[], '{}'::timestamptz[])
    with ordinality as given (lo, hi, attempt, lease, state, results, again, ord)
  order by lease, attempt, lo
),
held as (
  select entry.*, mine.part, mine.queue, mine.rank, mine.started_at, mine.open,
         coalesce(entry.piece <@ mine.open, false) as fits,
         max(case when entry.piece <@ mine.open then entry.hi end)
           over (order by entry.lo, entry.ord rows between unbounded preceding and 1 preceding) as before
  from entry
  left join lateral (
    select * from lease
    where lease.lo = entry.lease and lease.attempt = entry.attempt and lease.owner = $7::text
    order by lease.part for update) as mine on true
),
judged as materialized (
  select *, fits and coalesce(before < lo, true) as took from held
),
rest as materialized (
  select lease, attempt, part, open - range_agg(piece) as open
  from judged where took group by lease, attempt, part, open
),
gone as (
  delete from lease
  where lo = any (array(select lease from rest where isempty(open)))
    and part + 0 = any (array(select part from rest where isempty(open)))
),
less as (
  update lease set open = rest.open
  from rest
  where lease.lo = any (array(select lease from rest where not isempty(open)))
    and lease.lo = rest.lease and lease.attempt = rest.attempt and lease.part = rest.part and not isempty(rest.open)
),
done as (
  insert into outcome (lo, hi, started_at, finished_at, attempt, state, owner, results)
  select lo, hi, started_at, now(), attempt, state, $7::text, results from judged where took and state <> 0
),
again as (
  insert into delayed (due, queue, rank, lo, hi, attempt)
  select greatest(again, now()), queue, rank, lo, hi, attempt from judged where took and state = 0
)
select case
         when bool_or(took) then 1
         when exists (select from lease
                      where lease.lo = judged.lease and lease.attempt = judged.attempt and lease.owner = $7::text
                        and lease.open && judged.piece) then 2
         else 0
       end as verdict
from judged group by ord, lease, attempt, piece
)sql";

// Entries of a settle: neighbours of one lease in one range.
struct Ranges {
  std::vector<std::int64_t> lo;
  std::vector<std::int64_t> hi;
  std::vector<std::int32_t> attempt;
  std::vector<std::int64_t> lease;
  std::vector<std::string> results;

  void add(const YardstickClaim& task) {
    if (!lo.empty() && lease.back() == task.lease && attempt.back() == task.attempt && hi.back() + 1 == task.number) {
      hi.back() = task.number;
      results.back() += ",{}";
      return;
    }
    lo.push_back(task.number);
    hi.push_back(task.number);
    attempt.push_back(task.attempt);
    lease.push_back(task.lease);
    results.emplace_back("[{}");
  }
};

}  // namespace

void PostgresFloor::create_tables(const std::string& url) { BareConnection(url, kSchema).execute(kTables); }

PostgresFloor::PostgresFloor(const std::string& url, std::string_view owner, int max_runs)
    : connection_(url, kSchema), owner_(owner), max_runs_(max_runs) {
  connection_.prepare("take_block", kTakeBlock);
  connection_.prepare("submit", kSubmit);
  connection_.prepare("claim", kClaim);
  connection_.prepare("settle", kSettle);
}

void PostgresFloor::reserve_numbers(std::int64_t count) {
  HORAE_CHECK(count <= kBlock, "a run fits in a block");
  if (end_of_block_ - next_number_ >= count) return;
  next_number_ = connection_.run("take_block").int64(0, 0);
  end_of_block_ = next_number_ + kBlock;
}

std::int64_t PostgresFloor::take_numbers(std::int64_t count) {
  reserve_numbers(count);
  return std::exchange(next_number_, next_number_ + count);
}

BareRows PostgresFloor::send_submit(std::span<const YardstickTask> tasks) {
  const std::int64_t second = clock_.wall_now().time_since_epoch() / std::chrono::seconds(1);
  std::map<int, std::vector<const YardstickTask*>, std::greater<>> groups;
  for (const YardstickTask& task : tasks) groups[task.priority].push_back(&task);

  std::vector<std::int64_t> numbers, ranks, run_ranks, run_lo, run_hi;
  std::vector<std::int16_t> priorities;
  std::vector<Uuid> ids;
  std::vector<std::string_view> specs;
  for (const auto& [priority, group] : groups) {
    const auto count = static_cast<std::int64_t>(group.size());
    std::int64_t number = take_numbers(count);
    run_ranks.push_back(second - priority);
    run_lo.push_back(number);
    run_hi.push_back(number + count - 1);
    for (const YardstickTask* task : group) {
      numbers.push_back(number++);
      ids.push_back(ids_.next());
      priorities.push_back(static_cast<std::int16_t>(priority));
      ranks.push_back(second - priority);
      specs.emplace_back(task->spec);
    }
  }
  return connection_.run("submit", numbers, kQueue, ids, priorities, ranks, specs, run_ranks, run_lo, run_hi);
}

BareRows PostgresFloor::send_claim(int max) {
  return connection_.run("claim", kQueue, max, std::string_view(owner_), kLeaseSeconds, std::min(max, max_runs_));
}

BareRows PostgresFloor::send_complete(std::span<const YardstickClaim> tasks) {
  Ranges ranges;
  for (const YardstickClaim& task : tasks) ranges.add(task);
  for (std::string& results : ranges.results) results += "]";
  const std::vector<std::int16_t> states(ranges.lo.size(), kCompleted);
  const std::vector<std::string_view> results(ranges.results.begin(), ranges.results.end());
  return connection_.run("settle", ranges.lo, ranges.hi, ranges.attempt, ranges.lease, states, results,
                         std::string_view(owner_));
}

namespace {

std::vector<YardstickClaim> read_claimed(const BareRows& rows) {
  std::vector<YardstickClaim> claimed;
  claimed.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    claimed.push_back({.id = rows.uuid(row, 2),
                       .attempt = rows.int32(row, 3),
                       .number = rows.int64(row, 1),
                       .lease = rows.int64(row, 0),
                       .spec = std::string(rows.text(row, 4))});
  }
  return claimed;
}

void check_completed(const BareRows& verdicts) {
  for (int row = 0; row < verdicts.size(); ++row) {
    HORAE_CHECK(verdicts.int32(row, 0) == kAccepted, "a claimed task can be completed");
  }
}

}  // namespace

void PostgresFloor::submit(std::span<const YardstickTask> tasks) { (void)send_submit(tasks); }

std::vector<YardstickClaim> PostgresFloor::claim(int max) { return read_claimed(send_claim(max)); }

void PostgresFloor::complete(std::span<const YardstickClaim> tasks) { check_completed(send_complete(tasks)); }

std::vector<YardstickClaim> PostgresFloor::exchange(std::span<const YardstickClaim> done,
                                                    std::span<const YardstickTask> tasks, int max) {
  reserve_numbers(static_cast<std::int64_t>(tasks.size()));
  connection_.gather();
  (void)send_complete(done);
  (void)send_submit(tasks);
  (void)send_claim(max);
  const auto answers = connection_.finish();
  check_completed(answers[0]);
  return read_claimed(answers[2]);
}

}  // namespace horae::bench
