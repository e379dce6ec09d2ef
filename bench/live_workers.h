// Workers that live as users write them, over REST or on a store, for benches.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "bench/http_client.h"
#include "bench/rest_bodies.h"
#include "bench/whole_node.h"
#include "store/task_store.h"

namespace horae::bench {

inline constexpr int kLongTasks = 4;    // that a worker holds all the time, if any
extern const std::string kSpecOfBench;  // 200 bytes

class Ids {
 public:
  Uuid next() { return ids_.next(); }

 private:
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
};

void pass(double seconds);

// Runs `work(place, stop)`, which returns how many lives it has run, on some threads for a while; lives per second.
double lives_per_second(int threads, double seconds,
                        const std::function<long(int place, const std::atomic<bool>& stop)>& work);

// A node whose workers have an API token for the queue `bench` only.
struct Place {
  explicit Place(const std::string& url);

  std::string post(const std::string& target, const std::string& body) const;  // under that token

  WholeNode node;
  std::string token;
};

// Registers a worker and returns its id.
std::string register_worker(const Place& place, BlockingClient& client);

// On a connection of its own. Its claims have tokens that serve once.
class RestWorker {
 public:
  explicit RestWorker(const Place& place);

  void submit(int count);

  // In one call: completes what it holds, beats for its long tasks, and claims. Returns how many it completed.
  long exchange(int max);

  // The same in two calls, and without a token if not `own_token`.
  long settle_and_claim(int max, bool own_token);

  // From now on exchange() beats for so many.
  void hold_long_tasks(int count);

 private:
  const Place& place_;
  BlockingClient client_;
  Ids ids_;
  const std::string owner_;
  std::string answer_;
  std::vector<HeldTask> held_;
  std::vector<HeldTask> running_;
};

// The same without HTTP, and with a scope like that of the API token.
class StoreWorker {
 public:
  StoreWorker(TaskStore& tasks, std::string owner) : tasks_(tasks), owner_(std::move(owner)) {}

  void submit(int count);
  long exchange(int max);
  void hold_long_tasks(int count);

 private:
  Settlement settlement(const LeasedTask& task, Event event) const;

  TaskStore& tasks_;
  const std::string owner_;
  const Scope scope_ = std::make_shared<const QueueScope>(QueueScope::of({"bench"}).value());
  Ids ids_;
  std::vector<LeasedTask> held_;
  std::vector<LeasedTask> running_;
};

}  // namespace horae::bench
