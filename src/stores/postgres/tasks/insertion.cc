#include "stores/postgres/tasks/insertion.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/values.h"
#include "stores/postgres/layout/ranges.h"
#include "stores/postgres/tasks/task_row.h"

namespace horae::postgres {
namespace {

const ValuesStatement kMakeReady{statement("make_ready", Changes::kEach)};
const ValuesStatement kMakeRunning{statement("make_running", Changes::kEach)};
const ValuesStatement kMakeReadyOrScheduled{statement("make_ready_or_scheduled", Changes::kAny)};

// Tasks that may share a range: they begin alike.
bool begin_alike(const NewTask& a, const NewTask& b) {
  return a.priority == b.priority && a.run_at == b.run_at && a.recurring == b.recurring &&
         a.max_attempts == b.max_attempts && a.queue == b.queue;
}

using Entries = std::vector<NewEntry>;

// The first and the last one of each range.
std::vector<std::pair<const NewEntry*, const NewEntry*>> ranges_of(const Entries& entries) {
  std::vector<std::pair<const NewEntry*, const NewEntry*>> ranges;
  for_each_range(
      entries, [](const NewEntry& entry) { return entry.number; },
      [](const NewEntry& a, const NewEntry& b) { return begin_alike(a.submission->task, b.submission->task); },
      [&](const NewEntry& first, const NewEntry& last) { ranges.emplace_back(&first, &last); });
  return ranges;
}

}  // namespace

std::optional<std::vector<FreshRange>> ready_ranges(const std::vector<NewEntry>& entries,
                                                    const std::vector<int>& queues) {
  const bool all_ready = std::ranges::all_of(entries, [&](const NewEntry& entry) {
    return std::ranges::binary_search(queues, entry.queue) && !entry.submission->task.run_at &&
           !entry.submission->start;
  });
  if (!all_ready) return std::nullopt;
  std::vector<FreshRange> fresh;
  for (const auto& [first, last] : ranges_of(entries)) {
    const NewTask& task = first->submission->task;
    fresh.push_back({.range = {first->number, last->number},
                     .queue = first->queue,
                     .priority = static_cast<std::int16_t>(task.priority),
                     .max_attempts = attempts_limit(task),
                     .recurring = task.recurring});
  }
  if (fresh.size() > ValuesStatement::kMostRows) return std::nullopt;
  return fresh;
}

Insertion::Insertion(Transaction& transaction, std::vector<NewEntry> entries, Begin begin)
    : transaction_(transaction), entries_(std::move(entries)) {
  insert_task_rows(transaction, entries_);
  if (begin == Begin::kHere) begin_here();
}

// Puts the new tasks where they begin: running, ready, or scheduled if they are due later.
void Insertion::begin_here() {
  Entries waiting, started;
  for (const NewEntry& entry : entries_) (entry.submission->start ? started : waiting).push_back(entry);
  kMakeRunning.send(transaction_, started, [](const NewEntry& entry, Params& params) {
    const NewTask& task = entry.submission->task;
    const Start& start = *entry.submission->start;
    params.add(entry.number).add(std::int32_t{entry.queue}).add(static_cast<std::int16_t>(task.priority));
    params.add(attempts_limit(task)).add(task.recurring).add(start.owner).add(start.token).add(start.lease);
  });
  auto ranges = ranges_of(waiting);
  waiting_ranges_ = ranges.size();
  const auto write = [](const auto& range, Params& params) {
    const NewTask& task = range.first->submission->task;
    params.add(range.first->number).add(range.second->number).add(std::int32_t{range.first->queue});
    params.add(static_cast<std::int16_t>(task.priority)).add(attempts_limit(task)).add(task.recurring);
  };
  const auto has_time = [](const auto& range) { return range.first->submission->task.run_at.has_value(); };
  const auto first_timed = std::stable_partition(ranges.begin(), ranges.end(), std::not_fn(has_time));
  ready_ = kMakeReady.send(transaction_, std::span(ranges.begin(), first_timed), write);
  timed_ = kMakeReadyOrScheduled.send(transaction_, std::span(first_timed, ranges.end()),
                                      [&](const auto& range, Params& params) {
                                        write(range, params);
                                        params.add(range.first->submission->task.run_at);
                                      });
}

Result<void> Insertion::check() const {
  std::size_t stored = 0;
  for (const auto* tickets : {&ready_, &timed_}) {
    for (const std::size_t ticket : *tickets) stored += static_cast<std::size_t>(transaction_.rows(ticket).size());
  }
  if (stored == waiting_ranges_) return {};
  return Error{
      ErrorCode::kInternal,
      fmt::format("PostgreSQL: of {} ranges of new tasks {} were made ready or scheduled: a trigger or another "
                  "program changes this database; look at its triggers and rules, and at the log of the server",
                  waiting_ranges_, stored)};
}

std::vector<Range> Insertion::scheduled() const {
  std::vector<Range> ranges;
  for (const std::size_t ticket : timed_) {
    for (const Row row : transaction_.rows(ticket)) {
      if (row.is_null(3)) ranges.push_back({row.integer(0), row.integer(1)});
    }
  }
  return ranges;
}

void Insertion::add_outcomes(std::vector<SubmitOutcome>& outcomes) const {
  const std::vector<Range> scheduled = this->scheduled();
  for (const NewEntry& entry : entries_) {
    const bool later = std::ranges::any_of(scheduled, [&](const Range& range) { return range.contains(entry.number); });
    outcomes[entry.place] = {.kind = SubmitOutcome::Kind::kCreated,
                             .id = entry.submission->id(),
                             .number = entry.number,
                             .state = entry.submission->start ? State::kRunning
                                      : later                 ? State::kScheduled
                                                              : State::kReady};
  }
}

std::vector<SubmitOutcome> Insertion::outcomes() const {
  std::vector<SubmitOutcome> all(entries_.size());
  add_outcomes(all);
  return all;
}

void Insertion::remember(KnownTasks& known, Floors& floors) const {
  known.remember(entries_);
  for (const std::size_t ticket : ready_) {
    for (const Row row : transaction_.rows(ticket)) floors.lower(row.small(0), row.integer(1));
  }
  for (const std::size_t ticket : timed_) {
    for (const Row row : transaction_.rows(ticket)) {
      if (!row.is_null(3)) floors.lower(row.small(2), row.integer(3));
    }
  }
}

}  // namespace horae::postgres
