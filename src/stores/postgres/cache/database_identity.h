// What a node remembers of its database: the numbers of queues, what tasks are, which days have partitions. It holds
// for that database only.
//
// The one that answers under the same URL tomorrow may have another past: a standby took its place that had not got
// everything, it was restored from a backup, or it was made anew. There the number of a queue may be that of another
// one, and the number of a task that of another one. Whoever believed its memory then would put tasks where nobody
// looks for them, and run the spec of one for another.
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

// Threads: any thread at once.
class DatabaseIdentity {
 public:
  // `prepare` makes the database that answers now ready for use and answers its Connection::incarnation(), within a
  // limited time. `forget` empties the memory and takes leave of all connections that were made until then; nobody uses
  // the memory meanwhile.
  DatabaseIdentity(std::function<Result<std::string>()> prepare, std::function<void()> forget)
      : prepare_(std::move(prepare)), forget_(std::move(forget)) {}

  // For each new connection: kUnavailable if it leads to another database than the one that is remembered. So whatever
  // was remembered is never used there.
  Result<void> admit(const Connection& connection);

  // Runs a call that uses the memory, or one, like the tick, that comes often enough for somebody to notice soon that
  // the database is another one. If it is, and nothing of the call has begun, all is forgotten and the call is run
  // again. Once it has begun the answer is kUnavailable: part of it may be done.
  template <typename Call>
  std::invoke_result_t<Call> use(Call call) {
    for (bool is_repeated = false;; is_repeated = true) {
      if (database_changed_) {
        if (auto moved = move(); !moved.ok()) return moved.error();
      }
      const std::uint64_t begun = Pool::begun_on_this_thread();
      const std::shared_lock lock(in_use_);
      auto answer = call();
      if (answer.ok() || is_repeated || !database_changed_ || Pool::begun_on_this_thread() != begun) return answer;
    }
  }

  // How often the database was another one.
  std::uint64_t moves() const { return moves_; }

 private:
  Result<void> move();
  Result<void> try_to_move();

  const std::function<Result<std::string>()> prepare_;
  const std::function<void()> forget_;
  std::shared_mutex in_use_;                // shared while the memory is used; not shared while it is emptied
  std::atomic<bool> database_changed_ = false;  // a connection was refused: calls wait for moving_ before they begin
  std::atomic<std::uint64_t> moves_ = 0;

  std::mutex moving_;                        // taken before in_use_; new calls stop here, so the wait for that one ends
  std::atomic<std::uint64_t> attempts_ = 0;  // to move, that have ended
  Result<void> last_attempt_;                // guarded by moving_

  std::mutex mutex_;
  std::string incarnation_;  // guarded by mutex_; of what is remembered; empty before the first connection
};

}  // namespace horae::postgres
