// Worlds of schedules: several nodes over one store, driven by a seed. Calls fail, answers get lost, nodes crash in the
// middle of a call, clocks step, everything stands still for an hour, clients change and pause schedules. In the end each
// fire must have come once, as the rules say. Planted bugs must be found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/time_text.h"
#include "engine/schedules/schedule_loop.h"
#include "tests/store_contract/contract.h"
#include "tests/store_contract/model_backend.h"
#include "tests/store_contract/sqlite_backend.h"

namespace horae::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kNodes = 3;
constexpr int kSteps = 400;
constexpr int kCalmSteps = 60;

enum class Bug {
  kNone,
  kDateBeforeTask,  // the next date is stored in one call, the tasks in another
  kNodesClock,      // the node's clock decides what is due
  kUnseededJitter,  // each attempt to fire draws the jitter anew
};

struct Crash {};

// The store of one node.
class FaultyStore final : public ScheduleStore {
 public:
  FaultyStore(ScheduleStore& store, std::mt19937_64& random, Bug bug, Duration drift)
      : store_(store), random_(random), bug_(bug), drift_(drift) {}

  double faults = 0;

  Result<PutOutcome> put(const NewSchedule& schedule, const Uuid& version,
                         const std::optional<Uuid>& expected) override {
    return store_.put(schedule, version, expected);
  }
  Result<bool> remove(std::string_view name, const std::optional<Uuid>& expected) override {
    return store_.remove(name, expected);
  }
  Result<std::optional<Schedule>> get(std::string_view name) override { return store_.get(name); }
  Result<std::vector<Schedule>> list(std::string_view after, std::size_t limit) override {
    return store_.list(after, limit);
  }
  Result<DueSchedules> due(std::size_t max) override {
    auto due = call([&] { return store_.due(max); });
    if (due.ok() && bug_ == Bug::kNodesClock) due->now += std::chrono::duration_cast<std::chrono::microseconds>(drift_);
    return due;
  }
  Result<std::vector<StepOutcome>> step(std::span<const ScheduleStep> steps) override {
    std::vector<ScheduleStep> taken(steps.begin(), steps.end());
    if (bug_ == Bug::kUnseededJitter) {
      for (ScheduleStep& step : taken) {
        for (FireOrder& fire : step.fires) fire.submission.task.run_at = fire.at + milliseconds(random_() % 1000);
      }
    }
    if (bug_ == Bug::kDateBeforeTask) {
      std::vector<ScheduleStep> dates = taken;
      for (ScheduleStep& date : dates) date.fires.clear();
      if (auto advanced = call([&] { return store_.step(dates); }); !advanced.ok()) return advanced.error();
    }
    return call([&] { return store_.step(taken); });
  }
  Result<std::size_t> recompute(std::string_view tzdata) override {
    return call([&] { return store_.recompute(tzdata); });
  }
  Result<std::vector<FireRecord>> fires(std::string_view name, Instant before, std::size_t limit) override {
    return store_.fires(name, before, limit);
  }
  Result<std::size_t> forget_fires(std::size_t) override { return std::size_t{0}; }  // the checker needs them

 private:
  template <typename Call>
  auto call(const Call& operation) -> decltype(operation()) {
    const double drawn = static_cast<double>(random_() % 10'000) / 10'000;
    if (drawn < faults) return Error{ErrorCode::kUnavailable, "the store is away"};
    if (drawn < 2 * faults) throw Crash{};
    auto answer = operation();
    if (drawn < 3 * faults) return Error{ErrorCode::kUnavailable, "the answer was lost"};
    if (drawn < 4 * faults) throw Crash{};
    return answer;
  }

  ScheduleStore& store_;
  std::mt19937_64& random_;
  const Bug bug_;
  const Duration drift_;
};

class World {
 public:
  World(std::unique_ptr<Backend> backend, std::uint64_t seed, Bug bug)
      : backend_(std::move(backend)), random_(seed), seeded_(seed) {
    for (int i = 0; i < kNodes; ++i) {
      stores_.push_back(std::make_unique<FaultyStore>(schedules(), random_, bug, seconds(3 + 2 * i)));
      loops_.push_back(nullptr);
    }
    clock_.step_wall(now() - clock_.wall_now());
  }

  std::vector<std::string> run() {
    for (int i = 0; i < 4; ++i) put(i);
    set_faults(0.03);
    for (int i = 0; i < kSteps; ++i) {
      pass(pick(40) == 0 ? Duration(minutes(pick(60))) : Duration(milliseconds(pick(15'000))));
      if (pick(30) == 0) backend_->step_clock(seconds(static_cast<int>(pick(20)) - 10));
      if (pick(25) == 0) put(static_cast<int>(pick(4)));
      if (pick(3) == 0) end_tasks();
      run_node(pick(kNodes));
    }
    // Without faults, every node looks each second.
    set_faults(0);
    for (int i = 0; i < kCalmSteps; ++i) {
      pass(seconds(1));
      end_tasks();
      for (int look = 0; look < 3; ++look) {
        for (std::size_t node = 0; node < kNodes; ++node) run_node(node);
      }
    }
    check();
    return faults_;
  }

 private:
  // A time in which one definition held: the fires in (from, to] must be handled.
  struct Era {
    ScheduleRules rules;
    Instant from;
    Instant to;
  };

  ScheduleStore& schedules() { return backend_->store().schedules(); }
  Instant now() { return backend_->store().tasks().look().value().now; }
  std::uint64_t pick(std::uint64_t bound) { return random_() % bound; }

  void pass(Duration time) {
    backend_->advance(time);
    clock_.advance(time);
  }

  void set_faults(double share) {
    for (const auto& store : stores_) store->faults = share;
  }

  static std::string name_of(int schedule) { return fmt::format("schedule-{}", schedule); }

  NewSchedule any_definition(int schedule) {
    NewSchedule made{.name = name_of(schedule),
                     .task = {.queue = fmt::format("queue-{}", schedule), .spec = "{}"},
                     .rules = {},
                     .paused = pick(6) == 0};
    if (pick(2) == 0) {
      made.rules.every = seconds(1 + pick(100));
    } else {
      made.rules.cron = pick(2) == 0 ? "*/2 * * * *" : "*/20 * * * * *";
    }
    made.rules.jitter = pick(2) == 0 ? seconds(1) : seconds(0);
    made.rules.missed = static_cast<MissedRule>(pick(3));
    made.rules.overlap = static_cast<OverlapRule>(pick(3));
    made.rules.catch_up = static_cast<int>(1 + pick(10));
    made.task.priority = static_cast<int>(pick(100));
    return made;
  }

  // A client makes or changes a schedule.
  void put(int schedule) {
    const std::string name = name_of(schedule);
    close_era(name);
    const auto outcome = schedules().put(any_definition(schedule), ids_.next(), std::nullopt).value();
    const Schedule& stored = *outcome.schedule;
    if (!stored.definition.paused) eras_[name].push_back({stored.definition.rules, stored.handled_until, {}});
    is_open_[name] = !stored.definition.paused;
  }

  void close_era(const std::string& name) {
    if (!is_open_[name]) return;
    eras_[name].back().to = schedules().get(name).value()->handled_until;
    is_open_[name] = false;
  }

  void run_node(std::size_t node) {
    if (!loops_[node]) {
      loops_[node] = std::make_unique<ScheduleLoop>(*stores_[node], ids_, system_zones(), Logger(said_, clock_));
    }
    try {
      loops_[node]->run_once(clock_.now());
    } catch (const Crash&) {
      loops_[node] = nullptr;
    }
  }

  void end_tasks() {
    TaskStore& tasks = backend_->store().tasks();
    ClaimWish wish{.owner = "worker-1", .queues = {}, .max = 100, .token = ids_.next()};
    for (int i = 0; i < 4; ++i) wish.queues.push_back(fmt::format("queue-{}", i));
    (void)tasks.promote_due(100).value();
    const auto claimed = tasks.claim(std::span(&wish, 1)).value();
    for (const LeasedTask& each : claimed.front().tasks) {
      const Settlement done{.event = Event::kComplete,
                            .id = each.id,
                            .number = each.number,
                            .attempt = each.attempt,
                            .owner = wish.owner};
      (void)tasks.settle(std::span(&done, 1)).value();
    }
  }

  void fault(const std::string& name, std::string_view rule, Instant at) {
    faults_.push_back(fmt::format("{}: {} at {}", name, rule, format_instant(at)));
  }

  void check() {
    std::map<TaskId, std::string> fired;  // to the schedule
    for (int i = 0; i < 4; ++i) {
      const std::string name = name_of(i);
      const bool was_open = is_open_[name];
      const Schedule last = *schedules().get(name).value();
      close_era(name);
      auto records = schedules().fires(name, latest_instant(), 100'000).value();
      std::ranges::reverse(records);
      check_records(name, records, fired);
      if (!was_open) continue;
      // Nothing waits in a calm world.
      const Timetable table = Timetable::make(last.definition.rules, system_zones()).value();
      const auto overdue = table.next(last.handled_until);
      if (overdue && *overdue < now() - seconds(2)) fault(name, "a fire is late", *overdue);
    }
    check_tasks(fired);
  }

  void check_records(const std::string& name, const std::vector<FireRecord>& records,
                     std::map<TaskId, std::string>& fired) {
    std::vector<Instant> covered;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const FireRecord& record = records[i];
      if (i > 0 && record.at <= records[i - 1].last) fault(name, "a fire comes twice", record.at);
      if (record.task && !fired.emplace(*record.task, name).second) fault(name, "a task has two fires", record.at);
      if (record.task) check_run_at(name, record);
    }
    std::size_t next = 0;
    for (const Era& era : eras_[name]) {
      const Timetable table = Timetable::make(era.rules, system_zones()).value();
      for (auto fire = table.next(era.from); fire && *fire <= era.to; fire = table.next(*fire)) {
        while (next < records.size() && records[next].last < *fire) ++next;
        if (next == records.size() || records[next].at > *fire) fault(name, "a fire is missing", *fire);
      }
    }
  }

  void check_run_at(const std::string& name, const FireRecord& record) {
    const auto task = backend_->store().tasks().get(std::span(&*record.task, 1)).value().front();
    if (!task) return fault(name, "a task is missing", record.at);
    bool is_as_ruled = false;
    for (const Era& era : eras_[name]) {
      const bool holds = era.from < record.at && record.at <= era.to;
      if (holds && task->run_at == run_time(name, record.at, era.rules.jitter)) is_as_ruled = true;
    }
    if (!is_as_ruled) fault(name, "a task has another time than its rules say", record.at);
  }

  // No task without its fire.
  void check_tasks(const std::map<TaskId, std::string>& fired) {
    for (const Task& task : all_pages(backend_->store().tasks(), {.limit = 1000})) {
      if (!fired.contains(task.id)) fault(task.queue, "a task has no fire", task.created_at);
    }
  }

  std::unique_ptr<Backend> backend_;
  std::mt19937_64 random_;
  ManualClock clock_;
  SeededRandom seeded_;
  UuidSource ids_{clock_, seeded_};
  std::ostringstream said_;
  std::vector<std::unique_ptr<FaultyStore>> stores_;
  std::vector<std::unique_ptr<ScheduleLoop>> loops_;
  std::map<std::string, std::vector<Era>> eras_;
  std::map<std::string, bool> is_open_;
  std::vector<std::string> faults_;
};

TEST(ScheduleWorld, EachFireComesOnceOverTheModel) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    EXPECT_EQ(World(make_model_backend(), seed, Bug::kNone).run(), std::vector<std::string>()) << "seed " << seed;
  }
}

TEST(ScheduleWorld, EachFireComesOnceOverSqlite) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(World(make_sqlite_memory_backend(), seed, Bug::kNone).run(), std::vector<std::string>())
        << "seed " << seed;
  }
}

TEST(ScheduleWorld, PlantedBugsAreFound) {
  const std::map<std::string, Bug> bugs = {{"date advanced before the task", Bug::kDateBeforeTask},
                                           {"decision by the node's clock", Bug::kNodesClock},
                                           {"unseeded jitter", Bug::kUnseededJitter}};
  for (const auto& [name, bug] : bugs) {
    bool is_found = false;
    for (std::uint64_t seed = 1; seed <= 10 && !is_found; ++seed) {
      is_found = !World(make_model_backend(), seed, bug).run().empty();
    }
    EXPECT_TRUE(is_found) << name;
  }
}

}  // namespace
}  // namespace horae::testing
