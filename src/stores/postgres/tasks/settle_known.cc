#include "stores/postgres/tasks/settle_known.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/values.h"

namespace horae::postgres {
namespace {

const Sql kLockKnown = statement("lock_known");
const Sql kCompleteOne = statement("complete_one");
const ValuesStatement kCompleteWhole{statement("complete_whole")};
const ValuesStatement kCompleteParts{statement("complete_parts")};
const ValuesStatement kExtendWhole{statement("extend_whole")};

static_assert(static_cast<int>(Event::kComplete) == 4 && static_cast<int>(State::kCompleted) == 3);
static_assert(ValuesStatement::kMostRows >= kMaxRange, "the parts of one lease go into one statement");

// Up to so many leases, one statement for each is cheaper.
constexpr std::size_t kFew = 3;

// A settlement and the lease of its task.
struct Said {
  const Settlement* said = nullptr;
  const KnownTask* task = nullptr;

  std::int64_t number() const { return task->number; }
  const KnownLease& lease() const { return task->lease; }
  bool is_completion() const { return said->event == Event::kComplete; }
  bool reports() const { return said->progress || said->checkpoint; }
  bool has_large_result() const { return said->result && said->result->size() > kMostResultBytesInARange; }
};
using Group = std::span<const Said>;

// In the order of their numbers, mostly as they came.
std::vector<Said> in_order(std::span<const Settlement> settlements, const std::vector<KnownTask>& tasks) {
  std::vector<Said> all;
  all.reserve(settlements.size());
  for (std::size_t i = 0; i < settlements.size(); ++i) all.push_back({&settlements[i], &tasks[i]});
  if (!std::ranges::is_sorted(all, {}, &Said::number)) std::ranges::sort(all, {}, &Said::number);
  return all;
}

// Whether the callers may see these tasks.
bool are_in_scope(std::span<const Settlement> settlements, const std::vector<KnownTask>& tasks, QueueNames& names) {
  std::map<std::pair<const QueueScope*, int>, bool> allowed;
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    const QueueScope* scope = settlements[i].scope.get();
    if (scope == nullptr) continue;
    const auto [found, is_first] = allowed.emplace(std::pair(scope, tasks[i].lease.queue), false);
    if (is_first) {
      const auto name = names.name_of(tasks[i].lease.queue);
      found->second = name.ok() && scope->allows(*name);
    }
    if (!found->second) return false;
  }
  return true;
}

LeaseChanges::Results results_of(Group group) {
  std::vector<std::optional<std::string_view>> results;
  results.reserve(group.size());
  bool any = false;
  for (const Said& each : group) {
    results.emplace_back(each.said->result);
    any = any || each.said->result;
  }
  return any ? LeaseChanges::Results(std::move(results)) : std::nullopt;
}

// The parts of a lease: neighbours that become the same. A large result has a part of its own.
LeaseChanges::Cut cut(const LeaseChanges::Lease& lease, Group group) {
  LeaseChanges::Cut parts{.lease = lease, .done = {}, .kept = {}};
  const auto keep = [&](std::int64_t number, bool is_extended, std::optional<Duration> length) {
    const bool joins = !parts.kept.empty() && parts.kept.back().range.hi == number - 1 &&
                       parts.kept.back().is_extended == is_extended && parts.kept.back().length == length;
    if (joins) {
      parts.kept.back().range.hi = number;
    } else {
      parts.kept.push_back({{number, number}, is_extended, length});
    }
  };
  std::size_t next = 0;
  for (std::int64_t number = lease.range.lo; number <= lease.range.hi;) {
    if (next == group.size() || group[next].number() != number) {
      keep(number++, false, std::nullopt);
      continue;
    }
    if (!group[next].is_completion()) {
      keep(number++, true, group[next++].said->lease);
      continue;
    }
    const std::size_t first = next++;
    while (next < group.size() && group[next].is_completion() && group[next].number() == group[next - 1].number() + 1 &&
           !group[next].has_large_result() && !group[first].has_large_result()) {
      ++next;
    }
    const Group done = group.subspan(first, next - first);
    parts.done.push_back({lease.range.lo, {done.front().number(), done.back().number()}, results_of(done)});
    number = done.back().number() + 1;
  }
  return parts;
}

// False if what is said of one lease is not as simple as that.
bool add(Group group, LeaseChanges& changes) {
  const KnownLease& known = group.front().lease();
  const LeaseChanges::Lease lease{known.range, known.queue, known.attempt, group.front().said->owner};
  std::size_t completed = 0, reporting = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Settlement& said = *group[i].said;
    if (said.attempt != lease.attempt || said.owner != lease.owner) return false;
    if (i > 0 && group[i].number() == group[i - 1].number()) return false;
    completed += group[i].is_completion();
    reporting += !group[i].is_completion() && group[i].reports();
  }
  const bool is_whole = static_cast<std::int64_t>(group.size()) == lease.range.size();
  if (is_whole && completed == group.size() &&
      (group.size() == 1 || std::ranges::none_of(group, &Said::has_large_result))) {
    changes.whole.push_back({lease, results_of(group)});
    return true;
  }
  const bool are_alike =
      std::ranges::all_of(group, [&](const Said& each) { return each.said->lease == group.front().said->lease; });
  if (is_whole && completed == 0 && are_alike) {
    changes.beaten.push_back({lease, group.front().said->lease});
    for (const Said& each : group) {
      if (!each.reports()) continue;
      changes.reports.push_back(
          {each.number(), lease.range.lo, lease.attempt, each.said->progress, each.said->checkpoint});
    }
    return true;
  }
  if (reporting > 0) return false;
  changes.cut.push_back(cut(lease, group));
  return true;
}

void add_lease(const LeaseChanges::Lease& lease, Params& params) {
  params.add(lease.range.lo).add(lease.range.hi).add(std::int32_t{lease.attempt}).add(lease.owner);
}

// Calls `send(first, count)` for pieces of at most kMostRows elements.
template <typename Send>
void in_pieces(std::size_t size, Send send) {
  for (std::size_t first = 0; first < size; first += ValuesStatement::kMostRows) {
    send(first, std::min(ValuesStatement::kMostRows, size - first));
  }
}

template <typename T>
std::vector<T> piece_of(const std::vector<T>& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::optional<LeaseChanges> changes_of(std::span<const Settlement> settlements, KnownTasks& known, QueueNames& names) {
  const auto is_simple = [](const Settlement& said) {
    return said.event == Event::kComplete || said.event == Event::kHeartbeat;
  };
  if (!std::ranges::all_of(settlements, is_simple)) return std::nullopt;
  const auto tasks = known.leases_of(settlements);
  if (!tasks || !are_in_scope(settlements, *tasks, names)) return std::nullopt;
  const std::vector<Said> all = in_order(settlements, *tasks);
  LeaseChanges changes;
  for (const KnownTask& task : *tasks) changes.numbers.push_back(task.number);
  for (Group left = all; !left.empty();) {
    const Range& range = left.front().lease().range;
    std::size_t size = 1;
    while (size < left.size() && left[size].lease().range == range) ++size;
    if (!range.contains(left.front().number()) || !add(left.first(size), changes)) return std::nullopt;
    left = left.subspan(size);
  }
  // A lease that has changed may begin where a present one does; the statements tell parts apart by their beginning.
  std::set<std::int64_t> los;
  const auto is_new = [&los](const auto& each) { return los.insert(each.lease.range.lo).second; };
  if (!std::ranges::all_of(changes.cut, is_new)) return std::nullopt;
  return changes;
}

KnownSettlements::KnownSettlements(Transaction& transaction, std::span<const Settlement> settlements,
                                   const LeaseChanges& changes)
    : transaction_(transaction), settlements_(settlements), changes_(changes) {
  const bool is_one_kind = changes.cut.empty() && (changes.whole.empty() || changes.beaten.empty());
  if (!is_one_kind) {
    std::vector<std::int64_t> los;
    for (const auto& each : changes.whole) los.push_back(each.lease.range.lo);
    for (const auto& each : changes.cut) los.push_back(each.lease.range.lo);
    for (const auto& each : changes.beaten) los.push_back(each.lease.range.lo);
    transaction.send(kLockKnown, Params::of(los));
  }
  send_whole();
  send_parts();
  send_beats();
}

void KnownSettlements::send_whole() {
  if (changes_.whole.size() <= kFew) {
    for (const LeaseChanges::Whole& each : changes_.whole) {
      Params params;
      add_lease(each.lease, params);
      sent_.push_back({.ticket = transaction_.send(kCompleteOne, params.add(each.results)), .has_ends = false});
    }
    return;
  }
  in_pieces(changes_.whole.size(), [&](std::size_t first, std::size_t count) {
    const std::size_t ticket = kCompleteWhole.send_as_one(transaction_, {}, piece_of(changes_.whole, first, count),
                                                          [](const LeaseChanges::Whole& each, Params& params) {
                                                            add_lease(each.lease, params);
                                                            params.add(each.results);
                                                          });
    sent_.push_back({.ticket = ticket, .has_ends = false});
  });
}

void KnownSettlements::send_parts() {
  std::size_t next = 0;
  while (next < changes_.cut.size()) {
    std::vector<std::int64_t> lo, hi, kept_of, kept_lo, kept_hi;
    std::vector<std::int32_t> attempt;
    std::vector<std::string_view> owner;
    std::vector<bool> is_extended;
    std::vector<std::optional<Duration>> length;
    std::vector<LeaseChanges::Done> done;
    for (; next < changes_.cut.size(); ++next) {
      const LeaseChanges::Cut& cut = changes_.cut[next];
      if (!lo.empty() && done.size() + cut.done.size() > ValuesStatement::kMostRows) break;
      lo.push_back(cut.lease.range.lo);
      hi.push_back(cut.lease.range.hi);
      attempt.push_back(cut.lease.attempt);
      owner.push_back(cut.lease.owner);
      done.insert(done.end(), cut.done.begin(), cut.done.end());
      for (const LeaseChanges::Kept& kept : cut.kept) {
        kept_of.push_back(cut.lease.range.lo);
        kept_lo.push_back(kept.range.lo);
        kept_hi.push_back(kept.range.hi);
        is_extended.push_back(kept.is_extended);
        length.push_back(kept.length);
      }
    }
    const std::size_t ticket = kCompleteParts.send_as_one(
        transaction_, Params::of(lo, hi, attempt, owner, kept_of, kept_lo, kept_hi, is_extended, length), done,
        [](const LeaseChanges::Done& each, Params& params) {
          params.add(each.lease).add(each.range.lo).add(each.range.hi).add(each.results);
        });
    sent_.push_back({.ticket = ticket, .has_ends = true});
  }
}

void KnownSettlements::send_beats() {
  std::vector<std::int64_t> number, lease;
  std::vector<std::int32_t> attempt;
  std::vector<std::optional<double>> progress;
  std::vector<std::optional<std::string_view>> checkpoint;
  for (const LeaseChanges::Report& each : changes_.reports) {
    number.push_back(each.number);
    lease.push_back(each.lease);
    attempt.push_back(each.attempt);
    progress.push_back(each.progress);
    checkpoint.push_back(each.checkpoint);
  }
  // Reports of other pieces find no lease.
  const Params params = Params::of(number, lease, attempt, progress, checkpoint);
  in_pieces(changes_.beaten.size(), [&](std::size_t first, std::size_t count) {
    const std::size_t ticket = kExtendWhole.send_as_one(transaction_, params, piece_of(changes_.beaten, first, count),
                                                        [](const LeaseChanges::Beat& each, Params& values) {
                                                          add_lease(each.lease, values);
                                                          values.add(each.length);
                                                        });
    sent_.push_back({.ticket = ticket, .has_ends = true});
  });
}

std::vector<std::optional<SettleOutcome>> KnownSettlements::read(KnownTasks& known) const {
  // What the statements changed, by first numbers: up to which number, and until when it is leased.
  std::map<std::int64_t, std::pair<std::int64_t, std::optional<Instant>>> changed;
  for (const Sent& each : sent_) {
    for (const Row row : transaction_.rows(each.ticket)) {
      changed[row.integer(0)] = {row.integer(1), each.has_ends ? row.optional_instant(2) : std::nullopt};
    }
  }
  const auto change_of = [&](std::int64_t number) {
    auto next = changed.upper_bound(number);
    if (next == changed.begin() || (--next)->second.first < number) next = changed.end();
    return next;
  };
  std::vector<std::optional<SettleOutcome>> outcomes(settlements_.size());
  for (std::size_t i = 0; i < settlements_.size(); ++i) {
    const Settlement& said = settlements_[i];
    const bool is_beat = said.event == Event::kHeartbeat;
    const auto found = change_of(changes_.numbers[i]);
    if (found == changed.end() || !is_beat) known.forget_lease(changes_.numbers[i]);
    if (found == changed.end()) continue;
    outcomes[i] = SettleOutcome{.verdict = Verdict::kAccepted,
                                .state = is_beat ? State::kRunning : State::kCompleted,
                                .attempt = said.attempt,
                                .owner = said.owner,
                                .lease_expires = is_beat ? found->second.second : std::nullopt};
  }
  for (const LeaseChanges::Cut& cut : changes_.cut) {
    for (const LeaseChanges::Kept& kept : cut.kept) {
      if (change_of(kept.range.lo) == changed.end()) continue;
      known.remember_lease({kept.range, cut.lease.queue, cut.lease.attempt, cut.lease.owner});
    }
  }
  return outcomes;
}

}  // namespace horae::postgres
