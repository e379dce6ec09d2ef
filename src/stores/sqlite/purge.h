// Removes finished tasks with all that belongs to them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/task_store.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Purger {
 public:
  explicit Purger(Writer& writer);

  // Removes up to `max` tasks of a queue that finished before that time, oldest first. Inside a transaction.
  PurgeOutcome purge(std::int64_t queue, Instant before, std::size_t max, Change& change);

 private:
  bool purge_one(std::int64_t number, std::int64_t queue, Change& change);

  Statement purgeable_;
  Statement purge_life_;
  Statement purge_task_;
  Statement purge_checkpoint_;
  Statement purge_errors_;
  Statement purge_trail_;
  Statement raise_high_number_;
};

}  // namespace horae::sqlite
