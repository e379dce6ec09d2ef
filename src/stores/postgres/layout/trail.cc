#include "stores/postgres/layout/trail.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kLockLate = statement("lock_late");
const Sql kReadTrail = statement("read_trail");
const Sql kForgetAssignments = statement("forget_assignments", Changes::kAny);
const Sql kPrune = statement("prune_trails");

// How often the history of a task is pruned: by attempts, and by late results, of which one attempt may have any number.
constexpr int kAttemptsBetweenPrunes = 128;
constexpr std::size_t kMostLateResults = 2 * kMaxHistory;

}  // namespace

void Trail::read(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& may_be_late) {
  gone_.insert(may_be_late.begin(), may_be_late.end());
  std::set<std::int64_t> all(numbers.begin(), numbers.end());
  all.insert(gone_.begin(), gone_.end());
  if (all.empty()) return;
  // The trail is read after the locks are taken: each statement sees what was committed before it began.
  std::optional<std::size_t> locked;
  if (!gone_.empty()) locked = transaction_.send(kLockLate, Params::of(std::vector(gone_.begin(), gone_.end())));
  const std::size_t trail = transaction_.send(kReadTrail, Params::of(std::vector(all.begin(), all.end())));
  if (!transaction_.wait()) return;
  if (locked) {
    for (const Row row : transaction_.rows(*locked)) gone_.erase(row.integer(0));
  }
  for (const Row row : transaction_.rows(trail)) {
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

std::size_t Trail::late_of(std::int64_t number) const {
  const auto from = late_.lower_bound({number, std::numeric_limits<int>::min(), ""});
  return static_cast<std::size_t>(
      std::distance(from, late_.lower_bound({number + 1, std::numeric_limits<int>::min(), ""})));
}

// Of the rows of one task, those after the first kHistoryFirst and before the newest kHistoryNewest would be pruned again.
void Trail::omit_surplus() {
  if (rows_.size() <= kMaxHistory) return;
  std::map<std::int64_t, std::size_t> total;
  for (const TrailRange& row : rows_) ++total[row.range.lo];
  std::map<std::int64_t, std::size_t> seen;
  std::erase_if(rows_, [&](const TrailRange& row) {
    const std::int64_t number = row.range.lo;
    const std::size_t place = seen[number]++;
    const bool stays = place < kHistoryFirst || place + kHistoryNewest >= total[number];
    if (!stays) omitted_[number] += row.kind != HistoryKind::kAssignment && row.started_at ? 2 : 1;
    return !stays;
  });
}

void Trail::write() {
  if (!forgotten_.empty()) transaction_.send(kForgetAssignments, Params::of(forgotten_, forgotten_attempts_));
  share_ranges();
  omit_surplus();
  insert_trail(transaction_, rows_);
  std::map<std::int64_t, std::int64_t> pruned = omitted_;
  for (const TrailRange& row : rows_) {
    const bool has_many = row.kind == HistoryKind::kLateResult && late_of(row.range.lo) > kMostLateResults;
    if (row.attempt % kAttemptsBetweenPrunes == 0 || has_many) pruned.try_emplace(row.range.lo, 0);
  }
  if (pruned.empty()) return;
  std::vector<std::int64_t> numbers, omitted;
  for (const auto& [number, count] : pruned) {
    numbers.push_back(number);
    omitted.push_back(count);
  }
  transaction_.send(kPrune, Params::of(numbers, omitted));
}

}  // namespace horae::postgres
