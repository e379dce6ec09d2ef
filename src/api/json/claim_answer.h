// The answer to a claim, and its limit of bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/json/json_writer.h"
#include "store/lease.h"

namespace horae {

// {"tasks":[...]}, and if there is a rest, leased as well but over the limit: ,"rest":[{"id":...,"attempt":...},...];
// if the owner is to send heartbeats now, because a task of its was cancelled: ,"attention":true.
std::string leased_tasks_json(const std::vector<LeasedTask>& tasks, const std::vector<LeasedTask>& rest,
                              bool has_attention);

// The same members of a larger answer.
void write_leased_tasks(JsonObject& object, const std::vector<LeasedTask>& tasks, const std::vector<LeasedTask>& rest,
                        bool has_attention);

// Removes the tasks that do not fit into one answer, and returns them. The lowest numbers stay, in their order: when a
// worker repeats a claim with its token, two nodes may answer, and both must cut at the same task.
std::vector<LeasedTask> take_surplus(std::vector<LeasedTask>& tasks);

}  // namespace horae
