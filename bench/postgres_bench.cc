// postgres_bench [PART...] [quick]: the cost of the PostgreSQL store compared with its bare statements and the plain
// layout, the gain of the combiner, the effect of an archive and of a held snapshot, and the cost of refusals. Parts:
// life, combiner, archive, snapshot, refused (all of them without arguments); and life.b1, life.b10, life.b100,
// which are parts of life. With `quick` each takes some seconds; alone it stands for the most important part of life. Part
// of make bench/store.
//
// The candidates alternate in one run on one private, durable server, because the machine and its disk are noisy: a
// ratio is computed for each round, and the median of the ratios is the result.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "bench/measure.h"
#include "bench/postgres_floor.h"
#include "bench/postgres_meter.h"
#include "bench/postgres_plain.h"
#include "bench/refusals.h"
#include "store/combiner.h"
#include "stores/postgres/postgres_store.h"
#include "tests/support/postgres_server.h"

namespace horae::bench {
namespace {

constexpr int kPriorities = 4;
constexpr int kBacklog = 50'000;
constexpr std::chrono::duration<double> kWarmUp{0.3};  // fills caches and prepares plans
const std::string kSpec = R"({"order":"233","text":")" + std::string(174, 'x') + "\"}";  // 200 bytes

using Results = std::vector<std::pair<std::string, double>>;

// How long it takes.
struct Pace {
  int rounds = 7;
  double seconds = 4.0;  // of each candidate in each round
};

// ---- The store as a candidate ----

class Ids {
 public:
  Uuid next() { return ids_.next(); }

 private:
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
};

Settlement completion(const LeasedTask& task, const std::string& owner) {
  return {.event = Event::kComplete,
          .id = task.id,
          .number = task.number,
          .attempt = task.attempt,
          .owner = owner,
          .result = "{}"};
}

// Shares a store with the other workers.
class StoreWorker final : public PostgresYardstick {
 public:
  StoreWorker(std::shared_ptr<Store> store, std::string owner) : store_(std::move(store)), owner_(std::move(owner)) {}

  void submit(std::span<const YardstickTask> tasks) override {
    HORAE_CHECK(store_->tasks().submit(submissions_of(tasks)).ok(), "submit");
  }

  std::vector<YardstickClaim> claim(int max) override {
    const std::vector<ClaimWish> wishes = {wish(max)};
    leased_ = std::move(store_->tasks().claim(wishes).value().at(0).tasks);
    return std::vector<YardstickClaim>(leased_.size());
  }

  void complete(std::span<const YardstickClaim>) override {
    check_accepted(store_->tasks().settle(completions()).value());
  }

  std::vector<YardstickClaim> exchange(std::span<const YardstickClaim>, std::span<const YardstickTask> tasks,
                                       int max) override {
    const auto done = completions();
    const auto fresh = submissions_of(tasks);
    const std::vector<ClaimWish> wishes = {wish(max)};
    auto outcome = store_->tasks().exchange({.settlements = done, .submissions = fresh, .wishes = wishes}).value();
    check_accepted(outcome.settled);
    leased_ = std::move(outcome.leased.at(0).tasks);
    return std::vector<YardstickClaim>(leased_.size());
  }

 private:
  std::vector<Submission> submissions_of(std::span<const YardstickTask> tasks) {
    std::vector<Submission> submissions;
    for (const YardstickTask& task : tasks) {
      submissions.push_back(
          {.task = {.queue = "bench", .priority = task.priority, .spec = task.spec}, .new_id = ids_.next()});
    }
    return submissions;
  }

  ClaimWish wish(int max) { return {.owner = owner_, .queues = {"bench"}, .max = max, .token = ids_.next()}; }

  std::vector<Settlement> completions() const {
    std::vector<Settlement> all;
    for (const LeasedTask& task : leased_) all.push_back(completion(task, owner_));
    return all;
  }

  static void check_accepted(const std::vector<SettleOutcome>& outcomes) {
    for (const SettleOutcome& outcome : outcomes) HORAE_CHECK(outcome.verdict == Verdict::kAccepted, "settle");
  }

  std::shared_ptr<Store> store_;
  std::string owner_;
  Ids ids_;
  std::vector<LeasedTask> leased_;
};

// ---- Whole lives ----

using Workers = std::vector<std::unique_ptr<PostgresYardstick>>;

// How workers call: a transaction for each call, or one for a whole round of them.
enum class Way { kCalls, kExchange };

struct Kind {
  std::string name;
  Way way = Way::kExchange;
  std::function<Workers(const std::string& url, int connections)> connect;  // to new tables in an empty database
};

struct Figures {
  double per_s = 0;
  double wal_bytes = 0;      // of one life
  double server_cpu_us = 0;  // of one life
  double client_cpu_us = 0;  // of one life
};

std::vector<YardstickTask> tasks(int count) {
  std::vector<YardstickTask> all;
  for (int i = 0; i < count; ++i) all.push_back({.priority = 50 + i % kPriorities, .spec = kSpec});
  return all;
}

// Workers that run whole lives until the end of the scope: each submits a batch, claims as many and completes them.
class Load {
 public:
  Load(Workers workers, int batch, Way way = Way::kExchange) : workers_(std::move(workers)) {
    for (const auto& worker : workers_) {
      threads_.emplace_back([this, batch, way, worker = worker.get()] {
        if (way == Way::kCalls) live_by_calls(*worker, batch);
        if (way == Way::kExchange) live_by_exchange(*worker, batch);
      });
    }
  }
  ~Load() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Figures measure(PostgresMeter& meter, double seconds) const {
    const std::int64_t lives_before = lives_;
    const ServerSpent server_before = meter.read();
    const Stopwatch watch;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const Spent client = watch.read();
    const ServerSpent server = meter.read() - server_before;
    const auto lived = static_cast<double>(lives_ - lives_before);
    return {.per_s = lived / client.wall_s,
            .wal_bytes = server.wal_bytes / lived,
            .server_cpu_us = server.cpu_s / lived * 1e6,
            .client_cpu_us = client.cpu_s / lived * 1e6};
  }

 private:
  // In one transaction: completes the last batch, submits and claims the next.
  void live_by_exchange(PostgresYardstick& worker, int batch) {
    const auto batch_of_tasks = tasks(batch);
    std::vector<YardstickClaim> claimed;
    while (!stop_) {
      const std::size_t done = claimed.size();
      claimed = worker.exchange(claimed, batch_of_tasks, batch);
      lives_ += static_cast<std::int64_t>(done);
    }
  }

  void live_by_calls(PostgresYardstick& worker, int batch) {
    const auto batch_of_tasks = tasks(batch);
    while (!stop_) {
      worker.submit(batch_of_tasks);
      const auto claimed = worker.claim(batch);
      if (claimed.empty()) continue;  // other workers hold all tasks
      worker.complete(claimed);
      lives_ += static_cast<std::int64_t>(claimed.size());
    }
  }

  Workers workers_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> lives_ = 0;
  std::vector<std::thread> threads_;
};

class World {
 public:
  explicit World(Pace pace) : pace_(pace) {}

  const Pace& pace() const { return pace_; }
  testing::PostgresServer& server() { return server_; }
  PostgresMeter& meter() { return meter_; }

  static Workers store_workers(const std::string& url, int connections) {
    const std::shared_ptr<Store> store =
        std::move(open_postgres_store(url, {.connections = static_cast<std::size_t>(connections)})).value();
    Workers workers;
    for (int i = 0; i < connections; ++i) {
      workers.push_back(std::make_unique<StoreWorker>(store, fmt::format("worker-{}", i)));
    }
    return workers;
  }

  // The plain layout runs both ways: which is faster depends on the disk.
  static std::vector<Kind> kinds(Way way) {
    std::vector<Kind> all = {{"store", way, &store_workers},
                             {"floor", way, &yardstick_workers<PostgresFloor>},
                             {"plain", way, &yardstick_workers<PostgresPlain>}};
    if (way == Way::kExchange) all.push_back({"plain by calls", Way::kCalls, &yardstick_workers<PostgresPlain>});
    return all;
  }

 private:
  template <typename Yardstick>
  static Workers yardstick_workers(const std::string& url, int connections) {
    Yardstick::create_tables(url);
    Workers workers;
    for (int i = 0; i < connections; ++i) {
      workers.push_back(std::make_unique<Yardstick>(url, fmt::format("worker-{}", i)));
    }
    return workers;
  }

  const Pace pace_;

  // A few minutes of full load fit between checkpoints, which would affect only one of the candidates.
  testing::PostgresServer server_{{.settings = {"max_wal_size = 8GB", "checkpoint_timeout = 30min",
                                                "shared_buffers = 1GB", "autovacuum_naptime = 10s"}}};
  PostgresMeter meter_{server_.url(), server_.pid()};
};

// The median of one figure over the rounds.
double median_of(const std::vector<Figures>& rounds, double Figures::*figure) {
  std::vector<double> values;
  for (const Figures& round : rounds) values.push_back(round.*figure);
  return spread_of(values).median;
}

Spread ratio_of(const std::vector<Figures>& ours, const std::vector<Figures>& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i].per_s / others[i].per_s);
  return spread_of(ratios);
}

// Measures one candidate for a while, alone on the server, since dirty pages and vacuum of its predecessor would slow it
// down. `backlog` tasks are ready before it begins, and as many stay ready.
Figures measure_alone(World& world, const Kind& kind, int connections, int batch, int backlog) {
  const std::string url = world.server().make_database();
  Workers workers = kind.connect(url, connections);
  for (int ready = 0; ready < backlog; ready += batch) workers.front()->submit(tasks(batch));
  world.server().run_sql("checkpoint", "postgres");
  Figures figures;
  {
    const Load load(std::move(workers), batch, kind.way);
    std::this_thread::sleep_for(kWarmUp);
    figures = load.measure(world.meter(), world.pace().seconds);
  }
  world.server().drop_database(url);
  return figures;
}

// The variants of `pg.NAME.b100`: a life in one transaction, by single calls, or with a large backlog.
std::string name_of(Way way, int backlog) {
  if (backlog > 0) return "backlog";
  return way == Way::kCalls ? "calls" : "life";
}

void compare_lives(World& world, Way way, const std::vector<int>& connection_counts, const std::vector<int>& batches,
                   Results& results, int backlog = 0) {
  fmt::print("PostgreSQL, durable, 200-byte specs, four priorities, {} interleaved rounds of {} s; medians\n{}\n",
             world.pace().rounds, world.pace().seconds,
             way == Way::kCalls ? "A transaction for each call: submit, claim, complete"
                                : "One transaction for all three: complete what was claimed, submit, claim");
  fmt::print("{} tasks are ready at any time\n\n", backlog);
  fmt::print("{:>5} {:>5}  {:<14} {:>9} {:>10} {:>12} {:>12}   {}\n", "conns", "batch", "what", "lives/s", "WAL B/life",
             "server us", "client us", "store : this (quartiles)");
  for (const int connections : connection_counts) {
    for (const int batch : batches) {
      std::map<std::string, std::vector<Figures>> rounds;
      const auto kinds = World::kinds(way);
      for (int round = 0; round < world.pace().rounds; ++round) {
        for (const Kind& kind : kinds)
          rounds[kind.name].push_back(measure_alone(world, kind, connections, batch, backlog));
      }
      for (const Kind& kind : kinds) {
        const auto& figures = rounds[kind.name];
        fmt::print("{:>5} {:>5}  {:<14} {:>9.0f} {:>10.0f} {:>12.1f} {:>12.1f}   {}\n", connections, batch, kind.name,
                   median_of(figures, &Figures::per_s), median_of(figures, &Figures::wal_bytes),
                   median_of(figures, &Figures::server_cpu_us), median_of(figures, &Figures::client_cpu_us),
                   kind.name == "store" ? "" : to_string(ratio_of(rounds["store"], figures)));
      }
      // The headline is the total of four connections.
      const std::string name = fmt::format("pg.{}.b{}{}", name_of(way, backlog), batch, connections == 4 ? "" : ".c1");
      results.emplace_back(name + ".vs_floor", ratio_of(rounds["store"], rounds["floor"]).median);
      double vs_plain = ratio_of(rounds["store"], rounds["plain"]).median;
      if (rounds.contains("plain by calls")) {
        vs_plain = std::min(vs_plain, ratio_of(rounds["store"], rounds["plain by calls"]).median);
      }
      results.emplace_back(name + ".vs_plain", vs_plain);
      results.emplace_back(name + ".per_s", median_of(rounds["store"], &Figures::per_s));
      results.emplace_back(name + ".server_cpu_us", median_of(rounds["store"], &Figures::server_cpu_us));
      if (connections == 4 && way == Way::kExchange && backlog == 0) {
        results.emplace_back(fmt::format("pg.wal_per_life.b{}", batch),
                             median_of(rounds["store"], &Figures::wal_bytes));
      }
    }
  }
}

// ---- Single calls through the combiner ----

double combined_rate(World& world, int callers, int lives_of_each) {
  const auto store = std::move(open_postgres_store(world.server().make_database())).value();
  Combiner combiner(store->tasks());
  combiner.start();
  Ids ids;
  const auto live = [&] {
    for (int i = 0; i < lives_of_each; ++i) {
      HORAE_CHECK(combiner.submit({.task = {.queue = "bench", .spec = kSpec}, .new_id = ids.next()}).ok(), "submit");
      const auto leased = combiner.claim({.owner = "worker-1", .queues = {"bench"}, .max = 1, .token = ids.next()});
      HORAE_CHECK(leased.value().tasks.size() == 1, "there are never more callers than tasks");
      HORAE_CHECK(combiner.settle(completion(leased.value().tasks.front(), "worker-1")).ok(), "settle");
    }
  };
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) threads.emplace_back(live);
  for (std::thread& thread : threads) thread.join();
  const double rate = callers * lives_of_each / watch.read().wall_s;
  combiner.stop();
  return rate;
}

void compare_callers(World& world, Results& results) {
  std::vector<double> one, many, ratio;
  for (int round = 0; round < world.pace().rounds; ++round) {
    one.push_back(combined_rate(world, 1, 200));
    many.push_back(combined_rate(world, 64, 60));
    ratio.push_back(many.back() / one.back());
  }
  fmt::print("\nSingle calls through the combiner, whole lives/s: 1 caller {:.0f}, 64 callers {:.0f}, ratio {}\n",
             spread_of(one).median, spread_of(many).median, to_string(spread_of(ratio)));
  results.emplace_back("pg.combiner64.vs_single", spread_of(ratio).median);
  results.emplace_back("pg.combiner1.per_s", spread_of(one).median);
  results.emplace_back("pg.combiner64.per_s", spread_of(many).median);
}

// ---- Ten million archived tasks ----

// Writes finished tasks directly into the tables, as the store would have done over two days: numbers and ids rise within
// a day, and later tasks get higher ones.
void fill_archive(World& world, const std::string& url, int millions) {
  constexpr int kMillion = 1'000'000;
  constexpr int kBlockOfNumbers = 4096;
  const std::string database = url.substr(url.rfind('/') + 1);
  (void)open_postgres_store(url);
  auto& server = world.server();
  server.run_sql("insert into queue (name, retention) values ('bench', 604800000000000) on conflict do nothing",
                 database);
  for (int i = 0; i < millions; ++i) {
    const int days_ago = i < millions / 2 ? 1 : 0;
    const std::string number =
        fmt::format("(floor(extract(epoch from now()) / 86400)::bigint - {} << 40) + {}", days_ago, i * kMillion);
    const std::string milliseconds =
        fmt::format("(extract(epoch from now()) * 1000)::bigint - {} + {}", (24 * days_ago + 1) * 3'600'000, i * 1000);
    server.run_sql(fmt::format("insert into task (number, id, created_at, queue, priority, spec)"
                               " select {} + n, (substr(encode(int8send({} + n / 1000), 'hex'), 5) || '7' ||"
                               " substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid,"
                               " now(), 1, 50, '{}' from generate_series(0, 999999) n",
                               number, milliseconds, kSpec),
                   database);
    server.run_sql(
        fmt::format("insert into finished (lo, hi, queue, state, attempt, tries, finished_at, owner, started_at)"
                    " select {0} + n, {0} + n + 24, 1, 3, 1, 0, now(), 'worker-1', now()"
                    " from generate_series(0, 999999, 25) n",
                    number),
        database);
  }
  server.run_sql(fmt::format("select setval('number_block', {})", millions * kMillion / kBlockOfNumbers + 1), database);
  server.run_sql("vacuum analyze", database);
  server.run_sql("checkpoint", database);
}

void compare_archives(World& world, Results& results) {
  constexpr int kMillions = 10;
  const std::string empty = world.server().make_database();
  const std::string full = world.server().make_database();
  fill_archive(world, full, kMillions);
  std::vector<double> ratios, cpu_empty, cpu_full;
  for (int round = 0; round < world.pace().rounds; ++round) {
    std::map<std::string, Figures> figures;
    for (const std::string& url : {empty, full}) {
      const Load load(world.store_workers(url, 4), 100, Way::kCalls);
      std::this_thread::sleep_for(kWarmUp);
      figures[url] = load.measure(world.meter(), 2 * world.pace().seconds);
    }
    cpu_empty.push_back(figures[empty].server_cpu_us);
    cpu_full.push_back(figures[full].server_cpu_us);
    ratios.push_back(cpu_full.back() / cpu_empty.back());
  }
  fmt::print("\n{} M archived tasks, batch 100: server CPU us/life {:.1f}, empty {:.1f}, ratio {}\n", kMillions,
             spread_of(cpu_full).median, spread_of(cpu_empty).median, to_string(spread_of(ratios)));
  results.emplace_back("pg.archive10m.vs_empty", spread_of(ratios).median);
  results.emplace_back("pg.archive10m.server_cpu_us", spread_of(cpu_full).median);
}

// ---- A snapshot that is held for two minutes ----

void hold_a_snapshot(World& world, Results& results) {
  const std::string url = world.server().make_database();
  world.server().run_sql("checkpoint",
                         "postgres");  // else the checkpoint for earlier parts would fall into the measurement
  const Load load(world.store_workers(url, 4), 100, Way::kCalls);
  std::this_thread::sleep_for(kWarmUp);
  BareConnection holder(url, "public");
  holder.execute("begin isolation level repeatable read");
  holder.execute("select count(*) from control");
  fmt::print("\nA snapshot is held for two minutes, batch 100, 4 connections; each 10 s:\n");
  std::vector<double> rates;
  for (int part = 0; part < 12; ++part) {
    const Figures figures = load.measure(world.meter(), 10.0);
    fmt::print("  {:>3} s  {:>8.0f} lives/s  {:>6.1f} server us/life\n", (part + 1) * 10, figures.per_s,
               figures.server_cpu_us);
    rates.push_back(figures.per_s);
  }
  results.emplace_back("pg.snapshot.end_vs_start", rates.back() / rates.front());
  results.emplace_back("pg.snapshot.start_per_s", rates.front());
  results.emplace_back("pg.snapshot.end_per_s", rates.back());
}

void compare_refused(World& world, Results& results) {
  double worst = 0;
  for (const auto& [name, ratio] :
       compare_refusals([&world] { return std::move(open_postgres_store(world.server().make_database())).value(); })) {
    results.emplace_back("pg.refused1000." + name, ratio);
    worst = std::max(worst, ratio);
  }
  results.emplace_back("pg.refused1000.vs_accepted", worst);
}

}  // namespace
}  // namespace horae::bench

int main(int count, char** arguments) {
  using namespace horae::bench;  // NOLINT(google-build-using-namespace): a program of one file
  const std::vector<std::string> wanted(arguments + 1, arguments + count);
  const auto is_wanted = [&](const char* part) {
    return wanted.empty() || std::ranges::find(wanted, part) != wanted.end();
  };
  const bool is_quick = std::ranges::find(wanted, "quick") != wanted.end();
  World world(is_quick && wanted.size() > 1 ? Pace{.rounds = 3, .seconds = 1.5} : Pace());
  Results results;
  for (const int batch : {1, 10, 100}) {
    if (!wanted.empty() && is_wanted(fmt::format("life.b{}", batch).c_str())) {
      compare_lives(world, Way::kExchange, {4}, {batch}, results);
    }
  }
  if (is_wanted("life")) {
    compare_lives(world, Way::kExchange, {1, 4}, {1, 10, 100, 1000}, results);
    compare_lives(world, Way::kCalls, {4}, {100, 1000}, results);
    compare_lives(world, Way::kExchange, {4}, {100}, results, kBacklog);
  }
  if (is_quick && wanted.size() == 1) {
    compare_lives(world, Way::kExchange, {4}, {100, 1000}, results);
    compare_lives(world, Way::kCalls, {4}, {100}, results);
    compare_lives(world, Way::kExchange, {4}, {100}, results, kBacklog);
  }
  if (is_wanted("combiner")) compare_callers(world, results);
  if (is_wanted("archive")) compare_archives(world, results);
  if (is_wanted("snapshot")) hold_a_snapshot(world, results);
  if (is_wanted("refused")) compare_refused(world, results);
  fmt::print("\n");
  for (const auto& [name, value] : results) print_result(name, value);
  return 0;
}
