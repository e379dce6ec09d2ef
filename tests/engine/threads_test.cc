// The engine as production drives it: threads, the system's clock, and calls that interfere all the time.

#include <gmock/gmock.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "stores/sqlite/sqlite_store.h"
#include "tests/engine/observed_engine.h"

namespace horae::testing {
namespace {

using std::literals::operator""s;
using std::literals::operator""ms;

constexpr char kQueue[] = "work";
constexpr std::size_t kTasks = 10'000;
constexpr std::size_t kSlots = 8;

class EngineThreads : public ::testing::Test {
 protected:
  std::unique_ptr<ObservedEngine> make_engine(EngineOptions options = {}) {
    options.dispatcher.queues = {kQueue};
    options.dispatcher.slots = kSlots;
    auto owner = store_->queues().new_worker_id();
    return std::make_unique<ObservedEngine>(*store_, clock_, random_, *owner,
                                            Logger(said_, clock_, {.level = LogLevel::kWarn}), options);
  }

  std::vector<TaskId> submit(std::size_t count, const std::string& spec) {
    std::vector<Submission> batch;
    std::vector<TaskId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      const auto priority = static_cast<int>(random_.below(256));
      batch.push_back({.task = {.queue = kQueue, .priority = priority, .spec = spec}, .new_id = ids_.next()});
      ids.push_back(batch.back().new_id);
    }
    EXPECT_TRUE(store_->tasks().submit(batch).ok());
    return ids;
  }

  QueueInfo queue() {
    auto list = store_->queues().queues();
    for (QueueInfo& each : list->queues) {
      if (each.name == kQueue) return each;
    }
    return {};
  }
  std::size_t finished() {
    const QueueInfo info = queue();
    return static_cast<std::size_t>(info.completed + info.cancelled);
  }

  // Polls.
  void wait_until(const std::function<bool()>& is_so) {
    Waker never_woken;
    while (!is_so()) never_woken.wait(clock_.now() + 5ms);
  }

  SystemClock clock_;
  SeededRandom random_{11};
  UuidSource ids_{clock_, random_};
  std::unique_ptr<Store> store_ = std::move(open_sqlite_store(std::string(kSqliteMemory), clock_)).value();
  std::ostringstream said_;
};

// Cancels, pauses, stops the scheduler and takes it all back, until it is destroyed.
class Interference {
 public:
  Interference(Store& store, std::vector<TaskId> ids)
      : own_store_(store), store_(&store), ids_(std::move(ids)), thread_([this] { run(); }) {}
  ~Interference() {
    is_ending_ = true;
    thread_.join();
    (void)own_store_.queues().set_scheduler_running(true);
    (void)own_store_.queues().configure(kQueue, {.paused = false});
  }

  // From now on through the store of this engine; null: through a store that no engine observes.
  void set_engine(ObservedEngine* engine) {
    const std::lock_guard lock(mutex_);
    store_ = engine != nullptr ? &engine->store() : &own_store_;
  }

 private:
  void run() {
    SeededRandom random(3);
    while (!is_ending_) {
      const std::lock_guard lock(mutex_);
      interfere(random);
    }
  }

  void interfere(SeededRandom& random) {
    switch (random.below(8)) {
      case 0:
        (void)store_->queues().configure(kQueue, {.paused = true});
        break;
      case 1:
        (void)store_->queues().set_scheduler_running(false);
        break;
      case 2:
        (void)store_->queues().configure(kQueue, {.paused = false});
        [[fallthrough]];
      case 3:
        (void)store_->queues().set_scheduler_running(true);
        break;
      default: {
        const CancelWish wish{.id = ids_[random.below(ids_.size())], .reason = std::nullopt};
        (void)store_->tasks().cancel(std::span(&wish, 1));
      }
    }
  }

  Store& own_store_;
  std::mutex mutex_;
  Store* store_;  // guarded by mutex_
  const std::vector<TaskId> ids_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

TEST_F(EngineThreads, FinishTenThousandTasksDespiteCancelsPausesStopsAndStarts) {
  std::vector<TaskId> ids;
  for (std::size_t i = 0; i < kTasks; i += kMaxBatch) {
    for (const TaskId& id : submit(kMaxBatch, R"({"run":"sleep","for":"0"})")) ids.push_back(id);
  }
  std::vector<TaskId> some(ids.begin(), ids.begin() + kTasks / 10);
  {
    Interference interference(*store_, some);
    for (std::size_t part = 1; part <= 5; ++part) {
      const auto engine = make_engine();
      engine->engine().start();
      interference.set_engine(engine.get());
      wait_until([&] { return finished() >= part * kTasks / 6; });
      EXPECT_TRUE(engine->engine().stop(60s)) << "something was left behind";
      interference.set_engine(nullptr);
      EXPECT_EQ(queue().running, 0);
    }
  }
  const auto engine = make_engine();
  engine->engine().start();
  wait_until([&] { return finished() == kTasks; });
  EXPECT_TRUE(engine->engine().stop(60s));

  std::size_t completed = 0;
  for (std::size_t from = 0; from < kTasks; from += kMaxBatch) {
    const auto tasks = store_->tasks().get(std::span(ids).subspan(from, kMaxBatch));
    ASSERT_TRUE(tasks.ok());
    for (const auto& task : *tasks) {
      ASSERT_TRUE(task);
      ASSERT_TRUE(task->state == State::kCompleted || task->state == State::kCancelled);
      if (task->state == State::kCompleted) ++completed;
      EXPECT_EQ(task->tries, 0);  // no lease expired
      EXPECT_TRUE(task->errors.empty());
    }
  }
  const QueueInfo info = queue();
  EXPECT_EQ(static_cast<std::size_t>(info.completed), completed);
  EXPECT_EQ(info.ready + info.running + info.scheduled, 0);
}

TEST_F(EngineThreads, YieldLongTasksWhenTheNodeStops) {
  const auto ids = submit(20, R"({"run":"sleep","for":"1h"})");
  auto engine = make_engine();
  engine->engine().start();
  wait_until([&] { return queue().running >= static_cast<std::int64_t>(kSlots); });
  wait_until([&] {
    const auto slots = engine->engine().status().slots;
    return std::ranges::count_if(slots, [](const SlotEntry& slot) { return slot.run.has_value(); }) ==
           static_cast<std::ptrdiff_t>(kSlots);
  });
  EXPECT_TRUE(engine->engine().stop(60s));
  EXPECT_TRUE(engine->engine().stop(0s));
  engine.reset();
  const QueueInfo info = queue();
  EXPECT_EQ(info.ready, 20);
  EXPECT_EQ(info.running, 0);
}

TEST_F(EngineThreads, FreeTheSlotOfACancelledTaskAtOnce) {
  const TaskId id = submit(1, R"({"run":"sleep","for":"1h"})").front();
  const auto engine = make_engine();
  engine->engine().start();
  const auto busy = [&] {
    const auto slots = engine->engine().status().slots;
    return std::ranges::any_of(slots, [](const SlotEntry& slot) { return slot.run.has_value(); });
  };
  wait_until(busy);
  const CancelWish wish{.id = id, .reason = std::nullopt};
  EXPECT_TRUE(engine->store().tasks().cancel(std::span(&wish, 1)).ok());
  wait_until([&] { return !busy(); });
  EXPECT_TRUE(engine->engine().stop(60s));
}

TEST_F(EngineThreads, StopWithoutAStart) {
  const auto engine = make_engine();
  EXPECT_TRUE(engine->engine().stop(60s));
}

TEST_F(EngineThreads, RunScheduledAndRecurringTasks) {
  const auto engine = make_engine();
  engine->engine().start();
  const Submission recurring{.task = {.queue = kQueue, .spec = R"({"run":"sleep","for":"1ms"})", .recurring = 2ms},
                             .new_id = ids_.next()};
  ASSERT_TRUE(engine->store().tasks().submit(std::span(&recurring, 1)).ok());
  wait_until([&] { return store_->tasks().get(std::span(&recurring.new_id, 1))->front()->attempt >= 5; });
  EXPECT_TRUE(engine->engine().stop(60s));
}

}  // namespace
}  // namespace horae::testing
