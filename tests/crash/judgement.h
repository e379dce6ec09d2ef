// Collects what a store acknowledged to worker processes before they were killed, and checks that the store kept it.
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

// The number of kills: HORAE_KILLS, which `make soak` sets, else 200.
int kills();

// The acknowledgements that workers have printed (store_worker.cc lists the lines), as a history. Its order is that of
// the lines, not of the commits.
struct WorkerLog {
  sim::History history{.in_order = false};
  std::size_t submitted = 0;
  std::size_t completed = 0;
  std::size_t unavailable = 0;  // calls that failed with kUnavailable
  std::string broken = "";      // the last line of a worker that ended by itself

  // Adds a line. True if it is an acknowledgement.
  bool add(const std::string& line);
};

// A store_worker, or a program with the same output, whose output a thread reads into `log`.
//
// Not thread-safe. `log` may be read only after kill().
class RunningWorker {
 public:
  RunningWorker(const std::vector<std::string>& argv, WorkerLog& log);
  ~RunningWorker() { kill(); }
  RunningWorker(const RunningWorker&) = delete;
  RunningWorker& operator=(const RunningWorker&) = delete;

  // Waits for `count` further acknowledgements; false if the worker ends first.
  bool wait_for_acknowledgements(std::size_t count);

  void send_signal(int signal) const { process_.send_signal(signal); }

  // kill -9. Lines that it printed before it died count. Idempotent.
  void kill();

 private:
  void read_lines();

  WorkerLog& log_;
  Process process_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t acknowledged_ = 0;  // guarded by mutex_
  bool ended_ = false;            // guarded by mutex_
  std::thread reader_;
};

// Completes the history with the final state of the store.
enum class Counts { kExact, kMayLag };
void complete_history(Store& store, WorkerLog& log, Counts counts);

// Fails the test if the history checker (tests/sim/checker.h) finds a violation: the store must have everything that it
// acknowledged, and no attempt twice. The counts of a PostgreSQL store may lag behind its tasks, so they are not
// checked.
void expect_kept(Store& store, WorkerLog& log, Counts counts);

}  // namespace horae::testing
