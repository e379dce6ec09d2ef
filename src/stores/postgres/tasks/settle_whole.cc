#include "stores/postgres/tasks/settle_whole.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/values.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {
namespace {

const ValuesStatement kCompleteWhole{statement("complete_whole")};

static_assert(static_cast<int>(Event::kComplete) == 4 && static_cast<int>(State::kCompleted) == 3);

// The completion of a caller with a scope is left to settle.h, which checks the queues.
bool is_small_completion(const Settlement& said) {
  return said.event == Event::kComplete && said.scope == nullptr &&
         (!said.result || said.result->size() <= kMostResultBytesInARange);
}

// The settlements in the order of their numbers, mostly as they came, each with the lease of its task.
struct Completion {
  const Settlement* said = nullptr;
  const KnownLease* lease = nullptr;
};

std::vector<Completion> in_order(std::span<const Settlement> settlements, const std::vector<KnownLease>& leases) {
  std::vector<Completion> completions;
  completions.reserve(settlements.size());
  for (std::size_t i = 0; i < settlements.size(); ++i) completions.push_back({&settlements[i], &leases[i]});
  const auto number = [](const Completion& each) { return each.said->number; };
  if (!std::ranges::is_sorted(completions, {}, number)) std::ranges::sort(completions, {}, number);
  return completions;
}

// `completions` begins with the first task of a lease, if it holds a whole one.
std::optional<WholeLease> take_whole(std::span<const Completion> completions) {
  const Settlement& first = *completions.front().said;
  const KnownLease& lease = *completions.front().lease;
  const auto size = static_cast<std::size_t>(lease.range.size());
  if (completions.size() < size) return std::nullopt;
  WholeLease whole{.range = lease.range, .attempt = lease.attempt, .owner = first.owner, .results = {}};
  std::vector<std::optional<std::string_view>> results;
  results.reserve(size);
  bool has_results = false;
  for (std::size_t i = 0; i < size; ++i) {
    const Settlement& said = *completions[i].said;
    const bool follows = said.number == lease.range.lo + static_cast<std::int64_t>(i);
    if (!follows || said.attempt != lease.attempt || said.owner != first.owner) return std::nullopt;
    results.emplace_back(said.result);
    has_results = has_results || said.result.has_value();
  }
  if (has_results) whole.results = std::move(results);
  return whole;
}

}  // namespace

std::optional<std::vector<WholeLease>> whole_leases(std::span<const Settlement> settlements, KnownTasks& known) {
  if (!std::ranges::all_of(settlements, is_small_completion)) return std::nullopt;
  const auto leases = known.leases_of(settlements);
  if (!leases) return std::nullopt;
  const std::vector<Completion> completions = in_order(settlements, *leases);
  std::vector<WholeLease> all;
  for (std::span<const Completion> left = completions; !left.empty();) {
    auto whole = take_whole(left);
    const bool comes_again = whole && !all.empty() && whole->range.lo <= all.back().range.hi;
    if (!whole || comes_again) return std::nullopt;
    left = left.subspan(static_cast<std::size_t>(whole->range.size()));
    all.push_back(std::move(*whole));
  }
  if (all.size() > ValuesStatement::kMostRows) return std::nullopt;
  return all;
}

void send_completion(Transaction& transaction, const std::vector<WholeLease>& leases) {
  HORAE_CHECK(std::ranges::is_sorted(leases, {}, [](const WholeLease& each) { return each.range.lo; }),
              "all statements lock running ranges in the order of their numbers");
  kCompleteWhole.send_as_one(transaction, {}, leases, [](const WholeLease& each, Params& params) {
    params.add(each.range.lo).add(each.range.hi).add(std::int32_t{each.attempt}).add(each.owner).add(each.results);
  });
}

Result<bool> complete_whole(Pool& pool, const std::vector<WholeLease>& leases) {
  const auto body = [&](Transaction& transaction) -> Result<bool> {
    send_completion(transaction, leases);
    if (auto done = transaction.commit(); !done.ok()) {
      if (transaction.failure()->unmet()) return false;
      return done.error();
    }
    return true;
  };
  return pool.transact_in_one_trip<bool>(body, Repeat::kAlways);  // the second time the leases are gone
}

std::vector<SettleOutcome> completed_outcomes(std::span<const Settlement> settlements) {
  std::vector<SettleOutcome> outcomes;
  outcomes.reserve(settlements.size());
  for (const Settlement& said : settlements) {
    outcomes.push_back({.verdict = Verdict::kAccepted,
                        .state = State::kCompleted,
                        .attempt = said.attempt,
                        .owner = said.owner,
                        .lease_expires = {}});
  }
  return outcomes;
}

}  // namespace horae::postgres
