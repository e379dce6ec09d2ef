// The numbers of queues by their names. A number never gets another name, but a queue may end, here or by another node,
// and its name then get a new number. So a cached number is a hint: a statement that finds no row for it says so, and its
// caller calls forget() and asks again.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/submission.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

using QueueNumbers = std::map<std::string, int, std::less<>>;

// A queue that a caller needs, and on whose account it is made if it does not exist; null: on nobody's.
struct WantedQueue {
  std::string name;
  const QueueAllowance* allowance = nullptr;
};

struct MadeQueues {
  QueueNumbers numbers;
  bool is_full = false;  // there are as many queues as there may be; if not, an allowance is used up
};

// Thread-safe. The pool must outlive it. Not to be called from within a transaction of the pool: it may need a
// connection itself.
class QueueNames {
 public:
  // `max_queues`: how many there may be.
  explicit QueueNames(Pool& pool, std::size_t max_queues = kMaxQueues) : pool_(pool), max_queues_(max_queues) {}

  // Those that exist. Reads from the database only the names that are not cached.
  Result<QueueNumbers> find(const std::vector<std::string>& names);

  // The same, and makes those that are missing, with default settings. Those that would be more than there may be, or
  // than their allowance permits, are absent from the answer: the first ones of `wanted` come in. A name may come with
  // several allowances: the first one that permits it is used.
  Result<MadeQueues> find_or_make_wanted(const std::vector<WantedQueue>& wanted);
  Result<QueueNumbers> find_or_make(const std::vector<std::string>& names);

  // kInternal if there is none.
  Result<std::string> name_of(int no);

  // These queues may have ended: they are read again.
  void forget(const std::vector<std::string>& names);
  void forget_numbers(const std::vector<int>& numbers);

  // The database is another one: see DatabaseIdentity.
  void forget();

  std::size_t max_queues() const { return max_queues_; }

 private:
  // The cached ones; adds those that may be in the database to `unknown`, each once and in order.
  QueueNumbers known(const std::vector<std::string>& names, std::vector<std::string>& unknown);
  void remember(const QueueNumbers& numbers);
  void forget_number(int no);  // with mutex_ held
  Result<MadeQueues> make(const std::vector<WantedQueue>& missing);

  // Of queues that ended at other nodes some entries stay behind, of no use and no harm; beyond this all are dropped.
  static constexpr std::size_t kMostCached = 4 * kMaxQueues;

  Pool& pool_;
  const std::size_t max_queues_;
  std::mutex mutex_;
  std::unordered_map<std::string, int> numbers_;  // guarded by mutex_
  std::unordered_map<int, std::string> names_;    // guarded by mutex_
};

}  // namespace horae::postgres
