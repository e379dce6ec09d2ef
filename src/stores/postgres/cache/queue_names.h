// The numbers of queues by their names. Queues are never deleted, so what was once read of a database holds.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

using QueueNumbers = std::map<std::string, int, std::less<>>;

// Thread-safe. The pool must outlive it. Not to be called from within a transaction of the pool: it may need a
// connection itself.
class QueueNames {
 public:
  explicit QueueNames(Pool& pool) : pool_(pool) {}

  // Those that exist. Reads from the database only the names that are not cached.
  Result<QueueNumbers> find(const std::vector<std::string>& names);

  // The same, and makes those that are missing, with default settings, for good. Those that would be more than
  // kMaxQueues are absent from the answer: the first ones of `names` come in.
  Result<QueueNumbers> find_or_make(const std::vector<std::string>& names);

  // kInternal if there is none.
  Result<std::string> name_of(int no);

  // The database is another one: see DatabaseIdentity.
  void forget();

 private:
  // The cached ones; adds those that may be in the database to `unknown`, each once and in order.
  QueueNumbers known(const std::vector<std::string>& names, std::vector<std::string>& unknown);
  void remember(const QueueNumbers& numbers);

  Pool& pool_;
  std::mutex mutex_;
  std::unordered_map<std::string, int> numbers_;  // guarded by mutex_
  std::unordered_map<int, std::string> names_;    // guarded by mutex_
};

}  // namespace horae::postgres
