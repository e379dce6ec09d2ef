// What a node remembers of its database: the numbers of queues, what tasks are, which days have partitions. It holds
// for that database only.
//
// The one that answers under the same URL tomorrow may have another past: a standby took its place that had not got
// everything, it was restored from a backup, or it was made anew. There the number of a queue may be that of another
// one, and the number of a task that of another one. Whoever believed its memory then would put tasks where nobody
// looks for them, and run the spec of one for another.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "stores/postgres/connection.h"

namespace horae::postgres {

// Threads: any thread at once.
class Memory {
 public:
  // `forget` empties the memory. `move` makes the database that answers now ready for use, takes leave of all
  // connections that may lead to another, and answers its Connection::incarnation(). Nothing uses the memory meanwhile.
  Memory(std::function<void()> forget, std::function<Result<std::string>()> move)
      : forget_(std::move(forget)), move_(std::move(move)) {}

  // For each new connection: kUnavailable if it leads to another database than the one that is remembered. So whatever
  // was remembered is never used there.
  Result<void> admit(const Connection& connection);

  // Runs a call that uses the memory, or is asked often enough to find out that it is out of date. If it has met
  // another database, all is forgotten and the call is run once more, as its caller would: it has the same ids and
  // tokens.
  template <typename Call>
  std::invoke_result_t<Call> use(Call call) {
    for (bool is_repeated = false;; is_repeated = true) {
      if (is_elsewhere_) {
        if (auto moved = move(); !moved.ok()) return moved.error();
      }
      const std::shared_lock lock(in_use_);
      auto answer = call();
      if (answer.ok() || is_repeated || !is_elsewhere_) return answer;
    }
  }

 private:
  Result<void> move();

  const std::function<void()> forget_;
  const std::function<Result<std::string>()> move_;
  std::mutex moving_;                       // before in_use_, for which one might wait for ever while others use it
  std::shared_mutex in_use_;                // shared while the memory is used; not shared while it is emptied
  std::atomic<bool> is_elsewhere_ = false;  // a connection was refused; nobody may begin to use the memory

  std::mutex mutex_;
  std::string incarnation_;  // guarded by mutex_; of what is remembered; empty before the first connection
};

}  // namespace horae::postgres
