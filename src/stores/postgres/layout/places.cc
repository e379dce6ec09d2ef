#include "stores/postgres/layout/places.h"

#include <map>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/values.h"

namespace horae::postgres {
namespace {

const ValuesStatement kInsertScheduled{statement("insert_scheduled", Changes::kEach)};
const ValuesStatement kInsertReady{statement("insert_ready", Changes::kEach)};
const ValuesStatement kInsertRunning{statement("insert_running", Changes::kEach)};
const ValuesStatement kInsertFinished{statement("insert_finished", Changes::kEach)};
const ValuesStatement kCount{statement("count_finished", Changes::kEach)};
const Sql kInsertTrail = statement("insert_trail", Changes::kEach);

const Sql kDeleteScheduled = statement("delete_scheduled", Changes::kEach);
const Sql kDeleteReady = statement("delete_ready", Changes::kEach);
const Sql kDeleteRunning = statement("delete_running", Changes::kEach);

const Sql kResetProgress = statement("reset_progress", Changes::kAny);
const Sql kForgetProgress = statement("forget_progress", Changes::kAny);

void add_end(Params& params, const std::optional<AttemptEnd>& ended) {
  params.add(ended ? std::optional(static_cast<std::int16_t>(ended->event)) : std::nullopt);
  params.add(ended ? std::optional<std::string_view>(ended->owner) : std::nullopt);
}

void add_life(Params& params, const Life& life) {
  params.add(life.range.lo).add(life.range.hi).add(std::int32_t{life.queue}).add(std::int32_t{life.attempt});
  params.add(std::int32_t{life.tries}).add(life.max_attempts).add(life.recurring);
  add_end(params, life.ended);
}

void delete_by_lo(Transaction& transaction, const Sql& sql, const std::vector<std::int64_t>& los) {
  if (!los.empty()) transaction.send(sql, Params::of(los));
}

void count(Transaction& transaction, std::span<const FinishedRange> ranges) {
  std::map<std::pair<int, State>, std::int64_t> counts;
  for (const FinishedRange& each : ranges) counts[{each.life.queue, each.state}] += each.life.range.size();
  kCount.send(transaction, counts, [](const auto& each, Params& params) {
    params.add(std::int32_t{each.first.first}).add(static_cast<std::int16_t>(each.first.second)).add(each.second);
  });
}

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

}  // namespace

ScheduledRange read_scheduled(const Row& row) {
  return {.life = read_life(row, 0), .due = row.instant(10), .priority = row.small(11), .updated_at = row.instant(12)};
}

ReadyRange read_ready(const Row& row, int column) {
  return {.life = read_life(row, column),
          .rank = row.integer(column + 10),
          .at = row.integer(column + 11),
          .updated_at = row.instant(column + 12)};
}

RunningRange read_running(const Row& row) {
  return {.life = read_life(row, 0),
          .rank = row.integer(10),
          .at = row.integer(11),
          .owner = row.text(12),
          .token = row.uuid(13),
          .length = row.duration(14),
          .started_at = row.instant(15),
          .expires = row.instant(16)};
}

void insert_scheduled(Transaction& transaction, std::span<const ScheduledRange> ranges) {
  kInsertScheduled.send(transaction, ranges, [](const ScheduledRange& each, Params& params) {
    add_life(params, each.life);
    params.add(each.due).add(each.due_in).add(static_cast<std::int16_t>(each.priority)).add(each.updated_at);
  });
}

void insert_ready(Transaction& transaction, std::span<const ReadyRange> ranges) {
  kInsertReady.send(transaction, ranges, [](const ReadyRange& each, Params& params) {
    add_life(params, each.life);
    params.add(each.life.run_at).add(each.rank).add(each.at).add(each.updated_at);
  });
}

Tickets insert_running(Transaction& transaction, std::span<const RunningRange> ranges) {
  return kInsertRunning.send(transaction, ranges, [](const RunningRange& each, Params& params) {
    add_life(params, each.life);
    params.add(each.life.run_at).add(each.rank).add(each.at).add(each.owner).add(each.token).add(each.length);
    params.add(each.begins ? std::nullopt : std::optional(each.started_at)).add(each.expires);
  });
}

void LeaseEnds::read(const Transaction& transaction, const Tickets& tickets) {
  for (const std::size_t ticket : tickets) {
    for (const Row row : transaction.rows(ticket)) ends_[row.integer(0)] = {row.integer(1), row.instant(2)};
  }
}

std::optional<Instant> LeaseEnds::of(std::int64_t number) const {
  auto next = ends_.upper_bound(number);
  if (next == ends_.begin()) return std::nullopt;
  const auto& [hi, expires] = (--next)->second;
  return number <= hi ? std::optional(expires) : std::nullopt;
}

void insert_finished(Transaction& transaction, std::span<const FinishedRange> ranges) {
  if (ranges.empty()) return;
  kInsertFinished.send(transaction, ranges, [](const FinishedRange& each, Params& params) {
    const Life& life = each.life;
    params.add(life.range.lo).add(life.range.hi).add(std::int32_t{life.queue}).add(std::int32_t{life.attempt});
    params.add(std::int32_t{life.tries}).add(life.run_at);
    // `owner` is the owner of the attempt that ended the task.
    auto ended = life.ended;
    const bool by_owner = ended && ended->owner == each.owner;
    params.add(ended ? std::optional(static_cast<std::int16_t>(ended->event)) : std::nullopt);
    params.add(ended && !by_owner ? std::optional<std::string_view>(ended->owner) : std::nullopt);
    params.add(static_cast<std::int16_t>(each.state)).add(each.owner).add(each.started_at);
    params.add(each.results).add(each.errors).add(each.cancel_reason);
  });
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

void delete_scheduled(Transaction& transaction, const std::vector<std::int64_t>& los) {
  delete_by_lo(transaction, kDeleteScheduled, los);
}
void delete_ready(Transaction& transaction, const std::vector<std::int64_t>& los) {
  delete_by_lo(transaction, kDeleteReady, los);
}
void delete_running(Transaction& transaction, const std::vector<std::int64_t>& los) {
  delete_by_lo(transaction, kDeleteRunning, los);
}

void reset_progress(Transaction& transaction, const std::vector<Range>& ranges, bool also_checkpoint) {
  if (ranges.empty()) return;
  transaction.send(also_checkpoint ? kForgetProgress : kResetProgress, Params::of(los_of(ranges), his_of(ranges)));
}

std::vector<std::string> texts_of(const std::vector<TaskError>& errors) {
  std::vector<std::string> texts;
  for (const TaskError& error : errors) texts.insert(texts.end(), {error.code, error.args, error.description});
  return texts;
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
