// Drives loops with threads.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/waker.h"
#include "engine/loop.h"

namespace horae {

// One thread for each loop, so that a loop that waits for the store does not stop the others.
//
// Not thread-safe: one thread at a time. Wakers are thread-safe.
class Runner {
 public:
  // The clock must be the system's, because the waits are real.
  Runner(const Clock& clock, Logger log) : clock_(clock), log_(std::move(log)) {}
  ~Runner() { stop(); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // The loop runs when it wants to, and at once when its waker is woken. Both must outlive the runner. Before start().
  void add(Loop& loop, Waker& waker);

  // Starts the loops in the order in which they were added.
  void start();

  // Stops the loops in reverse order, each after the end of its pass: add a loop before the loops that rely on it. May
  // be called twice.
  void stop();

 private:
  struct Driven {
    Driven(Loop& a_loop, Waker& a_waker) : loop(a_loop), waker(a_waker) {}
    Loop& loop;
    Waker& waker;
    std::atomic<bool> is_stopping = false;
    std::thread thread;
  };

  void drive(Driven& driven);

  const Clock& clock_;
  Logger log_;
  std::vector<std::unique_ptr<Driven>> driven_;
};

}  // namespace horae
