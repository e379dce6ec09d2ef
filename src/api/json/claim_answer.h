// What a claim is answered with, and how much of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/lease.h"

namespace horae {

inline constexpr std::size_t kMaxClaimBytes = 8 << 20;  // of specs and checkpoints in one answer; one task always fits

// {"tasks":[...]}, and if there is a rest, which is leased too but did not fit: ,"rest":[{"id":...,"attempt":...},...].
std::string leased_tasks_json(const std::vector<LeasedTask>& tasks, const std::vector<LeasedTask>& rest = {});

// Takes those out of `tasks` that do not fit into one answer. The lowest numbers stay, in their order: under a token of
// the worker's own two nodes may answer, and both must draw the line at the same task.
std::vector<LeasedTask> take_surplus(std::vector<LeasedTask>& tasks);

}  // namespace horae
