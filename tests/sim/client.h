// Those who want something done: they submit, cancel, pause, stop and change their minds, and insist on an answer.
#pragma once

#include <string>

#include "tests/sim/network.h"

namespace horae::sim {

class Client {
 public:
  Client(World& world, Network& network) : world_(world), network_(network) {}

  void start();

  // No new tasks. What was begun is still insisted on, and all that was stopped or paused is started again: a request
  // that was delayed may have stopped it after the one that started it. Ageing is on, so that nobody starves.
  void stop();

  // True while a queue or the scheduler waits to be started again, or a task to be acknowledged.
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
