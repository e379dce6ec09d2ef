// What a refused settlement costs beside an accepted one, on any store.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace horae::bench {

// Results of owners that no claim knows: each is refused and kept in the history of its task. Three cases: each for a
// task of its own that runs for another owner, each for a task of its own that has completed, all for one task. Returns
// for each case how long 1,000 of them take in one call, divided by the time of 1,000 completions by as many owners;
// medians of pairs, each on a store that `open` makes anew. The calls go through a combiner, as those of nodes do.
// Prints a table.
std::vector<std::pair<std::string, double>> compare_refusals(const std::function<std::unique_ptr<Store>()>& open);

}  // namespace horae::bench
