#include "bench/refusals.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "bench/measure.h"
#include "store/combiner.h"

namespace horae::bench {
namespace {

constexpr int kPairs = 5;
constexpr int kCount = 1000;

enum class Case { kRunning, kCompleted, kOneTask };
constexpr std::array kCases = {std::pair{Case::kRunning, "running"}, std::pair{Case::kCompleted, "completed"},
                               std::pair{Case::kOneTask, "one_task"}};

class Refusals {
 public:
  explicit Refusals(std::unique_ptr<Store> store) : store_(std::move(store)) { combiner_.start(); }
  ~Refusals() { combiner_.stop(); }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // Seconds for 1,000 settlements in one call.
  double accepted() { return timed(completions(lease(kCount)), Verdict::kAccepted); }

  double refused(Case each) {
    auto late = completions(lease(each == Case::kOneTask ? 1 : kCount));
    if (each == Case::kCompleted) (void)timed(late, Verdict::kAccepted);
    while (late.size() < kCount) late.push_back(late.front());
    for (std::size_t i = 0; i < late.size(); ++i) late[i].owner = fmt::format("unknown-{}", i);
    return timed(late, each == Case::kCompleted ? Verdict::kWrongState : Verdict::kStaleAttempt);
  }

 private:
  std::vector<LeasedTask> lease(int count) {
    std::vector<Submission> submissions;
    for (int i = 0; i < count; ++i) {
      submissions.push_back({.task = {.queue = "bench", .priority = 50 + i % 4, .spec = "{}"}, .new_id = ids_.next()});
    }
    HORAE_CHECK(store_->tasks().submit(submissions).ok(), "submit");
    std::vector<ClaimWish> wishes;
    for (int i = 0; i < count; ++i) {
      wishes.push_back({.owner = fmt::format("worker-{}", i), .queues = {"bench"}, .max = 1, .token = ids_.next()});
    }
    auto claimed = store_->tasks().claim(wishes).value();
    std::vector<LeasedTask> all;
    for (auto& leased : claimed) {
      HORAE_CHECK(leased.tasks.size() == 1, "every worker gets a task");
      all.push_back(std::move(leased.tasks.front()));
    }
    return all;
  }

  static std::vector<Settlement> completions(const std::vector<LeasedTask>& leased) {
    std::vector<Settlement> all;
    for (const LeasedTask& task : leased) {
      all.push_back({.event = Event::kComplete,
                     .id = task.id,
                     .number = task.number,
                     .attempt = task.attempt,
                     .owner = fmt::format("worker-{}", all.size()),
                     .result = "{}"});
    }
    return all;
  }

  double timed(const std::vector<Settlement>& settlements, Verdict expected) {
    const Stopwatch watch;
    const auto outcomes = combiner_.settle(settlements);
    const double seconds = watch.read().wall_s;
    for (const auto& outcome : outcomes) HORAE_CHECK(outcome->verdict == expected, "the verdict of the case");
    return seconds;
  }

  std::unique_ptr<Store> store_;
  Combiner combiner_{store_->tasks()};
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
};

}  // namespace

std::vector<std::pair<std::string, double>> compare_refusals(const std::function<std::unique_ptr<Store>()>& open) {
  fmt::print("\n{} results of unknown owners in one call, beside as many completions; {} pairs\n", kCount, kPairs);
  std::vector<std::pair<std::string, double>> ratios;
  for (const auto& [each, name] : kCases) {
    std::vector<double> accepted, refused, ratio;
    for (int pair = 0; pair < kPairs; ++pair) {
      Refusals store(open());
      (void)store.accepted();  // prepares statements
      accepted.push_back(store.accepted());
      refused.push_back(store.refused(each));
      ratio.push_back(refused.back() / accepted.back());
    }
    fmt::print("  {:<10} accepted {:>7.1f} ms, refused {:>7.1f} ms, ratio {}\n", name, 1e3 * spread_of(accepted).median,
               1e3 * spread_of(refused).median, to_string(spread_of(ratio)));
    ratios.emplace_back(name, spread_of(ratio).median);
  }
  return ratios;
}

}  // namespace horae::bench
