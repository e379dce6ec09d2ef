// Settlements, submissions and claims that are made together, so that they share one commit.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "store/lease.h"
#include "store/submission.h"

namespace horae {

// The items of one call of TaskStore::exchange(); each list has at most kMaxBatch items, and may be empty.
struct Bundle {
  std::span<const Settlement> settlements;
  std::span<const Submission> submissions;
  std::span<const ClaimWish> wishes;
};

// One outcome for each item, in order.
struct BundleOutcome {
  std::vector<SettleOutcome> settled;
  std::vector<SubmitOutcome> submitted;
  std::vector<ClaimOutcome> leased;

  friend bool operator==(const BundleOutcome&, const BundleOutcome&) = default;
};

// kRefused for a list that is too long, or for the first item that fails its check.
Result<void> check_bundle(const Bundle& calls);

// Of a later part, when an earlier one is done: only kUnavailable says that the outcome is not known.
Error unknown_outcome(const Error& error);

}  // namespace horae
