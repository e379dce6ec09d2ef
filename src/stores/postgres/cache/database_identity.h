// Guards what a node caches of its database: the numbers of queues, the contents of tasks, the days that have
// partitions. A cached value is valid for the database that it was read from, and for no other.
//
// The database behind a URL can change: a standby takes over that lacks the last commits, a backup is restored, or the
// database is created again. There the same queue number or task number may belong to another queue or task. With stale
// caches the node would put tasks into queues where no claim finds them, and run the spec of one task for another.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Thread-safe.
class DatabaseIdentity {
 public:
  // `prepare` makes the present database ready for use and returns its Connection::incarnation(), within a limited
  // time. `reset_caches` empties the caches and renews the pool, so that no older connection is used again; no call of
  // run() is under way meanwhile.
  DatabaseIdentity(std::function<Result<std::string>()> prepare, std::function<void()> reset_caches)
      : prepare_(std::move(prepare)), reset_caches_(std::move(reset_caches)) {}

  // Checks a new connection: kUnavailable if it leads to another database than the one that is cached. So no cached
  // value is ever used with another database.
  Result<void> admit(const Connection& connection);

  // Runs a call that uses the caches, or one, like the tick, that comes often enough to notice soon that the database
  // has changed. If it has, and no transaction of the call has begun, the caches are reset and the call is run again.
  // If one has begun, the answer is kUnavailable: part of the call may be done.
  template <typename Call>
  std::invoke_result_t<Call> run(Call call) {
    for (bool is_repeated = false;; is_repeated = true) {
      if (database_changed_) {
        if (auto adopted = adopt_database(); !adopted.ok()) return adopted.error();
      }
      const std::uint64_t begun = Pool::begun_on_this_thread();
      const std::shared_lock lock(in_use_);
      auto answer = call();
      if (answer.ok() || is_repeated || !database_changed_ || Pool::begun_on_this_thread() != begun) return answer;
    }
  }

  // How often the database has changed.
  std::uint64_t changes() const { return changes_; }

 private:
  Result<void> adopt_database();
  Result<void> try_to_adopt();

  const std::function<Result<std::string>()> prepare_;
  const std::function<void()> reset_caches_;
  std::shared_mutex in_use_;  // shared by calls that use the caches; exclusive while the caches are reset
  std::atomic<bool> database_changed_ = false;  // a connection was refused: calls wait for adopting_ before they begin
  std::atomic<std::uint64_t> changes_ = 0;

  std::mutex adopting_;                      // taken before in_use_: it stops new calls, so that wait ends
  std::atomic<std::uint64_t> attempts_ = 0;  // of try_to_adopt(), finished
  Result<void> last_attempt_;                // guarded by adopting_

  std::mutex mutex_;
  std::string incarnation_;  // guarded by mutex_; of the cached database; empty before the first connection
};

}  // namespace horae::postgres
