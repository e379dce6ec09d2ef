// Numbers for tasks, and the days that have partitions for them.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "base/result.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// Thread-safe.
class Days {
 public:
  explicit Days(Pool& pool) : pool_(pool) {}

  // Reads the store's time and makes the partitions around it that are not cached: yesterday to the day after tomorrow.
  Result<void> refresh();

  // A partition is missing: the next refresh() checks all of them.
  void forget();

  // The database is another one: see DatabaseIdentity.
  void forget_all();

  // The store's day at the last refresh(). It may be old: then submit() meets a partition that is gone, and refreshes.
  std::int64_t today();

  // True for a day whose partitions are there, and will be for long enough to write into them now.
  bool is_open(std::int64_t day);

  // `count` numbers of that day that follow one another, never given before; at most kBlock.
  Result<Range> take(std::int64_t day, std::int64_t count);

 private:
  static constexpr std::int64_t kBlock = 4096;

  struct Block {
    std::int64_t next = 0;
    std::int64_t left = 0;
  };

  Pool& pool_;
  std::mutex mutex_;             // held while a new block is taken, so that numbers follow the order of calls
  std::int64_t today_ = 0;       // guarded by mutex_
  std::set<std::int64_t> made_;  // guarded by mutex_; days with partitions, as far as we made or found them
  Block block_;                  // guarded by mutex_; what is left of the newest one
};

}  // namespace horae::postgres
