// Storing new tasks.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/submission.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/days.h"
#include "stores/postgres/tasks/insertion.h"

namespace horae::postgres {

// Thread-safe.
class Submitter {
 public:
  Submitter(Pool& pool, QueueNames& names, Days& days, Floors& floors, KnownTasks& known)
      : pool_(pool), names_(names), days_(days), floors_(floors), known_(known) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions);

  // Numbers for tasks that need no look-up, so that an Insertion can store them in one round trip: they have no key,
  // ids that Horae made just now, and queues that exist. Nothing if any of them is different.
  Result<std::optional<std::vector<NewEntry>>> prepare_new(std::span<const Submission> submissions);

  // Numbers for new tasks, with ids that Horae made, of a transaction that stores them together with something else.
  // Makes their queues; tasks are missing whose queue would be one too many.
  Result<std::vector<NewEntry>> prepare_any(std::span<const Submission> submissions);

  // In that transaction, before the Insertion: reserves the ids that need it. False after a failure, or if one of them
  // is stored.
  static bool guard(Transaction& transaction, const std::vector<NewEntry>& entries);

  // After it was refused (Insertion::was_refused()), before it is tried again.
  Result<void> prepare_again(const Failure& failure, std::span<const Submission> submissions);

 private:
  using Queues = QueueNumbers;

  // Nothing if an id was stored before, so that duplicates have to be looked up.
  Result<std::optional<std::vector<SubmitOutcome>>> insert_new(std::span<const Submission> submissions,
                                                               const std::vector<NewEntry>& entries);

  // Any tasks that do not share an id or a key among themselves.
  Result<std::vector<SubmitOutcome>> insert_checking_duplicates(std::span<const Submission> submissions);
  Result<std::optional<std::vector<SubmitOutcome>>> try_to_insert(std::span<const Submission> submissions,
                                                                  const Queues& queues);
  Result<MadeQueues> make_queues(std::span<const Submission> submissions);
  void note_refusal(const Failure& failure, std::span<const Submission> submissions);

  Result<std::vector<NewEntry>> number(std::span<const Submission> submissions, const Queues& queues);
  static bool are_new(std::span<const Submission> submissions, const Queues& queues);

  Pool& pool_;
  QueueNames& names_;
  Days& days_;
  Floors& floors_;
  KnownTasks& known_;
};

}  // namespace horae::postgres
