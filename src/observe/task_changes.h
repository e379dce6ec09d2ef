// What the answers of a TaskStore say has changed. Private to the folder.
#pragma once

#include <span>
#include <vector>

#include "store/change.h"
#include "store/task_store.h"

namespace horae {

using Changes = std::vector<Change>;

// Each appends what one call changed. The changes refer to texts of what is passed.
void add_submitted(Changes& changes, std::span<const Submission> submissions,
                   const std::vector<SubmitOutcome>& outcomes);
void add_claimed(Changes& changes, const std::vector<ClaimOutcome>& claimed);
void add_settled(Changes& changes, std::span<const Settlement> settlements, const std::vector<SettleOutcome>& outcomes);
void add_cancelled(Changes& changes, std::span<const CancelWish> wishes, const std::vector<CancelOutcome>& outcomes);
void add_promoted(Changes& changes, const PromoteOutcome& outcome);
void add_expired(Changes& changes, const ExpireOutcome& outcome);
void add_purged(Changes& changes, const PurgeOutcome& outcome);

}  // namespace horae
