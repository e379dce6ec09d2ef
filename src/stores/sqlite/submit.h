// Storing new tasks.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "store/submission.h"
#include "stores/sqlite/task_row.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Submitter {
 public:
  explicit Submitter(Writer& writer);

  // Inside a transaction.
  std::vector<SubmitOutcome> submit(std::span<const Submission> submissions, Change& change);

 private:
  using KnownQueues = std::map<std::string, QueueRow, std::less<>>;  // of one transaction

  SubmitOutcome submit_one(const Submission& submission, KnownQueues& known, Change& change);

  // The task with which a submission conflicts: the one under its key in `queue` (0 if that does not exist), or under
  // its id.
  std::optional<SubmitOutcome> find_present(const Submission& submission, std::string_view digest, std::int64_t queue);

  void insert_life(std::int64_t number, const NewTask& task, const QueueRow& queue, SubmitOutcome& outcome,
                   Change& change);

  Writer& writer_;
  TaskRowInserter insert_task_;
  Statement insert_life_;
  Statement start_;
  Statement find_id_;
  Statement find_key_;
};

}  // namespace horae::sqlite
