// Clients and workers that call nodes continuously and record the responses.
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
  std::set<std::string> acknowledged;  // ids of tasks that a node has accepted
  std::map<std::string, int> claims;   // how often "ID attempt N" was handed out
  std::set<std::string> completed;     // ids of tasks whose completion was accepted
  std::size_t refusals = 0;            // 503 with Retry-After
  std::vector<std::string> surprises;  // any other response that is not a success, and calls without a response
};

// Some of its threads submit tasks to the queue "busy", some claim and complete them. A few hold one task each of the
// queue "held" and send heartbeats for leases of ten seconds, until finish(). Calls use the nodes in turn; a refused
// call is repeated with the same id or token until it succeeds.
//
// Not thread-safe: one thread at a time.
class Load {
 public:
  explicit Load(std::vector<std::string> nodes);  // their URLs
  ~Load();                                        // without finish(): abandons refused calls
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Starts all threads and waits until each task of "held" has had a heartbeat: by then the nodes monitor leases.
  void start();

  // Waits for `count` further tasks to end; false if that takes over a minute.
  bool wait_for_completions(std::size_t count);

  // Stops submitting, waits until all tasks have ended, and joins the threads. False if that takes over a minute.
  bool finish();

  LoadReport report() const;

 private:
  class Caller;  // the client of one thread

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

// Fails the test unless every response was a success or a refusal, each accepted task ended in its first attempt, and no
// attempt was handed out twice.
void expect_each_ended_once(const LoadReport& report, RunningNode& node);

}  // namespace horae::testing
