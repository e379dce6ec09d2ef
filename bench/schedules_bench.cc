// schedules_bench [SCHEDULES]: fires of schedules on PostgreSQL. How many a second one node makes when all are due at once,
// and how late they come with three nodes. `make bench/schedules`.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "bench/measure.h"
#include "engine/runner.h"
#include "engine/schedules/schedule_loop.h"
#include "stores/postgres/postgres_store.h"
#include "tests/support/postgres_server.h"

namespace horae::bench {
namespace {

constexpr int kNodes = 3;
constexpr int kSteady = 50;  // schedules that fire each second
constexpr std::chrono::seconds kSteadyTime{8};

// What a node has of a schedule loop.
struct Node {
  explicit Node(const std::string& url, const Clock& clock)
      : log(std::cerr, clock, {.level = LogLevel::kOff}),
        store(open_postgres_store(url).value()),
        ids(clock, random),
        loop(store->schedules(), ids, system_zones(), log),
        runner(clock, log) {
    runner.add(loop, waker);
  }

  Logger log;
  std::unique_ptr<Store> store;
  SystemRandom random;
  UuidSource ids;
  ScheduleLoop loop;
  Waker waker;
  Runner runner;
};

Instant now_of(Store& store) { return store.tasks().look().value().now; }

void put(Node& node, const std::string& name, const ScheduleRules& rules) {
  const NewSchedule schedule{.name = name, .task = {.queue = "bench", .spec = "{}"}, .rules = rules};
  HORAE_CHECK(node.store->schedules().put(schedule, node.ids.next(), std::nullopt).ok(), "put");
}

void run_until_idle(Node& node, const Clock& clock) {
  while (node.loop.run_once(clock.now()) <= clock.now()) {
  }
}

// All are due in the same second.
double fires_per_second(Node& node, const Clock& clock, int schedules) {
  const auto due =
      std::chrono::floor<std::chrono::seconds>(now_of(*node.store)) + std::chrono::seconds(20 + schedules / 500);
  for (int i = 0; i < schedules; ++i) {
    put(node, fmt::format("burst-{}", i), {.every = std::chrono::hours(24), .anchor = due});
  }
  run_until_idle(node, clock);
  while (now_of(*node.store) < due) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const MonotonicTime begin = clock.now();
  run_until_idle(node, clock);
  const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
  const auto page = node.store->queues().queues().value();
  const auto queue = std::ranges::find(page.queues, "bench", &QueueInfo::name);
  HORAE_CHECK(queue != page.queues.end() && queue->ready == schedules, "each schedule has fired once");
  return schedules / seconds;
}

// By the store's clock, from the time of a fire to its task.
std::vector<double> lateness_ms(std::vector<std::unique_ptr<Node>>& nodes) {
  const Instant from = now_of(*nodes[0]->store);
  for (int i = 0; i < kSteady; ++i) {
    put(*nodes[0], fmt::format("steady-{}", i), {.every = std::chrono::seconds(1), .overlap = OverlapRule::kAllow});
  }
  for (const auto& node : nodes) node->runner.start();
  std::this_thread::sleep_for(kSteadyTime);
  for (const auto& node : nodes) node->runner.stop();

  std::vector<double> late;
  Store& store = *nodes[0]->store;
  for (int i = 0; i < kSteady; ++i) {
    const auto fires = store.schedules().fires(fmt::format("steady-{}", i), latest_instant(), 100).value();
    for (const FireRecord& fire : fires) {
      HORAE_CHECK(fire.task.has_value(), "no fire is skipped");
      const auto task = store.tasks().get(std::span(&*fire.task, 1)).value().front();
      if (fire.at <= from + std::chrono::seconds(2)) continue;  // the nodes were starting
      late.push_back(std::chrono::duration<double, std::milli>(task->created_at - fire.at).count());
    }
  }
  std::ranges::sort(late);
  return late;
}

double quantile(const std::vector<double>& sorted, double share) {
  return sorted.at(std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size()))));
}

int run(int schedules) {
  const horae::testing::PostgresServer server;
  const SystemClock clock;
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(std::make_unique<Node>(server.url(), clock));
  const double rate = fires_per_second(*nodes[0], clock, schedules);
  const std::vector<double> late = lateness_ms(nodes);
  fmt::print("{} schedules due at once, one node; {} fires of {} schedules with {} nodes\n", schedules, late.size(),
             kSteady, kNodes);
  print_result("schedule.fires_per_s", rate);
  print_result("schedule.late.p50_ms", quantile(late, 0.5));
  print_result("schedule.late.p99_ms", quantile(late, 0.99));
  return 0;
}

}  // namespace
}  // namespace horae::bench

int main(int count, char** arguments) { return horae::bench::run(count > 1 ? std::atoi(arguments[1]) : 10'000); }
