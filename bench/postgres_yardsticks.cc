// postgres_yardsticks URL POSTMASTER_PID [SECONDS]: what the yardsticks of the PostgreSQL store reach on a server of
// this machine. Makes the schemas bench_floor and bench_plain anew.
//
// Each connection has a thread that lives whole lives: submit a batch, claim as many, complete what came. A life
// counts when it ends. The yardsticks take turns, each on new tables, because the machine and its disk are noisy.

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure.h"
#include "bench/postgres_floor.h"
#include "bench/postgres_meter.h"
#include "bench/postgres_plain.h"

namespace horae::bench {
namespace {

constexpr int kPriorities = 4;
constexpr std::chrono::duration<double> kWarmUp{0.3};  // plans are made, caches filled
const std::string kSpec = R"({"order":"233","text":")" + std::string(174, 'x') + "\"}";  // 200 bytes

struct Kind {
  std::string name;
  std::function<void(const std::string& url)> create_tables;
  std::function<std::unique_ptr<PostgresYardstick>(const std::string& url, const std::string& owner)> connect;
};

template <typename Yardstick>
Kind kind(const std::string& name) {
  return {name, Yardstick::create_tables,
          [](const auto& url, const auto& owner) { return std::make_unique<Yardstick>(url, owner); }};
}

struct Figures {
  double lives_per_s = 0;
  double wal_bytes = 0;      // of one life
  double server_cpu_us = 0;  // of one life
  double client_cpu_us = 0;  // of one life
};

std::vector<YardstickTask> tasks(int count) {
  std::vector<YardstickTask> all;
  for (int i = 0; i < count; ++i) all.push_back({.priority = 50 + i % kPriorities, .spec = kSpec});
  return all;
}

// Lives until told to stop.
void live(PostgresYardstick& yardstick, int batch, const std::atomic<bool>& stop, std::atomic<std::int64_t>& lives) {
  const auto batch_of_tasks = tasks(batch);
  while (!stop) {
    yardstick.submit(batch_of_tasks);
    const auto claimed = yardstick.claim(batch);
    if (claimed.empty()) continue;  // others hold all there is
    yardstick.complete(claimed);
    lives += static_cast<std::int64_t>(claimed.size());
  }
}

Figures measure(const Kind& kind, const std::string& url, PostgresMeter& meter, int batch, int connections,
                double seconds) {
  kind.create_tables(url);
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> lives = 0;
  std::vector<std::unique_ptr<PostgresYardstick>> yardsticks;
  for (int i = 0; i < connections; ++i) yardsticks.push_back(kind.connect(url, fmt::format("worker-{}", i)));
  std::vector<std::thread> threads;
  for (const auto& yardstick : yardsticks) {
    threads.emplace_back([&, worker = yardstick.get()] { live(*worker, batch, stop, lives); });
  }
  std::this_thread::sleep_for(kWarmUp);

  const std::int64_t lives_before = lives;
  const ServerSpent server_before = meter.read();
  const Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const Spent client = watch.read();
  const ServerSpent server = meter.read() - server_before;
  const auto lived = static_cast<double>(lives - lives_before);

  stop = true;
  for (std::thread& thread : threads) thread.join();
  return {.lives_per_s = lived / client.wall_s,
          .wal_bytes = server.wal_bytes / lived,
          .server_cpu_us = server.cpu_s / lived * 1e6,
          .client_cpu_us = client.cpu_s / lived * 1e6};
}

void run(const std::string& url, pid_t postmaster, double seconds) {
  const std::vector<Kind> kinds = {kind<PostgresFloor>("floor"), kind<PostgresPlain>("plain")};
  PostgresMeter meter(url, postmaster);
  fmt::print("{:>11} {:>6}  {:<6} {:>10} {:>12} {:>14} {:>14}\n", "connections", "batch", "what", "lives/s",
             "WAL B/life", "server us/life", "client us/life");
  for (const int connections : {1, 4}) {
    for (const int batch : {1, 10, 100, 1000}) {
      for (const Kind& kind : kinds) {
        const Figures figures = measure(kind, url, meter, batch, connections, seconds);
        fmt::print("{:>11} {:>6}  {:<6} {:>10.0f} {:>12.0f} {:>14.1f} {:>14.1f}\n", connections, batch, kind.name,
                   figures.lives_per_s, figures.wal_bytes, figures.server_cpu_us, figures.client_cpu_us);
      }
    }
  }
}

}  // namespace
}  // namespace horae::bench

int main(int count, char** arguments) {
  if (count < 3 || count > 4) {
    fmt::print(stderr, "usage: postgres_yardsticks URL POSTMASTER_PID [SECONDS]\n");
    return 2;
  }
  horae::bench::run(arguments[1], std::atoi(arguments[2]), count == 4 ? std::atof(arguments[3]) : 2.0);
  return 0;
}
