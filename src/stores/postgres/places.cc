#include "stores/postgres/places.h"

#include <map>

namespace horae::postgres {
namespace {

// One array for each column. All have the same length.
struct LifeArrays {
  std::vector<std::int64_t> lo, hi;
  std::vector<std::int32_t> queue, attempt, tries;
  std::vector<std::optional<std::int32_t>> max_attempts;
  std::vector<std::optional<Duration>> recurring;
  std::vector<std::optional<Instant>> run_at;
  std::vector<std::optional<std::int16_t>> ended_event;
  std::vector<std::optional<std::string_view>> ended_owner;

  void add(const Life& life) {
    lo.push_back(life.range.lo);
    hi.push_back(life.range.hi);
    queue.push_back(life.queue);
    attempt.push_back(life.attempt);
    tries.push_back(life.tries);
    max_attempts.push_back(life.max_attempts);
    recurring.push_back(life.recurring);
    run_at.push_back(life.run_at);
    ended_event.push_back(life.ended ? std::optional(static_cast<std::int16_t>(life.ended->event)) : std::nullopt);
    ended_owner.push_back(life.ended ? std::optional<std::string_view>(life.ended->owner) : std::nullopt);
  }

  // $1 to $10.
  Params params() const {
    return Params::of(lo, hi, queue, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner);
  }
};

const Sql kInsertDelayed{
    "insert_delayed",
    "insert into delayed (lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, due,"
    " priority, updated_at)"
    " select lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, due, priority,"
    " coalesce(updated_at, horae_now())"
    " from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],"
    " $7::bigint[], $8::timestamptz[], $9::smallint[], $10::text[], $11::timestamptz[], $12::smallint[],"
    " $13::timestamptz[])"
    " as d(lo, hi, queue, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner, due, priority,"
    " updated_at)"};

const Sql kInsertRuns{
    "insert_runs",
    "insert into run (lo, hi, queue, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner, rank,"
    " at, updated_at)"
    " select lo, hi, queue, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner, rank, at,"
    " coalesce(updated_at, horae_now())"
    " from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],"
    " $7::bigint[], $8::timestamptz[], $9::smallint[], $10::text[], $11::bigint[], $12::bigint[], $13::timestamptz[])"
    " as d(lo, hi, queue, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner, rank, at,"
    " updated_at)"};

const Sql kInsertLeases{
    "insert_leases",
    "insert into lease (lo, hi, queue, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner, rank,"
    " at, owner, token, length, started_at, expires)"
    " select * from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],"
    " $7::bigint[], $8::timestamptz[], $9::smallint[], $10::text[], $11::bigint[], $12::bigint[], $13::text[],"
    " $14::uuid[], $15::bigint[], $16::timestamptz[], $17::timestamptz[])"};

const Sql kInsertOutcomes{
    "insert_outcomes",
    "insert into outcome (lo, hi, queue, attempt, tries, run_at, ended_event, ended_owner, state, owner, started_at,"
    " results, errors, cancel_reason, finished_at)"
    " select lo, hi, queue, attempt, tries, run_at, ended_event, nullif(ended_owner, owner), state, owner, started_at,"
    " results::text[], errors::text[], cancel_reason, horae_now()"
    " from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],"
    " $7::bigint[], $8::timestamptz[], $9::smallint[], $10::text[], $11::smallint[], $12::text[], $13::timestamptz[],"
    " $14::text[], $15::text[], $16::text[])"
    " as d(lo, hi, queue, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner, state, owner,"
    " started_at, results, errors, cancel_reason)"};

const Sql kCount{"count", "insert into tally select * from unnest($1::integer[], $2::smallint[], $3::bigint[])"};

const Sql kInsertTrail{
    "insert_trail",
    "insert into trail (lo, hi, kind, attempt, worker, started_at, at, progress, detail)"
    " select lo, hi, kind, attempt, worker, started_at, coalesce(at, horae_now()), progress, nullif(detail, '')"
    " from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::integer[], $5::text[], $6::timestamptz[],"
    " $7::timestamptz[], $8::double precision[], $9::text[])"
    " as d(lo, hi, kind, attempt, worker, started_at, at, progress, detail)"};

const Sql kDeleteDelayed{"delete_delayed", "delete from delayed where lo = any($1::bigint[])"};
const Sql kDeleteRuns{"delete_runs", "delete from run where lo = any($1::bigint[])"};
const Sql kDeleteLeases{"delete_leases", "delete from lease where lo = any($1::bigint[])"};

const Sql kResetProgress{
    "reset_progress",
    "update progress set progress = null from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)"
    " where seq >= r.lo and seq <= r.hi and progress is not null"};
const Sql kForgetProgress{"forget_progress",
                          "delete from progress using unnest($1::bigint[], $2::bigint[]) as r(lo, hi)"
                          " where seq >= r.lo and seq <= r.hi"};

void delete_by_lo(Transaction& transaction, const Sql& sql, const std::vector<std::int64_t>& los) {
  if (!los.empty()) transaction.send(sql, Params::of(los));
}

void count(Transaction& transaction, std::span<const OutcomeRange> ranges) {
  std::map<std::pair<int, State>, std::int64_t> counts;
  for (const OutcomeRange& each : ranges) counts[{each.life.queue, each.state}] += each.life.range.size();
  std::vector<std::int32_t> queue;
  std::vector<std::int16_t> state;
  std::vector<std::int64_t> n;
  for (const auto& [what, many] : counts) {
    queue.push_back(what.first);
    state.push_back(static_cast<std::int16_t>(what.second));
    n.push_back(many);
  }
  transaction.send(kCount, Params::of(queue, state, n));
}

}  // namespace

Life read_life(const Row& row, int column) {
  Life life{.range = {row.integer(column), row.integer(column + 1)},
            .queue = row.small(column + 2),
            .attempt = row.small(column + 3),
            .tries = row.small(column + 4),
            .recurring = row.optional_duration(column + 6),
            .run_at = row.optional_instant(column + 7),
            .ended = row.attempt_end(column + 8)};
  if (!row.is_null(column + 5)) life.max_attempts = row.small(column + 5);
  return life;
}

RunRange read_run(const Row& row, int column) {
  return {.life = read_life(row, column),
          .rank = row.integer(column + 10),
          .at = row.integer(column + 11),
          .updated_at = row.instant(column + 12)};
}

LeaseRange read_lease(const Row& row) {
  return {.life = read_life(row, 0),
          .rank = row.integer(10),
          .at = row.integer(11),
          .owner = row.text(12),
          .token = row.uuid(13),
          .length = row.duration(14),
          .started_at = row.instant(15),
          .expires = row.instant(16)};
}

void insert_delayed(Transaction& transaction, std::span<const DelayedRange> ranges) {
  if (ranges.empty()) return;
  LifeArrays lives;
  std::vector<Instant> due;
  std::vector<std::int16_t> priority;
  std::vector<std::optional<Instant>> updated_at;
  for (const DelayedRange& each : ranges) {
    lives.add(each.life);
    updated_at.push_back(each.updated_at);
    due.push_back(each.due);
    priority.push_back(static_cast<std::int16_t>(each.priority));
  }
  transaction.send(kInsertDelayed, lives.params().add(due).add(priority).add(updated_at));
}

void insert_runs(Transaction& transaction, std::span<const RunRange> ranges) {
  if (ranges.empty()) return;
  LifeArrays lives;
  std::vector<std::int64_t> rank, at;
  std::vector<std::optional<Instant>> updated_at;
  for (const RunRange& each : ranges) {
    lives.add(each.life);
    updated_at.push_back(each.updated_at);
    rank.push_back(each.rank);
    at.push_back(each.at);
  }
  transaction.send(kInsertRuns, lives.params().add(rank).add(at).add(updated_at));
}

void insert_leases(Transaction& transaction, std::span<const LeaseRange> ranges) {
  if (ranges.empty()) return;
  LifeArrays lives;
  std::vector<std::int64_t> rank, at;
  std::vector<std::string_view> owner;
  std::vector<Uuid> token;
  std::vector<Duration> length;
  std::vector<Instant> started_at, expires;
  for (const LeaseRange& each : ranges) {
    lives.add(each.life);
    rank.push_back(each.rank);
    at.push_back(each.at);
    owner.push_back(each.owner);
    token.push_back(each.token);
    length.push_back(each.length);
    started_at.push_back(each.started_at);
    expires.push_back(each.expires);
  }
  transaction.send(kInsertLeases,
                   lives.params().add(rank).add(at).add(owner).add(token).add(length).add(started_at).add(expires));
}

void insert_outcomes(Transaction& transaction, std::span<const OutcomeRange> ranges) {
  if (ranges.empty()) return;
  LifeArrays lives;
  std::vector<std::int16_t> state;
  std::vector<std::optional<std::string_view>> owner, results, errors, cancel_reason;
  std::vector<std::optional<Instant>> started_at;
  for (const OutcomeRange& each : ranges) {
    lives.add(each.life);
    state.push_back(static_cast<std::int16_t>(each.state));
    owner.emplace_back(each.owner);
    started_at.push_back(each.started_at);
    results.emplace_back(each.results);
    errors.emplace_back(each.errors);
    cancel_reason.emplace_back(each.cancel_reason);
  }
  transaction.send(kInsertOutcomes,
                   lives.params().add(state).add(owner).add(started_at).add(results).add(errors).add(cancel_reason));
  count(transaction, ranges);
}

void insert_trail(Transaction& transaction, std::span<const TrailRange> ranges) {
  if (ranges.empty()) return;
  std::vector<std::int64_t> lo, hi;
  std::vector<std::int16_t> kind;
  std::vector<std::int32_t> attempt;
  std::vector<std::string_view> worker, detail;
  std::vector<std::optional<Instant>> started_at, at;
  std::vector<std::optional<double>> progress;
  for (const TrailRange& each : ranges) {
    lo.push_back(each.range.lo);
    hi.push_back(each.range.hi);
    kind.push_back(static_cast<std::int16_t>(each.kind));
    attempt.push_back(each.attempt);
    worker.push_back(each.worker);
    started_at.push_back(each.started_at);
    at.push_back(each.at);
    progress.push_back(each.progress);
    detail.push_back(each.detail);
  }
  transaction.send(kInsertTrail, Params::of(lo, hi, kind, attempt, worker, started_at, at, progress, detail));
}

void delete_delayed(Transaction& transaction, const std::vector<std::int64_t>& los) {
  delete_by_lo(transaction, kDeleteDelayed, los);
}
void delete_runs(Transaction& transaction, const std::vector<std::int64_t>& los) {
  delete_by_lo(transaction, kDeleteRuns, los);
}
void delete_leases(Transaction& transaction, const std::vector<std::int64_t>& los) {
  delete_by_lo(transaction, kDeleteLeases, los);
}

void reset_progress(Transaction& transaction, const std::vector<Range>& ranges, bool also_checkpoint) {
  if (ranges.empty()) return;
  transaction.send(also_checkpoint ? kForgetProgress : kResetProgress, Params::of(los_of(ranges), his_of(ranges)));
}

std::string errors_text(const std::vector<TaskError>& errors) {
  ArrayText text;
  for (const TaskError& error : errors) {
    text.add(error.code);
    text.add(error.args);
    text.add(error.description);
  }
  return text.take();
}

std::vector<TaskError> read_errors(const Row& row, int column) {
  const auto texts = row.texts(column);
  std::vector<TaskError> errors;
  for (std::size_t i = 0; i + 2 < texts.size(); i += 3) {
    errors.push_back({texts[i].value_or(""), texts[i + 1].value_or(""), texts[i + 2].value_or("")});
  }
  return errors;
}

std::vector<std::int64_t> los_of(const std::vector<Range>& ranges) {
  std::vector<std::int64_t> los;
  for (const Range& range : ranges) los.push_back(range.lo);
  return los;
}

std::vector<std::int64_t> his_of(const std::vector<Range>& ranges) {
  std::vector<std::int64_t> his;
  for (const Range& range : ranges) his.push_back(range.hi);
  return his;
}

}  // namespace horae::postgres
