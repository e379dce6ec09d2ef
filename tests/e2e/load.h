// Clients and workers that call nodes all the time, and remember what they were told.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/running_node.h"

namespace horae::testing {

struct LoadReport {
  std::set<std::string> acknowledged;  // ids of tasks that a node has taken
  std::map<std::string, int> claims;   // how often somebody got "ID attempt N"
  std::set<std::string> completed;     // ids of tasks whose completion was taken
  std::size_t refusals = 0;            // answers 503 that say when to come again
  std::vector<std::string> surprises;  // any other answer that is not a success, and calls without an answer
};

// Some of its threads submit tasks to the queue "busy", others claim and complete them. A few hold a task of the queue
// "held" each and beat for it with leases of ten seconds, until finish(). Each call goes to the next of the nodes; one
// that is refused is made again, with the same id or token, until it is answered.
//
// Threads: one at a time.
class Load {
 public:
  explicit Load(std::vector<std::string> nodes);  // their URLs
  ~Load();                                        // without finish(): calls that are refused are given up
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Starts all threads and waits until each task of "held" is held and was beaten for: by then the nodes watch leases.
  void start();

  // Waits until that many more tasks have ended, counted from now; false if they do not within a minute.
  bool wait_for_completions(std::size_t count);

  // Submits nothing more, waits until all tasks have ended, and ends the threads. False if that takes over a minute.
  bool finish();

  LoadReport report() const;

 private:
  class Caller;  // a thread's way to the nodes

  void submit_tasks();
  void complete_tasks();
  void hold_a_task(int number);
  std::size_t completed() const;
  bool have_all_ended() const;

  const std::vector<std::string> nodes_;
  std::atomic<std::size_t> next_node_ = 0;
  std::atomic<bool> submits_ = true;
  std::atomic<bool> works_ = true;
  std::atomic<bool> is_given_up_ = false;
  std::atomic<int> beating_ = 0;
  std::atomic<int> active_submitters_ = 0;

  mutable std::mutex mutex_;
  LoadReport report_;  // guarded by mutex_

  std::vector<std::thread> submitters_;
  std::vector<std::thread> workers_;
};

// Fails the test unless all went as a client may expect on any day: no answer but success or a refusal, each task that
// was taken has ended, in its first attempt, and no attempt was given out twice.
void expect_each_ended_once(const LoadReport& report, RunningNode& node);

}  // namespace horae::testing
