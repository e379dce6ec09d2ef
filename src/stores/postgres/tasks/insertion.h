// Writing new tasks: their rows, and the ranges in which they begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/submission.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/ranges.h"
#include "stores/postgres/tasks/take_head.h"

namespace horae::postgres {

// A task that is about to be stored.
struct NewEntry {
  const Submission* submission = nullptr;
  std::size_t place = 0;  // in the batch
  int queue = 0;
  std::int64_t number = 0;
  std::int64_t day = 0;
  bool is_guarded = false;  // the day does not follow from its id: task_id keeps the id unique
};

// The ranges in which they become ready, in the order of their numbers. Nothing if one of them does not become ready in
// these queues (ascending) now: it is of another queue, due later, or starts at once; or if one statement cannot take
// them all.
std::optional<std::vector<FreshRange>> ready_ranges(const std::vector<NewEntry>& entries,
                                                    const std::vector<int>& queues);

// Sends the statements that store new tasks. They wait only for transactions that store the same ids.
class Insertion {
 public:
  // Whether it also puts them where they begin, or leaves that to a claim (FreshTasks::beginning).
  enum class Begin { kHere, kWithClaim };

  // In the order of their numbers. The transaction outlives the insertion.
  Insertion(Transaction& transaction, std::vector<NewEntry> entries, Begin begin = Begin::kHere);

  // True if they cannot be stored as they are: an id is stored already, the day of a number was dropped, or a queue has
  // ended. The transaction is rolled back then.
  static bool was_refused(const Failure& failure) {
    return failure.duplicate() || failure.no_partition() || has_lost_its_queue(failure);
  }

  // Without the row of its queue a task has no rank.
  static bool has_lost_its_queue(const Failure& failure) { return failure.null_value(); }

  // After the commit: an error if a task is neither ready nor scheduled now. It must not be reported as created.
  Result<void> check() const;

  // After the commit: writes their outcomes, each at its place.
  void add_outcomes(std::vector<SubmitOutcome>& outcomes) const;
  std::vector<SubmitOutcome> outcomes() const;  // of a batch with no other tasks

  // After the commit: fills the caches of this node.
  void remember(KnownTasks& known, Floors& floors) const;

 private:
  void begin_here();
  std::vector<Range> scheduled() const;

  Transaction& transaction_;
  const std::vector<NewEntry> entries_;
  std::size_t waiting_ranges_ = 0;  // that must be ready or scheduled
  std::vector<std::size_t> ready_;  // tickets; of those that are due at once
  std::vector<std::size_t> timed_;  // tickets; of those with a time
};

}  // namespace horae::postgres
