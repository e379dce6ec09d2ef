// How the dispatcher reaches the store.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "store/combiner.h"
#include "store/lease.h"

namespace horae {

// Settles, and claims if there is a wish, in one commit. `done` is called exactly once, on any thread, perhaps before the
// call returns, with no lock held.
using Exchange = std::function<void(std::vector<Settlement> settlements, std::optional<ClaimWish> wish,
                                    std::function<void(Exchanged)> done)>;

// The combiner must outlive it.
Exchange exchange_through(Combiner& combiner);

}  // namespace horae
