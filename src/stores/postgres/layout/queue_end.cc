#include "stores/postgres/layout/queue_end.h"

#include "store/queue_store.h"
#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kPatience = statement("queue_end_patience");
const Sql kLockSubmits = statement("queue_end_lock");
const Sql kEnd = statement("queue_end", Changes::kAny);
const Sql kForgettable = statement("queue_forgettable");

std::vector<int> numbers_in(const Rows& rows) {
  std::vector<int> numbers;
  for (const Row row : rows) numbers.push_back(row.small(0));
  return numbers;
}

}  // namespace

Result<std::vector<int>> end_queues(Pool& pool, const std::vector<int>& queues, EndOf which) {
  if (queues.empty()) return std::vector<int>();
  return pool.transact<std::vector<int>>([&](Transaction& transaction) -> Result<std::vector<int>> {
    transaction.send(kPatience);
    transaction.send(kLockSubmits);
    const std::size_t ended = transaction.send(
        kEnd, Params::of(std::vector<std::int32_t>(queues.begin(), queues.end()), which == EndOf::kNeverConfigured));
    if (auto done = transaction.commit(); !done.ok()) {
      if (transaction.failure()->lock_timeout()) {
        return Error{ErrorCode::kUnavailable, "the queue cannot be ended now, because submissions are slow; try again"};
      }
      return done.error();
    }
    return numbers_in(transaction.rows(ended));
  });
}

Result<std::vector<int>> forget_queues(Pool& pool, std::size_t max) {
  auto forgettable = pool.look<std::vector<int>>([&](Transaction& transaction) -> Result<std::vector<int>> {
    const std::size_t found = transaction.send(kForgettable, Params::of(kQueueMemory, static_cast<std::int64_t>(max)));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return numbers_in(transaction.rows(found));
  });
  if (!forgettable.ok()) return forgettable;
  auto ended = end_queues(pool, *forgettable, EndOf::kNeverConfigured);
  if (!ended.ok() && ended.error().code == ErrorCode::kUnavailable) return std::vector<int>();
  return ended;
}

}  // namespace horae::postgres
