#include "store/bundle.h"

#include <utility>

#include "store/batches.h"
#include "store/task_store.h"

namespace horae {

Result<void> check_bundle(const Bundle& calls) {
  if (auto checked = check_batch(calls.settlements, check_settlement); !checked.ok()) return checked;
  if (auto checked = check_batch(calls.submissions, check_submission); !checked.ok()) return checked;
  return check_batch(calls.wishes, check_claim_wish);
}

Error unknown_outcome(const Error& error) { return {ErrorCode::kUnavailable, error.message}; }

Result<BundleOutcome> TaskStore::exchange(const Bundle& calls) {
  if (auto checked = check_bundle(calls); !checked.ok()) return checked.error();
  auto settled = settle(calls.settlements);
  if (!settled.ok()) return settled.error();
  auto submitted = submit(calls.submissions);
  if (!submitted.ok()) return calls.settlements.empty() ? submitted.error() : unknown_outcome(submitted.error());
  auto leased = claim(calls.wishes);
  const bool is_first = calls.settlements.empty() && calls.submissions.empty();
  if (!leased.ok()) return is_first ? leased.error() : unknown_outcome(leased.error());
  return BundleOutcome{std::move(*settled), std::move(*submitted), std::move(*leased)};
}

}  // namespace horae
