// Two nodes on one PostgreSQL that notify each other, in one process and with real time. They poll once an hour, so
// that only a message can be the cause of what happens.

#include <gmock/gmock.h>

#include <future>
#include <sstream>

#include "stores/postgres/postgres_store.h"
#include "tests/engine/observed_engine.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

using std::literals::operator""h;
using std::literals::operator""ms;
using std::literals::operator""s;
using ::testing::ElementsAre;

constexpr char kSharedQueue[] = "work";

PostgresServer& server() {
  static PostgresServer server({.durable = false, .settings = {}});
  return server;
}

// A node with its own store, as if it were on another machine.
class ClusterNode {
 public:
  ClusterNode(const std::string& url, std::size_t slots) {
    const PostgresStoreOptions unsafe{.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"}};
    store_ = std::move(open_postgres_store(url, unsafe)).value();
    EngineOptions options{.promoter = {.poll = 1h}, .monitor = {.idle_poll = 1h}, .claimer = {.poll = 1h}};
    options.poller = {.poll = 1h, .poll_deaf = 5ms};  // it looks until it hears
    options.dispatcher.queues = {kSharedQueue};
    options.dispatcher.slots = slots;
    options.dispatcher.poll = 1h;
    options.dispatcher.lease = 1h;
    const auto owner = store_->queues().new_worker_id().value();
    engine_ = std::make_unique<ObservedEngine>(*store_, clock_, random_, owner, Logger(said_, clock_), options);
    engine_->engine().set_listeners(
        {.ticked = [this](const Tick& tick) { peers_ = tick.peers_want_events ? tick.peers : 0; },
         .received =
             [this](const auto& events, bool) {
               const std::lock_guard lock(mutex_);
               events_.insert(events_.end(), events.begin(), events.end());
             }});
  }

  Engine& engine() { return engine_->engine(); }
  Store& store() { return engine_->store(); }
  std::size_t peers() const { return peers_; }  // as soon as they want events
  std::vector<std::string> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  bool is_busy() {
    return std::ranges::any_of(engine_->engine().status().slots,
                               [](const SlotEntry& slot) { return slot.run.has_value(); });
  }

  TaskId submit(const std::string& spec = "{}") {
    const Submission submission{.task = {.queue = kSharedQueue, .spec = spec}, .new_id = ids_.next()};
    EXPECT_TRUE(store().tasks().submit(std::span(&submission, 1)).ok());
    return submission.new_id;
  }

  // Adds a worker that waits without end.
  std::future<std::vector<LeasedTask>> wait_for_tasks() {
    auto taken = std::make_shared<std::promise<std::vector<LeasedTask>>>();
    const ClaimWish wish{.owner = "worker-99", .queues = {kSharedQueue}, .max = 1, .token = ids_.next()};
    engine_->engine().claimer().wait(wish, clock_.now() + 1h, [taken](Result<std::vector<LeasedTask>> tasks) {
      taken->set_value(tasks.ok() ? *tasks : std::vector<LeasedTask>());
      return true;
    });
    return taken->get_future();
  }

 private:
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  std::ostringstream said_;
  std::unique_ptr<Store> store_;
  std::atomic<std::size_t> peers_ = 0;
  std::mutex mutex_;
  std::vector<std::string> events_;  // guarded by mutex_
  std::unique_ptr<ObservedEngine> engine_;
};

class TwoNodes : public ::testing::Test {
 protected:
  void start(std::size_t slots = 0) {
    for (auto* node : {&here_, &there_}) {
      *node = std::make_unique<ClusterNode>(url_, slots);
      slots = 0;
    }
    there_->engine().start();
    wait_until([&] { return there_->store().cluster().nodes().value().size() == 1; });
    here_->engine().start();
    // Each node, which polls once in an hour, has to learn that it is not alone.
    wait_until([&] {
      there_->engine().set_wants_events(true);
      here_->engine().set_wants_events(true);
      return here_->peers() == 1 && there_->peers() == 1;
    });
    wait_until([&] { return !here_->engine().is_deaf() && !there_->engine().is_deaf(); });
  }

  void wait_until(const std::function<bool()>& is_so) {
    Waker never_woken;
    while (!is_so()) never_woken.wait(SystemClock().now() + 5ms);
  }

  const std::string url_ = server().make_database();
  std::unique_ptr<ClusterNode> here_;
  std::unique_ptr<ClusterNode> there_;
};

TEST_F(TwoNodes, WakeAWorkerThatWaitsAtTheOtherNode) {
  start();
  auto taken = there_->wait_for_tasks();
  wait_until([&] { return there_->engine().claimer().waiting() == 1; });
  const TaskId id = here_->submit();
  const auto tasks = taken.get();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].id, id);
  EXPECT_TRUE(here_->engine().stop(10s));
  EXPECT_TRUE(there_->engine().stop(10s));
}

TEST_F(TwoNodes, StopATaskThatIsCancelledAtTheOtherNode) {
  start(1);  // here are the slots
  const TaskId id = there_->submit(R"({"run":"sleep","for":"1h"})");
  wait_until([&] { return here_->is_busy(); });
  const CancelWish wish{.id = id, .reason = std::nullopt};
  EXPECT_TRUE(there_->store().tasks().cancel(std::span(&wish, 1)).ok());
  wait_until([&] { return !here_->is_busy(); });
}

TEST_F(TwoNodes, ServeAQueueThatIsResumedAtTheOtherNode) {
  start();
  EXPECT_TRUE(here_->store().queues().configure(kSharedQueue, {.paused = true}).ok());
  const TaskId id = here_->submit();
  auto taken = there_->wait_for_tasks();
  EXPECT_TRUE(here_->store().queues().configure(kSharedQueue, {.paused = false}).ok());
  const auto tasks = taken.get();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].id, id);
}

TEST_F(TwoNodes, SendEventsToTheOtherNodeOnly) {
  start();
  here_->engine().send_event("one");
  here_->engine().send_event("two");
  wait_until([&] { return there_->events().size() == 2; });
  EXPECT_THAT(there_->events(), ElementsAre("one", "two"));
  there_->engine().send_event("three");
  wait_until([&] { return !here_->events().empty(); });
  EXPECT_THAT(here_->events(), ElementsAre("three"));
}

TEST_F(TwoNodes, LeaveTheListWhenTheyStop) {
  start();
  EXPECT_TRUE(here_->engine().stop(10s));
  EXPECT_EQ(there_->store().cluster().nodes().value().size(), 1U);
  EXPECT_TRUE(there_->engine().stop(10s));
  EXPECT_EQ(there_->store().cluster().nodes().value().size(), 0U);
}

}  // namespace
}  // namespace horae::testing
