#include "stores/postgres/layout/trail.h"

#include <algorithm>

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kLockLate = statement("lock_late");
const Sql kReadTrail = statement("read_trail");
const Sql kForgetAssignments = statement("forget_assignments", Changes::kAny);
const Sql kPrune = statement("prune_trail");

// How often the history of a task is pruned.
constexpr int kAttemptsBetweenPrunes = 128;

}  // namespace

void Trail::read(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& may_be_late) {
  std::set<std::int64_t> all(numbers.begin(), numbers.end());
  if (!may_be_late.empty()) {
    gone_.insert(may_be_late.begin(), may_be_late.end());
    const std::vector<std::int64_t> late(gone_.begin(), gone_.end());
    for (const Row row : transaction_.run(kLockLate, Params::of(late))) gone_.erase(row.integer(0));
    all.insert(late.begin(), late.end());
  }
  if (all.empty()) return;
  for (const Row row : transaction_.run(kReadTrail, Params::of(std::vector<std::int64_t>(all.begin(), all.end())))) {
    if (row.boolean(2)) {
      assigned_.emplace(row.integer(0), row.small(1));
    } else {
      late_.emplace(row.integer(0), row.small(1), row.text(3));
    }
  }
}

void Trail::note_assignment(std::int64_t number, int attempt, std::string_view worker, Instant started_at) {
  if (gone_.contains(number) || !assigned_.emplace(number, attempt).second) return;
  rows_.push_back({.range = {number, number},
                   .kind = HistoryKind::kAssignment,
                   .attempt = attempt,
                   .worker = std::string(worker),
                   .started_at = started_at,
                   .at = started_at});
}

void Trail::note_end(std::int64_t number, int attempt, std::string_view worker, Instant started_at, HistoryKind kind,
                     std::optional<double> progress, std::string detail) {
  const bool tells_assignment = assigned_.emplace(number, attempt).second;
  rows_.push_back({.range = {number, number},
                   .kind = kind,
                   .attempt = attempt,
                   .worker = std::string(worker),
                   .started_at = tells_assignment ? std::optional(started_at) : std::nullopt,
                   .progress = progress,
                   .detail = std::move(detail)});
}

void Trail::note_late(std::int64_t number, int attempt, std::string_view worker, std::string detail) {
  if (gone_.contains(number) || !late_.emplace(number, attempt, worker).second) return;
  rows_.push_back({.range = {number, number},
                   .kind = HistoryKind::kLateResult,
                   .attempt = attempt,
                   .worker = std::string(worker),
                   .detail = std::move(detail)});
}

void Trail::forget_assignment(std::int64_t number, int attempt) {
  if (assigned_.erase({number, attempt}) == 0) return;
  std::erase_if(rows_, [&](const TrailRange& row) {
    return row.range.lo == number && row.attempt == attempt && row.kind == HistoryKind::kAssignment;
  });
  forgotten_.push_back(number);
  forgotten_attempts_.push_back(attempt);
}

// Tasks that left together share a row. Where there are rows of several kinds their order matters, and they stay apart.
void Trail::share_ranges() {
  const auto alike = [](const TrailRange& a, const TrailRange& b) {
    return a.kind == b.kind && a.attempt == b.attempt && a.worker == b.worker && a.started_at == b.started_at &&
           a.progress == b.progress && a.detail == b.detail;
  };
  const auto can_share = [&](const TrailRange& row) {
    return row.kind == rows_.front().kind && (row.kind == HistoryKind::kYield || row.kind == HistoryKind::kTimeout);
  };
  if (!std::ranges::all_of(rows_, can_share)) return;
  std::ranges::sort(rows_, {}, [](const TrailRange& row) { return row.range.lo; });
  std::vector<TrailRange> shared;
  for_each_range(
      rows_, [](const TrailRange& row) { return row.range.lo; }, alike,
      [&](const TrailRange& first, const TrailRange& last) {
        shared.push_back(first);
        shared.back().range.hi = last.range.hi;
      });
  rows_ = std::move(shared);
}

void Trail::write() {
  if (!forgotten_.empty()) transaction_.send(kForgetAssignments, Params::of(forgotten_, forgotten_attempts_));
  share_ranges();
  insert_trail(transaction_, rows_);
  for (const TrailRange& row : rows_) {
    if (row.attempt % kAttemptsBetweenPrunes == 0) transaction_.send(kPrune, Params::of(row.range.lo));
  }
}

}  // namespace horae::postgres
