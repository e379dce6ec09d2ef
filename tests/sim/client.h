// A client: submits and cancels tasks, pauses queues, stops the scheduler, and repeats each call until it succeeds.
#pragma once

#include <string>

#include "tests/sim/network.h"

namespace horae::sim {

class Client {
 public:
  Client(World& world, Network& network) : world_(world), network_(network) {}

  void start();

  // Submits no more tasks. Calls in progress are still repeated, and everything that was stopped or paused is started
  // again: a delayed request may have stopped it after the request that started it. Ageing is on, so that no task starves.
  void stop();

  // True while a call is not acknowledged: a submit, or a change of a queue or the scheduler.
  bool is_busy() const { return open_calls_ > 0; }

  std::int64_t intents() const { return intents_; }

 private:
  void submit_next();
  void meddle_next();
  void meddle();
  NewTask draw_task();
  NewTask draw_recurring();
  void submit(const NewTask& task);
  void send(const NewTask& task);
  void cancel(const TaskId& id);
  void pause_for_a_while(const std::string& queue);
  void configure(const std::string& queue, const QueueChange& change);
  void set_scheduler_running(bool running);
  std::string any_queue();
  Duration soon() { return world_.chance.between(world_.plan.lease / 40, world_.plan.lease / 20); }

  World& world_;
  Network& network_;
  Peer peer_;
  std::int64_t intents_ = 0;
  int open_calls_ = 0;
  bool is_stopped_ = false;
};

}  // namespace horae::sim
