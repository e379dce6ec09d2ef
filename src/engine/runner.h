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

// A thread for each loop, so that one which waits for the store stops no other.
//
// Threads: the members by one thread at a time; wakers by any.
class Runner {
 public:
  // The clock is the system's: waits are real.
  Runner(const Clock& clock, Logger log) : clock_(clock), log_(std::move(log)) {}
  ~Runner() { stop(); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // The loop runs when it wants to, and at once when its waker rings. Both must outlive the runner. Before start().
  void add(Loop& loop, Waker& waker);

  // Starts the loops in the order in which they were added.
  void start();

  // Stops them in the reverse order, each after the end of its pass: those who serve others are added first. May be
  // called twice.
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
