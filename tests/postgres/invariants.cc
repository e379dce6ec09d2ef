#include "tests/postgres/invariants.h"

#include <libpq-fe.h>

#include "base/check.h"

namespace horae::testing {
namespace {

constexpr const char* kPlaces =
    "with place as (select 'scheduled' as name, lo, hi, queue from scheduled"
    " union all select 'ready', lo, hi, queue from ready"
    " union all select 'running', lo, hi, queue from running"
    " union all select 'finished', lo, hi, queue from finished),"
    " held as (select name, queue, generate_series(lo, hi) as number from place) ";

struct Rule {
  const char* says;
  const char* broken_by;  // after kPlaces
};

constexpr Rule kRules[] = {
    {"no two ranges overlap, in one table or in two",
     "select name, lo, hi, next_name, next_lo from (select name, lo, hi, lead(name) over w as next_name,"
     " lead(lo) over w as next_lo from place window w as (order by lo, hi, name)) as p where next_lo <= hi"},
    {"a range begins before it ends, and holds at most 64",
     "select name, lo, hi from place where hi < lo or hi >= lo + 64"},
    {"each number in a range has a task, of the same queue",
     "select n.name, n.number, n.queue, t.queue from held as n left join task as t on t.number = n.number"
     " where t.number is null or t.queue <> n.queue"},
    {"each task is somewhere", "select number from task except select number from held"},
    {"each task has its own id", "select id, count(*) from task group by id having count(*) > 1"},
    {"the tally agrees with the outcomes",
     "select queue, state, t.n, o.n from (select queue, state, sum(n) as n from tally group by queue, state) as t"
     " full join (select queue, state, sum(hi - lo + 1) as n from finished group by queue, state) as o"
     " using (queue, state) where coalesce(t.n, 0) <> coalesce(o.n, 0)"},
    {"what runs, and what has completed, has an owner and an attempt",
     "select 'running', lo, hi, attempt, owner from running where attempt < 1"
     " union all select 'finished', lo, hi, attempt, owner from finished"
     " where state in (3, 4) and (attempt < 1 or owner is null or started_at is null)"},
    {"a range brings as many results as it has tasks",
     "select lo, hi, array_length(results, 1) from finished where array_length(results, 1) <> hi - lo + 1"},
    {"each key leads to its task, and each task with a key has one",
     "select k.queue, k.key, k.number, t.number from task_key as k full join (select * from task where key is not "
     "null) as t"
     " on t.number = k.number and t.key = k.key and t.queue = k.queue where t.number is null or k.number is null"},
    {"each guarded id leads to its task",
     "select i.id, i.number from task_id as i left join task as t on t.number = i.number and t.id = i.id where "
     "t.number is null"},
    {"progress, turns and the trail are of tasks that exist",
     "select 'progress', number, number from progress where not exists (select from task where task.number = "
     "progress.number)"
     " union all select 'turn', number, number from turn where not exists (select from task where task.number = "
     "turn.number)"
     " union all select 'trail', lo, hi from trail where not exists"
     " (select from task where task.number >= trail.lo and task.number <= trail.hi)"},
};

}  // namespace

Observer::Observer(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  HORAE_CHECK(PQstatus(connection_) == CONNECTION_OK, PQerrorMessage(connection_));
}

Observer::~Observer() { PQfinish(connection_); }

Observer::Table Observer::ask(const std::string& sql) {
  PGresult* result = PQexec(connection_, sql.c_str());
  const auto status = PQresultStatus(result);
  HORAE_CHECK(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK, PQerrorMessage(connection_));
  Table table(static_cast<std::size_t>(PQntuples(result)));
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      table[static_cast<std::size_t>(row)].emplace_back(PQgetvalue(result, row, column));
    }
  }
  PQclear(result);
  return table;
}

std::string Observer::value(const std::string& sql) {
  const Table table = ask(sql);
  return table.empty() ? "" : table[0][0];
}

std::vector<std::string> broken_invariants(Observer& database) {
  std::vector<std::string> broken;
  for (const Rule& rule : kRules) {
    const auto examples = database.ask(kPlaces + std::string(rule.broken_by) + " limit 5");
    if (examples.empty()) continue;
    std::string line = rule.says + std::string(", but:");
    for (const auto& row : examples) {
      for (const std::string& value : row) line += ' ' + (value.empty() ? "null" : value);
      line += ';';
    }
    broken.push_back(std::move(line));
  }
  return broken;
}

std::map<TaskId, Stand> all_stands(Observer& database) {
  std::map<TaskId, Stand> stands;
  const auto rows = database.ask(
      "select t.id, p.state, p.attempt, p.owner from (select generate_series(lo, hi) as number, state, attempt, owner"
      " from place) as p join task as t on t.number = p.number");
  for (const auto& row : rows) {
    stands[parse_uuid(row[0]).value()] = {static_cast<State>(std::stoi(row[1])), std::stoi(row[2]), row[3]};
  }
  return stands;
}

PostgresStoreOptions quick_store_options() {
  return {.connections = 2,
          .allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"},
          .purge_delay = Duration::zero()};
}

std::string name_of_database(const std::string& url) { return url.substr(url.rfind('/') + 1); }

}  // namespace horae::testing
