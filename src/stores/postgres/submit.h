// Storing new tasks.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/submission.h"
#include "stores/postgres/days.h"
#include "stores/postgres/floors.h"
#include "stores/postgres/known_tasks.h"
#include "stores/postgres/pool.h"
#include "stores/postgres/queue_names.h"

namespace horae::postgres {

// Threads: any thread at once.
class Submitter {
 public:
  Submitter(Pool& pool, QueueNames& names, Days& days, Floors& floors, KnownTasks& known)
      : pool_(pool), names_(names), days_(days), floors_(floors), known_(known) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions);

 private:
  using Queues = std::map<std::string, int, std::less<>>;

  // A task that is about to be stored.
  struct Entry {
    const Submission* submission = nullptr;
    std::size_t place = 0;  // in the batch
    int queue = 0;
    std::int64_t number = 0;
    std::int64_t day = 0;
    bool is_guarded = false;  // its id does not tell its day: task_id keeps it unique
  };

  // Tasks without key and with ids that Horae made just now: nothing to look up, one round trip. Nothing if an id was
  // there already, so that the batch has to be looked at with care.
  Result<std::optional<std::vector<SubmitOutcome>>> submit_quickly(std::span<const Submission> submissions,
                                                                   const Queues& queues);

  // Any tasks that do not share an id or a key among themselves.
  Result<std::vector<SubmitOutcome>> submit_with_care(std::span<const Submission> submissions);
  Result<std::optional<std::vector<SubmitOutcome>>> try_with_care(std::span<const Submission> submissions,
                                                                  const Queues& queues);
  Result<Queues> make_queues(std::span<const Submission> submissions);

  Result<std::vector<Entry>> number(std::span<const Submission> submissions, const Queues& queues);
  bool is_quick(std::span<const Submission> submissions, const Queues& queues);
  void insert(Transaction& transaction, const std::vector<Entry>& entries);

  Pool& pool_;
  QueueNames& names_;
  Days& days_;
  Floors& floors_;
  KnownTasks& known_;
};

}  // namespace horae::postgres
