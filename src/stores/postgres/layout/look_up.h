// Tasks by their ids, and their states.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/settle.h"
#include "model/task.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// A task at one moment, as far as verdicts need it.
struct Standing {
  State state = State::kScheduled;
  int queue = 0;
  int attempt = 0;
  std::optional<std::string> owner;
  std::optional<Instant> started_at;
  std::optional<Instant> expires;
  std::optional<AttemptEnd> ended;
  Instant read_at = {};  // the store's time

  Holding holding() const { return {state, attempt, owner.value_or(""), ended}; }

  // Whose the newest attempt is, or was.
  std::optional<std::string> newest_owner() const { return owner || !ended ? owner : std::optional(ended->owner); }
};

using Standings = std::unordered_map<std::int64_t, Standing>;

// The day in the time of an id that Horae made. Nothing for other ids.
std::optional<std::int64_t> day_in(const TaskId& id);

// The number of each id, in order; nothing where there is no such task. One round trip.
std::vector<std::optional<std::int64_t>> find_numbers(Transaction& transaction, const std::vector<TaskId>& ids);

// The tasks with these numbers, all at one moment. A number without a task is not in the answer. One round
// trip.
Standings find_standings(Transaction& transaction, const std::vector<std::int64_t>& numbers);

// The names of queues by their numbers. One round trip.
std::map<int, std::string> find_queue_names(Transaction& transaction, const std::set<int>& queues);

// What lies outside a caller's scope does not exist for that caller: takes the number of such a task away from its
// item (a Settlement, a CancelWish). `queue_of(number)` is the queue of a task; nothing if it is not there any more.
// One round trip, none without scopes.
template <typename Item, typename QueueOf>
void hide_out_of_scope(Transaction& transaction, std::span<const Item> items,
                       std::vector<std::optional<std::int64_t>>& numbers, const QueueOf& queue_of) {
  std::map<std::size_t, int> scoped;  // the queues of items that have a scope and a task
  std::set<int> queues;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::optional<int> queue = items[i].scope && numbers[i] ? queue_of(*numbers[i]) : std::nullopt;
    if (!queue) continue;
    scoped[i] = *queue;
    queues.insert(*queue);
  }
  if (queues.empty()) return;
  const auto names = find_queue_names(transaction, queues);
  if (transaction.failed()) return;
  for (const auto& [i, queue] : scoped) {
    const auto name = names.find(queue);  // nothing: the task was purged meanwhile, and its queue has ended
    if (name == names.end() || !items[i].scope->allows(name->second)) numbers[i].reset();
  }
}

}  // namespace horae::postgres
