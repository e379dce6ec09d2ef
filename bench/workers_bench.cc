// workers_bench [PART...] [quick]: workers as users write them, over REST on whole nodes: each with an id of its own, an
// API token that may see its queue only, and claims under tokens that serve once; one call for each batch, or for each
// task; heartbeats for what takes long. Beside them the store called directly in the same pattern, and the plain layout by
// bare libpq. The third part of make bench/http.
//
// Parts: exchange100, exchange8, own_token, single, workers, crowd, errors; all of them without arguments. `quick`: each
// takes some seconds. The candidates take turns, and the median of the ratios of each turn is the result.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/folder.h"
#include "bench/http_client.h"
#include "bench/live_workers.h"
#include "bench/measure.h"
#include "bench/postgres_meter.h"
#include "bench/postgres_plain.h"
#include "bench/rest_bodies.h"
#include "tests/support/postgres_server.h"

namespace horae::bench {
namespace {

constexpr int kWorkers = 4;

using Results = std::vector<std::pair<std::string, double>>;

struct Pace {
  int rounds = 5;
  double seconds = 3.0;    // of each candidate in each round
  long lives = 1'000'000;  // of the part errors
};

// ---- Candidates ----

using RestCall = std::function<long(RestWorker&)>;

double rest_lives_per_second(const std::string& url, double seconds, bool has_long_tasks, const RestCall& call) {
  const Place place(url);
  std::vector<std::unique_ptr<RestWorker>> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(std::make_unique<RestWorker>(place));
    if (has_long_tasks) workers.back()->hold_long_tasks(kLongTasks);
  }
  return lives_per_second(kWorkers, seconds, [&](int i, const std::atomic<bool>& stop) {
    long lives = 0;
    while (!stop) lives += call(*workers[static_cast<std::size_t>(i)]);
    return lives;
  });
}

double store_lives_per_second(const std::string& url, double seconds, int batch) {
  const SystemClock clock;
  const auto store = std::move(open_store(url, clock)).value();
  return lives_per_second(kWorkers, seconds, [&](int i, const std::atomic<bool>& stop) {
    StoreWorker worker(store->tasks(), fmt::format("worker-{}", i));
    worker.hold_long_tasks(kLongTasks);
    long lives = 0;
    while (!stop) {
      worker.submit(batch);
      lives += worker.exchange(batch);
    }
    return lives;
  });
}

double plain_lives_per_second(const std::string& url, double seconds, int batch) {
  PostgresPlain::create_tables(url);
  return lives_per_second(kWorkers, seconds, [&](int i, const std::atomic<bool>& stop) {
    PostgresPlain worker(url, fmt::format("worker-{}", i));
    std::vector<YardstickTask> tasks;
    for (int j = 0; j < batch; ++j) tasks.push_back({.priority = 50 + j % 4, .spec = kSpecOfBench});
    std::vector<YardstickClaim> held;
    long lives = 0;
    while (!stop) {
      worker.submit(tasks);
      const auto done = static_cast<long>(held.size());
      held = worker.exchange(held, {}, batch);
      lives += done;
    }
    return lives;
  });
}

// ---- Parts ----

class World {
 public:
  explicit World(Pace pace) : pace_(pace) {}

  const Pace& pace() const { return pace_; }
  testing::PostgresServer& server() { return server_; }
  PostgresMeter& meter() { return meter_; }
  std::string new_database() { return server_.make_database(); }
  std::string new_file() { return "sqlite:" + folder_.new_file(); }

 private:
  const Pace pace_;
  testing::PostgresServer server_{
      {.settings = {"max_wal_size = 8GB", "checkpoint_timeout = 30min", "shared_buffers = 1GB",
                    "shared_preload_libraries = 'pg_stat_statements'"}}};
  PostgresMeter meter_{server_.url(), server_.pid()};
  Folder folder_;
};

// Each is measured in turn; the ratios are those of the first one to each of the others.
struct Candidate {
  std::string name;
  std::function<double()> measure;
};

void compare(const World& world, const std::string& name, const std::vector<Candidate>& candidates, Results& results) {
  std::vector<std::vector<double>> rates(candidates.size());
  for (int round = 0; round < world.pace().rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) rates[i].push_back(candidates[i].measure());
  }
  fmt::print("{}:", name);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    fmt::print("  {} {:.0f}/s", candidates[i].name, spread_of(rates[i]).median);
    if (i == 0) continue;
    std::vector<double> ratios;
    for (std::size_t j = 0; j < rates[i].size(); ++j) ratios.push_back(rates[0][j] / rates[i][j]);
    results.emplace_back(fmt::format("{}.vs_{}", name, candidates[i].name), spread_of(ratios).median);
  }
  fmt::print("\n");
  results.emplace_back(name + ".per_s", spread_of(rates[0]).median);
}

void compare_exchange100(World& world, Results& results) {
  constexpr int kBatch = 100;
  const double seconds = world.pace().seconds;
  const RestCall live = [](RestWorker& worker) {
    worker.submit(kBatch);
    return worker.exchange(kBatch);
  };
  compare(world, "http.exchange100",
          {{"rest", [&] { return rest_lives_per_second(world.new_database(), seconds, true, live); }},
           {"store", [&] { return store_lives_per_second(world.new_database(), seconds, kBatch); }},
           {"plain", [&] { return plain_lives_per_second(world.new_database(), seconds, kBatch); }}},
          results);
  compare(world, "http.exchange100.sqlite",
          {{"rest", [&] { return rest_lives_per_second(world.new_file(), seconds, true, live); }},
           {"store", [&] { return store_lives_per_second(world.new_file(), seconds, kBatch); }}},
          results);
}

// More tasks are ready than the workers can do meanwhile.
std::string filled_database(World& world) {
  std::string url = world.new_database();
  const SystemClock clock;
  const auto store = std::move(open_store(url, clock)).value();
  StoreWorker submitter(store->tasks(), "worker-0");
  for (int i = 0; i < static_cast<int>(20 * world.pace().seconds); ++i) submitter.submit(1000);
  return url;
}

double drained_per_second(World& world, const RestCall& call) {
  return rest_lives_per_second(filled_database(world), world.pace().seconds, false, call);
}

void compare_exchange8(World& world, Results& results) {
  constexpr int kBatch = 8;
  compare(
      world, "http.exchange",
      {{"exchange", [&] { return drained_per_second(world, [](RestWorker& each) { return each.exchange(kBatch); }); }},
       {"claim_settle",
        [&] {
          return drained_per_second(world, [](RestWorker& each) { return each.settle_and_claim(kBatch, true); });
        }}},
      results);
}

void compare_own_token(World& world, Results& results) {
  constexpr int kBatch = 100;
  const auto live = [](bool own) {
    return [own](RestWorker& worker) {
      worker.submit(kBatch);
      return worker.settle_and_claim(kBatch, own);
    };
  };
  const double seconds = world.pace().seconds;
  compare(world, "http.own_token",
          {{"own_token", [&] { return rest_lives_per_second(world.new_database(), seconds, false, live(true)); }},
           {"without", [&] { return rest_lives_per_second(world.new_database(), seconds, false, live(false)); }}},
          results);
}

// One worker, one task a call: what a life costs the server, beside the plain layout.
void measure_single(World& world, Results& results) {
  struct Cost {
    double cpu_us, commits, wal_bytes;
  };
  const auto transactions = [&] {
    return std::stod(world.server().run_sql("select txid_snapshot_xmax(txid_current_snapshot())"));
  };
  const auto cost_of = [&](const std::function<void()>& live) {
    for (int i = 0; i < 50; ++i) live();  // fills caches and prepares plans
    const double xids = transactions();
    const ServerSpent before = world.meter().read();
    long lives = 0;
    for (const Stopwatch watch; watch.read().wall_s < world.pace().seconds; ++lives) live();
    const ServerSpent spent = world.meter().read() - before;
    const auto n = static_cast<double>(lives);
    return Cost{spent.cpu_s / n * 1e6, (transactions() - xids) / n, spent.wal_bytes / n};
  };
  std::vector<double> ours, plain, ratios, commits, wal;
  for (int round = 0; round < world.pace().rounds; ++round) {
    {
      const Place place(world.new_database());
      RestWorker worker(place);
      const Cost cost = cost_of([&] {
        worker.submit(1);
        (void)worker.exchange(1);
      });
      ours.push_back(cost.cpu_us);
      commits.push_back(cost.commits);
      wal.push_back(cost.wal_bytes);
    }
    const std::string url = world.new_database();
    PostgresPlain::create_tables(url);
    PostgresPlain worker(url, "worker-1");
    const std::vector<YardstickTask> task = {{.priority = 50, .spec = kSpecOfBench}};
    std::vector<YardstickClaim> held;
    plain.push_back(cost_of([&] {
                      worker.submit(task);
                      held = worker.exchange(held, {}, 1);
                    }).cpu_us);
    ratios.push_back(ours.back() / plain.back());
  }
  results.emplace_back("http.single.commits_per_life", spread_of(commits).median);
  results.emplace_back("http.single.cpu_us_per_life", spread_of(ours).median);
  results.emplace_back("http.single.plain_cpu_us_per_life", spread_of(plain).median);
  results.emplace_back("http.single.cpu_vs_plain", spread_of(ratios).median);
  results.emplace_back("http.single.wal_per_life", spread_of(wal).median);
}

// Many workers, each with one task at a time.
double many_workers(World& world, int count) {
  const Place place(filled_database(world));
  Ids ids;
  std::vector<std::string> owners;
  BlockingClient registrar(place.node.port());
  for (int i = 0; i < count; ++i) owners.push_back(register_worker(place, registrar));
  std::atomic<long> lives = 0;
  const double seconds = world.pace().seconds;
  (void)answers_per_second({.port = place.node.port(), .connections = count, .threads = 1, .seconds = seconds},
                           [&](int connection, const std::string& answer) {
                             const auto done = answer.empty() ? std::vector<HeldTask>() : held_tasks(answer);
                             lives += static_cast<long>(done.size());
                             return place.post("/v1/exchange",
                                               exchange_body(owners[static_cast<std::size_t>(connection)], done, {}, 1,
                                                             to_string(ids.next())));
                           });
  return static_cast<double>(lives) / seconds;
}

void measure_workers(World& world, Results& results) {
  for (const int count : {32, 256}) {
    std::vector<double> rates;
    for (int round = 0; round < world.pace().rounds; ++round) rates.push_back(many_workers(world, count));
    results.emplace_back(fmt::format("http.workers{}.lives_per_s", count), spread_of(rates).median);
  }
}

// A thousand workers that wait, while nothing happens, and while single tasks come.
void measure_crowd(World& world, Results& results) {
  constexpr int kCrowd = 1000;
  const std::string url = world.new_database();
  const std::string database = url.substr(url.rfind('/') + 1);
  auto& server = world.server();
  server.run_sql("create extension if not exists pg_stat_statements");
  const Place place(url);
  Ids ids;
  BlockingClient client(place.node.port());
  const auto statements = [&](const std::string& condition) {
    return std::stod(server.run_sql(
        fmt::format("select coalesce(sum(calls), 0) from pg_stat_statements join pg_database on dbid = pg_database.oid"
                    " where datname = '{}' and {}",
                    database, condition)));
  };
  std::vector<std::string> owners;
  for (int i = 0; i < kCrowd; ++i) owners.push_back(register_worker(place, client));
  std::atomic<int> waiting = 0;
  std::atomic<long> lives = 0;
  const double seconds = 3 * world.pace().seconds;
  std::thread crowd([&] {
    (void)answers_per_second(
        {.port = place.node.port(), .connections = kCrowd, .threads = 1, .seconds = 2 * seconds + 8},
        [&](int connection, const std::string& answer) {
          const auto done = answer.empty() ? std::vector<HeldTask>() : held_tasks(answer);
          lives += static_cast<long>(done.size());
          ++waiting;
          const std::string& owner = owners[static_cast<std::size_t>(connection)];
          if (!done.empty()) return place.post("/v1/exchange", exchange_body(owner, done, {}, 0, {}));
          return place.post("/v1/exchange", exchange_body(owner, {}, {}, 1, to_string(ids.next()), "30s"));
        });
  });
  while (waiting < kCrowd) pass(0.01);
  pass(3);
  const double before = statements("true");
  pass(seconds);
  results.emplace_back("http.crowd1000.idle_queries_per_s", (statements("true") - before) / seconds);
  const std::string claims = "query like '%insert into running%' and query like '%skip locked%'";
  const double claims_before = statements(claims);
  const int count = static_cast<int>(50 * world.pace().seconds);
  for (int i = 0; i < count; ++i) {
    (void)client.call(post_request("/v1/tasks", R"({"queue":"bench","spec":1})"));
    pass(seconds / count);
  }
  while (lives < count) pass(0.01);
  results.emplace_back("http.crowd1000.claims_per_task", (statements(claims) - claims_before) / count);
  crowd.join();
}

// ERROR lines in the server's log after many lives, by exchange of several workers at several nodes.
void count_errors(World& world, Results& results) {
  auto& server = world.server();
  const auto errors = [&] {
    const std::filesystem::path folder = std::filesystem::path(server.run_sql("show data_directory")).parent_path();
    long lines = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             folder, std::filesystem::directory_options::skip_permission_denied)) {
      if (!entry.is_regular_file() || entry.path().filename() != "log") continue;
      std::ifstream log(entry.path());
      for (std::string line; std::getline(log, line);) lines += line.find("ERROR: ") != std::string::npos;
    }
    return lines;
  };
  const long before = errors();
  const std::string url = world.new_database();
  const SystemClock clock;
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 2; ++i) stores.push_back(std::move(open_store(url, clock)).value());
  std::atomic<long> lives = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&, i] {
      StoreWorker worker(stores[static_cast<std::size_t>(i) % stores.size()]->tasks(), fmt::format("worker-{}", i));
      worker.hold_long_tasks(kLongTasks);
      for (int batch = 1; lives < world.pace().lives; batch = batch % 100 + 1) {
        worker.submit(batch);
        lives += worker.exchange(batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  results.emplace_back("pg.error_lines", static_cast<double>(errors() - before));
}

}  // namespace
}  // namespace horae::bench

int main(int count, char** arguments) {
  using namespace horae::bench;  // NOLINT(google-build-using-namespace): a program of one file
  std::vector<std::string> wanted(arguments + 1, arguments + count);
  const bool is_quick = std::erase(wanted, "quick") > 0;
  const auto is_wanted = [&](const char* part) {
    return wanted.empty() || std::ranges::find(wanted, part) != wanted.end();
  };
  World world(is_quick ? Pace{.rounds = 2, .seconds = 1.0, .lives = 20'000} : Pace());
  Results results;
  if (is_wanted("exchange100")) compare_exchange100(world, results);
  if (is_wanted("exchange8")) compare_exchange8(world, results);
  if (is_wanted("own_token")) compare_own_token(world, results);
  if (is_wanted("single")) measure_single(world, results);
  if (is_wanted("workers")) measure_workers(world, results);
  if (is_wanted("crowd")) measure_crowd(world, results);
  if (is_wanted("errors")) count_errors(world, results);
  for (const auto& [name, value] : results) print_result(name, value);
  return 0;
}
