// Storing new tasks.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/submission.h"
#include "stores/postgres/layout/days.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/tasks/insertion.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/cache/queue_names.h"

namespace horae::postgres {

// Threads: any thread at once.
class Submitter {
 public:
  Submitter(Pool& pool, QueueNames& names, Days& days, Floors& floors, KnownTasks& known)
      : pool_(pool), names_(names), days_(days), floors_(floors), known_(known) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions);

  // Numbers for tasks of which nothing has to be looked up, so that an Insertion can store them in one round trip: they
  // have no key, ids that Horae made just now, and queues that exist. Nothing if they are not all such.
  Result<std::optional<std::vector<NewEntry>>> prepare_quickly(std::span<const Submission> submissions);

 private:
  using Queues = std::map<std::string, int, std::less<>>;

  // Nothing if an id was there already, so that the batch has to be looked at with care.
  Result<std::optional<std::vector<SubmitOutcome>>> submit_quickly(const std::vector<NewEntry>& entries);

  // Any tasks that do not share an id or a key among themselves.
  Result<std::vector<SubmitOutcome>> submit_with_care(std::span<const Submission> submissions);
  Result<std::optional<std::vector<SubmitOutcome>>> try_with_care(std::span<const Submission> submissions,
                                                                  const Queues& queues);
  Result<Queues> make_queues(std::span<const Submission> submissions);

  Result<std::vector<NewEntry>> number(std::span<const Submission> submissions, const Queues& queues);
  bool is_quick(std::span<const Submission> submissions, const Queues& queues);

  Pool& pool_;
  QueueNames& names_;
  Days& days_;
  Floors& floors_;
  KnownTasks& known_;
};

}  // namespace horae::postgres
