// store_bench [PART...]: the cost of the embedded store compared with bare sqlite3, the gain of the combiner, and the
// cost of refusals. Parts: life, combiner, refused (all of them without arguments). Part of make bench/store.
//
// The store and its lower bound alternate in one run, each round on a new file, because the machine and its disk are
// noisy: a ratio is computed for each pair, and the median of the ratios is the result.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "bench/folder.h"
#include "bench/measure.h"
#include "bench/refusals.h"
#include "bench/sqlite_floor.h"
#include "store/combiner.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::bench {
namespace {

constexpr int kPairs = 9;
constexpr int kPriorities = 4;
const std::string kSpec = R"({"order":"233","text":")" + std::string(174, 'x') + "\"}";  // 200 bytes

// The time of one round, by operation.
struct Round {
  Spent submit;
  Spent claim;
  Spent settle;

  Spent life() const {
    Spent sum = submit;
    sum += claim;
    sum += settle;
    return sum;
  }
};

class World {
 public:
  const Clock& clock() const { return clock_; }
  std::string new_file() { return folder_.new_file(); }
  Uuid new_id() { return ids_.next(); }

  std::vector<Submission> submissions(int count) {
    std::vector<Submission> all;
    for (int i = 0; i < count; ++i) {
      all.push_back({.task = {.queue = "bench", .priority = 50 + i % kPriorities, .spec = kSpec}, .new_id = new_id()});
    }
    return all;
  }

 private:
  Folder folder_;
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
};

Settlement completion(const LeasedTask& task) {
  return {.event = Event::kComplete,
          .id = task.id,
          .number = task.number,
          .attempt = task.attempt,
          .owner = "worker-1",
          .result = "{}"};
}

// Runs `step` and adds its time.
void timed(Spent& spent, const std::function<void()>& step) {
  const Stopwatch watch;
  step();
  spent += watch.read();
}

Round run_store(World& world, int batch, int batches) {
  const auto store = std::move(open_sqlite_store("sqlite:" + world.new_file(), world.clock())).value();
  Round round;
  for (int i = 0; i < batches; ++i) {
    const auto submissions = world.submissions(batch);
    timed(round.submit, [&] { HORAE_CHECK(store->tasks().submit(submissions).ok(), "submit"); });
    const std::vector<ClaimWish> wishes = {
        {.owner = "worker-1", .queues = {"bench"}, .max = batch, .token = world.new_id()}};
    std::vector<LeasedTask> leased;
    timed(round.claim, [&] { leased = std::move(store->tasks().claim(wishes).value().at(0).tasks); });
    HORAE_CHECK(leased.size() == submissions.size(), "every task must be claimed");
    std::vector<Settlement> completions;
    for (const LeasedTask& task : leased) completions.push_back(completion(task));
    timed(round.settle, [&] { HORAE_CHECK(store->tasks().settle(completions).ok(), "settle"); });
  }
  return round;
}

Round run_floor(World& world, int batch, int batches) {
  SqliteFloor floor(world.new_file());
  Round round;
  for (int i = 0; i < batches; ++i) {
    const auto submissions = world.submissions(batch);
    timed(round.submit, [&] { floor.submit(submissions); });
    std::vector<std::int64_t> numbers;
    timed(round.claim, [&] { numbers = floor.claim(batch); });
    timed(round.settle, [&] { floor.complete(numbers); });
  }
  return round;
}

// The measurements of one operation over all pairs.
struct Figures {
  std::vector<double> store_rate;
  std::vector<double> floor_rate;
  std::vector<double> ratio;
  std::vector<double> store_cpu_us;
  std::vector<double> floor_cpu_us;

  void add(const Spent& store, const Spent& floor, double lives) {
    store_rate.push_back(lives / store.wall_s);
    floor_rate.push_back(lives / floor.wall_s);
    ratio.push_back(floor.wall_s / store.wall_s);
    store_cpu_us.push_back(store.cpu_s / lives * 1e6);
    floor_cpu_us.push_back(floor.cpu_s / lives * 1e6);
  }
};

void print_row(int batch, const char* operation, const Figures& figures) {
  fmt::print("{:>6}  {:<7} {:>10.0f} {:>10.0f}   {:<20} {:>8.1f} {:>8.1f}\n", batch, operation,
             spread_of(figures.store_rate).median, spread_of(figures.floor_rate).median,
             to_string(spread_of(figures.ratio)), spread_of(figures.store_cpu_us).median,
             spread_of(figures.floor_cpu_us).median);
}

using Results = std::vector<std::pair<std::string, double>>;

void compare_with_floor(World& world, Results& results) {
  fmt::print("SQLite, WAL, synchronous=FULL, 200-byte specs, {} interleaved pairs; median (quartiles)\n\n", kPairs);
  fmt::print("{:>6}  {:<7} {:>10} {:>10}   {:<20} {:>8} {:>8}\n", "batch", "what", "store/s", "floor/s", "store:floor",
             "CPU us", "floor");
  const std::map<int, int> batches_of = {{1, 300}, {10, 100}, {100, 60}, {1000, 20}};
  for (const auto& [batch, batches] : batches_of) {
    Figures submit, claim, settle, life;
    const double lives = static_cast<double>(batch) * batches;
    for (int pair = 0; pair < kPairs; ++pair) {
      const Round store = run_store(world, batch, batches);
      const Round floor = run_floor(world, batch, batches);
      submit.add(store.submit, floor.submit, lives);
      claim.add(store.claim, floor.claim, lives);
      settle.add(store.settle, floor.settle, lives);
      life.add(store.life(), floor.life(), lives);
    }
    print_row(batch, "submit", submit);
    print_row(batch, "claim", claim);
    print_row(batch, "settle", settle);
    print_row(batch, "life", life);
    const std::string name = fmt::format("sqlite.life.b{}", batch);
    results.emplace_back(name + ".vs_floor", spread_of(life.ratio).median);
    results.emplace_back(name + ".per_s", spread_of(life.store_rate).median);
    results.emplace_back(name + ".floor_per_s", spread_of(life.floor_rate).median);
    results.emplace_back(name + ".cpu_us", spread_of(life.store_cpu_us).median);
  }
}

// Whole lives by single calls: each caller submits one task, claims one and completes it.
double combined_rate(World& world, int callers, int lives_of_each) {
  const auto store = std::move(open_sqlite_store("sqlite:" + world.new_file(), world.clock())).value();
  Combiner combiner(store->tasks());
  combiner.start();
  const auto live = [&] {
    for (int i = 0; i < lives_of_each; ++i) {
      HORAE_CHECK(combiner.submit(world.submissions(1).front()).ok(), "submit");
      const auto leased = combiner.claim({.owner = "worker-1", .queues = {"bench"}, .max = 1, .token = world.new_id()});
      HORAE_CHECK(leased.value().tasks.size() == 1, "there must be a task for each caller");
      HORAE_CHECK(combiner.settle(completion(leased.value().tasks.front())).ok(), "settle");
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
  for (int pair = 0; pair < kPairs; ++pair) {
    one.push_back(combined_rate(world, 1, 200));
    many.push_back(combined_rate(world, 64, 60));
    ratio.push_back(many.back() / one.back());
  }
  fmt::print("\nSingle calls through the combiner, whole lives/s: 1 caller {:.0f}, 64 callers {:.0f}, ratio {}\n\n",
             spread_of(one).median, spread_of(many).median, to_string(spread_of(ratio)));
  results.emplace_back("sqlite.combiner64.vs_single", spread_of(ratio).median);
  results.emplace_back("sqlite.combiner1.per_s", spread_of(one).median);
  results.emplace_back("sqlite.combiner64.per_s", spread_of(many).median);
}

void compare_refused(World& world, Results& results) {
  double worst = 0;
  for (const auto& [name, ratio] : compare_refusals(
           [&world] { return std::move(open_sqlite_store("sqlite:" + world.new_file(), world.clock())).value(); })) {
    results.emplace_back("sqlite.refused1000." + name, ratio);
    worst = std::max(worst, ratio);
  }
  results.emplace_back("sqlite.refused1000.vs_accepted", worst);
}

}  // namespace
}  // namespace horae::bench

int main(int count, char** arguments) {
  using namespace horae::bench;  // NOLINT(google-build-using-namespace): a program of one file
  const std::vector<std::string> wanted(arguments + 1, arguments + count);
  const auto is_wanted = [&](const char* part) {
    return wanted.empty() || std::ranges::find(wanted, part) != wanted.end();
  };
  World world;
  Results results;
  if (is_wanted("life")) compare_with_floor(world, results);
  if (is_wanted("combiner")) compare_callers(world, results);
  if (is_wanted("refused")) compare_refused(world, results);
  for (const auto& [name, value] : results) print_result(name, value);
  return 0;
}
