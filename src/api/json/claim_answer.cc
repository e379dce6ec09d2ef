#include "api/json/claim_answer.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "api/json/json_writer.h"
#include "api/json/task_json.h"

namespace horae {
namespace {

std::size_t bytes_of(const LeasedTask& task) {
  return task.spec.size() + (task.checkpoint ? task.checkpoint->size() : 0);
}

// The number of the first task that does not fit.
std::int64_t end_of_room(const std::vector<LeasedTask>& tasks) {
  std::vector<const LeasedTask*> by_number;
  for (const LeasedTask& task : tasks) by_number.push_back(&task);
  std::ranges::sort(by_number, {}, [](const LeasedTask* task) { return task->number; });
  std::size_t bytes = 0;
  for (const LeasedTask* task : by_number) {
    bytes += bytes_of(*task);
    if (bytes > kMaxClaimBytes && task != by_number.front()) return task->number;
  }
  return std::numeric_limits<std::int64_t>::max();
}

// What a worker needs to settle it.
void append_attempt(std::string& out, const LeasedTask& task) {
  JsonObject object(out);
  object.add("id", task.id);
  object.add("attempt", task.attempt);
  object.end();
}

}  // namespace

std::string leased_tasks_json(const std::vector<LeasedTask>& tasks, const std::vector<LeasedTask>& rest,
                              bool has_attention) {
  std::string json;
  JsonObject object(json);
  write_leased_tasks(object, tasks, rest, has_attention);
  object.end();
  return json;
}

void write_leased_tasks(JsonObject& object, const std::vector<LeasedTask>& tasks, const std::vector<LeasedTask>& rest,
                        bool has_attention) {
  append_json_array(object.key("tasks"), tasks, append_leased_task);
  if (!rest.empty()) append_json_array(object.key("rest"), rest, append_attempt);
  if (has_attention) object.add("attention", true);
}

std::vector<LeasedTask> take_surplus(std::vector<LeasedTask>& tasks) {
  const std::int64_t end = end_of_room(tasks);
  const auto surplus =
      std::stable_partition(tasks.begin(), tasks.end(), [end](const LeasedTask& task) { return task.number < end; });
  std::vector<LeasedTask> taken(std::make_move_iterator(surplus), std::make_move_iterator(tasks.end()));
  tasks.erase(surplus, tasks.end());
  return taken;
}

}  // namespace horae
