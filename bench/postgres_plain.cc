#include "bench/postgres_plain.h"

#include "base/check.h"

namespace horae::bench {
namespace {

constexpr const char* kSchema = "bench_plain";
constexpr std::int16_t kQueue = 1;
constexpr double kLeaseSeconds = 60;

constexpr const char* kTables = R"sql(
drop schema if exists bench_plain cascade;
create schema bench_plain;

-- state: 0 ready, 1 running
create table task (
  id         uuid        not null primary key,
  run_at     timestamptz not null default now(),
  created_at timestamptz not null default now(),
  started_at timestamptz,
  expires    timestamptz,
  attempt    int         not null default 0,
  queue      smallint    not null,
  priority   smallint    not null,
  state      smallint    not null default 0,
  owner      text,
  spec       text        not null
);
create index task_ready on task (queue, priority desc, id) where state = 0;
create index task_expires on task (expires) where state = 1;

-- state: 2 completed
create table archive (
  id          uuid        not null primary key,
  run_at      timestamptz not null,
  created_at  timestamptz not null,
  started_at  timestamptz,
  finished_at timestamptz not null,
  attempt     int         not null,
  queue       smallint    not null,
  priority    smallint    not null,
  state       smallint    not null,
  owner       text,
  result      text,
  spec        text        not null
);
-- What retention and lists by queue need.
create index archive_finished on archive (queue, finished_at);
)sql";

// $1 queue, $2 ids, $3 priorities, $4 specs
constexpr const char* kSubmit = R"sql(
insert into task (id, queue, priority, spec)
select id, $1::smallint, priority, spec
from unnest($2::uuid[], $3::smallint[], $4::text[]) as fresh (id, priority, spec)
)sql";

// Reads the head of task_ready and skips rows that another claim has locked. ARRAY() makes sure that the inner select runs
// once and the outer rows are found by the primary key; a bare IN leaves both to the planner.
// $1 queue, $2 at most so many tasks, $3 owner, $4 seconds of the lease
constexpr const char* kClaim = R"sql(
update task
set state = 1, attempt = attempt + 1, owner = $3::text, started_at = now(),
    expires = now() + $4::float8 * interval '1s'
where id = any (array(
  select id from task
  where state = 0 and queue = $1::smallint
  order by priority desc, id limit $2::int for update skip locked))
returning id, attempt, spec
)sql";

// Finds the rows by the primary key. A task with an owner is running: a condition on the state could make the planner
// scan all running tasks by task_expires.
// $1 ids, $2 attempts, $3 results, $4 owner
constexpr const char* kComplete = R"sql(
with done as (
  delete from task
  using unnest($1::uuid[], $2::int[], $3::text[]) as given (id, attempt, result)
  where task.id = any ($1::uuid[]) and task.id = given.id and task.attempt = given.attempt and task.owner = $4::text
  returning task.*, given.result
)
insert into archive (id, run_at, created_at, started_at, finished_at, attempt, queue, priority, state, owner, result,
                     spec)
select id, run_at, created_at, started_at, now(), attempt, queue, priority, 2, owner, result, spec from done
)sql";

// The planner assumes ten elements for each array and would compare every task with every other: 1,000 took 260 ms.
constexpr const char* kJoinByHash = "set enable_nestloop = off";

}  // namespace

void PostgresPlain::create_tables(const std::string& url) { BareConnection(url, kSchema).execute(kTables); }

PostgresPlain::PostgresPlain(const std::string& url, std::string_view owner)
    : connection_(url, kSchema), owner_(owner) {
  connection_.execute(kJoinByHash);
  connection_.prepare("submit", kSubmit);
  connection_.prepare("claim", kClaim);
  connection_.prepare("complete", kComplete);
}

BareRows PostgresPlain::send_submit(std::span<const YardstickTask> tasks) {
  std::vector<Uuid> ids;
  std::vector<std::int16_t> priorities;
  std::vector<std::string_view> specs;
  for (const YardstickTask& task : tasks) {
    ids.push_back(ids_.next());
    priorities.push_back(static_cast<std::int16_t>(task.priority));
    specs.emplace_back(task.spec);
  }
  return connection_.run("submit", kQueue, ids, priorities, specs);
}

BareRows PostgresPlain::send_claim(int max) {
  return connection_.run("claim", kQueue, max, std::string_view(owner_), kLeaseSeconds);
}

BareRows PostgresPlain::send_complete(std::span<const YardstickClaim> tasks) {
  std::vector<Uuid> ids;
  std::vector<std::int32_t> attempts;
  for (const YardstickClaim& task : tasks) {
    ids.push_back(task.id);
    attempts.push_back(task.attempt);
  }
  const std::vector<std::string_view> results(tasks.size(), "{}");
  return connection_.run("complete", ids, attempts, results, std::string_view(owner_));
}

namespace {

std::vector<YardstickClaim> read_claimed(const BareRows& rows) {
  std::vector<YardstickClaim> claimed;
  claimed.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    claimed.push_back({.id = rows.uuid(row, 0), .attempt = rows.int32(row, 1), .spec = std::string(rows.text(row, 2))});
  }
  return claimed;
}

void check_completed(const BareRows& moved, std::span<const YardstickClaim> tasks) {
  HORAE_CHECK(moved.affected() == static_cast<std::int64_t>(tasks.size()), "a claimed task can be completed");
}

}  // namespace

void PostgresPlain::submit(std::span<const YardstickTask> tasks) { (void)send_submit(tasks); }

std::vector<YardstickClaim> PostgresPlain::claim(int max) { return read_claimed(send_claim(max)); }

void PostgresPlain::complete(std::span<const YardstickClaim> tasks) { check_completed(send_complete(tasks), tasks); }

std::vector<YardstickClaim> PostgresPlain::exchange(std::span<const YardstickClaim> done,
                                                    std::span<const YardstickTask> tasks, int max) {
  connection_.gather();
  (void)send_complete(done);
  (void)send_submit(tasks);
  (void)send_claim(max);
  const auto answers = connection_.finish();
  check_completed(answers[0], done);
  return read_claimed(answers[2]);
}

}  // namespace horae::bench
