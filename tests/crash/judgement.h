// What processes on a store were told before they were killed, and whether the store still stands by it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "model/task.h"
#include "store/store.h"
#include "tests/sim/history.h"
#include "tests/support/process.h"

namespace horae::testing {

// How often to kill: 200 times, or as often as HORAE_KILLS says (make soak).
int kills();

// What the store has acknowledged, by the lines of store_worker: as a history, in the order in which its threads spoke,
// which is not that of the commits.
struct Told {
  sim::History history{.in_order = false};
  std::size_t submitted = 0;
  std::size_t completed = 0;
  std::size_t away = 0;     // calls that were answered by kUnavailable
  std::string broken = "";  // the last words of a worker that ended by itself

  // True if the line tells of something that was acknowledged.
  bool add(const std::string& line);
};

// A store_worker, or another that speaks as it does, to which somebody listens all the time.
//
// Threads: one at a time. `told` may be looked at after kill() only.
class RunningWorker {
 public:
  RunningWorker(const std::vector<std::string>& argv, Told& told);
  ~RunningWorker() { kill(); }
  RunningWorker(const RunningWorker&) = delete;
  RunningWorker& operator=(const RunningWorker&) = delete;

  // Waits until that much more is acknowledged, counted from now; false if the worker ends first.
  bool wait_for_acknowledgements(std::size_t count);

  void send_signal(int signal) const { process_.send_signal(signal); }

  // kill -9. What it still said before it died counts as well. May be called again.
  void kill();

 private:
  void listen();

  Told& told_;
  Process process_;
  std::mutex mutex_;
  std::condition_variable said_;
  std::size_t acknowledged_ = 0;  // guarded by mutex_
  bool ended_ = false;            // guarded by mutex_
  std::thread listener_;
};

// Completes the history by how the store stands.
enum class Counts { kExact, kMayLag };
void complete_history(Store& store, Told& told, Counts counts);

// Fails the test unless the checker of histories (tests/sim/checker.h) is content: the store knows all that was told,
// and no attempt was given twice. The counts of a PostgreSQL store may be older than its tasks, so they are not judged.
void expect_kept(Store& store, Told& told, Counts counts);

}  // namespace horae::testing
