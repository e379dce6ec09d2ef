// Eight sessions do everything at once, by chance, on the real clock and with the shortest leases. No call may fail; at
// quiet moments the database must be whole and agree with all that the callers were answered.
//
// HORAE_SEED=n takes other seeds. Threads meet differently each time, so a seed repeats the calls, not their order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "tests/postgres/ledger.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

constexpr int kSessions = 8;
constexpr int kRounds = 5;
constexpr auto kRound = 2500ms;
constexpr std::size_t kMostLive = 6'000;
constexpr std::uint64_t kKeys = 300;
constexpr std::uint64_t kMessageIds = 500;
constexpr const char* kBrief = "brief";  // keeps nothing that has ended
constexpr const char* kDelayQueue = "later";

const std::vector<std::string> kQueues = {"a", "b", kBrief};

std::vector<TaskError> some_error() { return {{.code = "e", .description = "by chance"}}; }

// One caller: its own store, or one that all share.
class Session {
 public:
  Session(Store& own, Store& shared, Ledger& ledger, int number, std::uint64_t seed)
      : own_(own),
        shared_(shared),
        ledger_(ledger),
        owner_("worker-" + std::to_string(number)),
        random_(seed * kSessions + static_cast<std::uint64_t>(number)) {}

  void run_until(MonotonicTime end) {
    while (clock_.now() < end) act();
  }

 private:
  struct Held {
    LeasedTask lease;
    std::string owner;
  };

  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[random_.below(choices.size())];
  }
  bool chance(double share) { return random_.unit() < share; }
  TaskStore& tasks() { return (chance(0.3) ? shared_ : own_).tasks(); }

  // True if the call went well.
  template <typename T>
  bool is_fine(const char* call, const Result<T>& answer) {
    if (!answer.ok()) ledger_.note_failure(call, answer.error());
    return answer.ok();
  }

  void act() {
    const auto dice = random_.below(120);
    if (dice < 18) return submit();
    if (dice < 42) return claim();
    if (dice < 70) return settle();
    if (dice < 80) return expire();
    if (dice < 86) return promote();
    if (dice < 91) return cancel();
    if (dice < 94) return get();
    if (dice < 96) return list();
    if (dice < 99) return purge();
    if (dice < 100) return count();
    if (dice < 103) return configure();
    if (dice < 105) return start_or_stop();
    if (dice < 109) return leases_of_a_token();
    if (dice < 112) return find();
    if (dice < 115) return enqueue();
    if (dice < 118) return fire();
    change_message();
  }

  NewTask new_task(const std::string& queue) {
    NewTask task{.queue = queue, .priority = one_of<int>({0, 100, 255}), .spec = "{}"};
    if (chance(0.1)) task.key = "key-" + std::to_string(random_.below(kKeys));
    if (chance(0.05)) task.run_at = clock_.wall_now() + std::chrono::milliseconds(random_.below(300));
    if (chance(0.02)) task.recurring = 50ms;
    if (chance(0.1)) task.max_attempts = 1 + static_cast<int>(random_.below(3));
    if (chance(0.3)) task.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 20ms};
    if (chance(0.03)) task.id = Uuid{{static_cast<std::uint8_t>(random_.below(256)), 1, 2, 3, 4, 5, 0x40}};
    if (task.id) {
      for (std::size_t i = 8; i < 16; ++i) task.id->bytes[i] = static_cast<std::uint8_t>(random_.below(256));
    }
    return task;
  }

  // Some batches are of one kind, and so become ranges; others are mixed.
  void submit() {
    if (ledger_.live() > kMostLive) return;
    const auto count = one_of<std::size_t>({1, 1, 5, 40, 150});
    const bool mixed = chance(0.5);
    const std::string queue = one_of(kQueues);
    const NewTask plain{.queue = queue, .priority = one_of<int>({0, 100, 255}), .spec = "{}"};
    std::vector<Submission> batch;
    for (std::size_t i = 0; i < count; ++i) {
      batch.push_back({.task = mixed ? new_task(one_of(kQueues)) : plain, .new_id = ids_.next()});
    }
    const auto answer = tasks().submit(batch);
    if (!is_fine("submit", answer)) return;
    for (std::size_t i = 0; i < count; ++i) ledger_.note(batch[i], (*answer)[i]);
  }

  void claim() {
    std::vector<ClaimWish> wishes;
    do {
      ClaimWish wish{.owner = owner_ + (wishes.empty() ? "" : "-b"),
                     .queues = {one_of(kQueues)},
                     .max = one_of<int>({1, 5, 50, 150}),
                     .token = ids_.next(),
                     .lease = chance(0.8) ? kMinLease : Duration(1s),
                     .once = chance(0.3)};
      if (chance(0.5)) wish.queues = kQueues;
      wishes.push_back(wish);
    } while (wishes.size() < 2 && chance(0.2));
    TaskStore& store = tasks();
    const auto answer = store.claim(wishes);
    if (!is_fine("claim", answer)) return;
    const bool stays_whole = chance(0.5);
    if (stays_whole) whole_ = {&store, {}};
    last_claim_ = wishes[0];
    last_claim_served_ = !(*answer)[0].tasks.empty();
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      for (const LeasedTask& lease : (*answer)[i].tasks) {
        ledger_.note(wishes[i].owner, lease);
        (stays_whole ? whole_.held : held_).push_back({lease, wishes[i].owner});
      }
    }
  }

  std::vector<Settlement> completions_of_whole() {
    std::vector<Settlement> batch;
    for (const Held& held : whole_.held) {
      batch.push_back(settlement(held, Event::kComplete));
      batch.back().number = held.lease.number;
    }
    return batch;
  }

  // What it claimed at once, from where it was claimed, together with a submit and a claim there.
  void exchange() {
    const std::vector<Settlement> done = completions_of_whole();
    const NewTask plain{.queue = one_of(kQueues), .priority = one_of<int>({0, 100, 255}), .spec = "{}"};
    std::vector<Submission> fresh;
    for (std::size_t i = one_of<std::size_t>({0, 1, 40}); i > 0 && ledger_.live() <= kMostLive; --i) {
      fresh.push_back({.task = plain, .new_id = ids_.next()});
    }
    std::vector<ClaimWish> wishes;
    for (int i = one_of<int>({0, 1, 1, 2}); i > 0; --i) {
      wishes.push_back({.owner = owner_,
                        .queues = {one_of(kQueues)},
                        .max = one_of<int>({1, 5, 50}),
                        .token = ids_.next(),
                        .lease = kMinLease});
    }
    const auto answer = whole_.store->exchange({.settlements = done, .submissions = fresh, .wishes = wishes});
    if (!is_fine("exchange", answer)) return;
    for (std::size_t i = 0; i < done.size(); ++i) ledger_.note(done[i], answer->settled[i]);
    for (std::size_t i = 0; i < fresh.size(); ++i) ledger_.note(fresh[i], answer->submitted[i]);
    whole_.held.clear();
    for (const ClaimOutcome& claimed : answer->leased) {
      for (const LeasedTask& lease : claimed.tasks) {
        ledger_.note(owner_, lease);
        whole_.held.push_back({lease, owner_});
      }
    }
  }

  // Once more with a chance.
  void complete_whole() {
    const std::vector<Settlement> batch = completions_of_whole();
    const auto answer = whole_.store->settle(batch);
    if (!is_fine("settle", answer)) return;
    for (std::size_t i = 0; i < batch.size(); ++i) ledger_.note(batch[i], (*answer)[i]);
    if (chance(0.9)) whole_.held.clear();
  }

  Settlement settlement(const Held& held, Event event) {
    Settlement said{.event = event,
                    .id = held.lease.id,
                    .number = chance(0.7) ? held.lease.number : 0,
                    .attempt = held.lease.attempt,
                    .owner = held.owner,
                    .lease = chance(0.7) ? kMinLease : Duration(500ms),
                    .chance = random_.unit()};
    if (event == Event::kHeartbeat && chance(0.5)) said.progress = random_.unit();
    if ((event == Event::kHeartbeat || event == Event::kYield) && chance(0.2)) said.checkpoint = "{}";
    if (event == Event::kComplete && chance(0.3)) said.result = chance(0.1) ? std::string(2'000, '1') : "{}";
    if (event == Event::kAbort) said.errors = some_error();
    return said;
  }

  // Some of what it holds, also what was taken from it meanwhile; some of it twice; and again what it had settled.
  void settle() {
    if (!whole_.held.empty() && chance(0.5)) return chance(0.6) ? exchange() : complete_whole();
    std::vector<Settlement> batch;
    std::vector<Held> kept;
    const bool alike = chance(0.5);
    const auto any_event = [this] {
      return one_of<Event>({Event::kComplete, Event::kComplete, Event::kComplete, Event::kHeartbeat, Event::kHeartbeat,
                            Event::kAbort, Event::kYield, Event::kRelease});
    };
    const Event common = any_event();
    const double share = one_of<double>({0.1, 0.5, 1.0});
    for (const Held& held : held_) {
      if (chance(0.02)) continue;  // forgotten: its lease will expire
      if (batch.size() >= kMaxBatch / 2 || !chance(share)) {
        kept.push_back(held);
        continue;
      }
      batch.push_back(settlement(held, alike ? common : any_event()));
      if (batch.back().event == Event::kHeartbeat) kept.push_back(held);
      if (batch.back().event != Event::kHeartbeat && chance(0.05)) past_.push_back(held);
      if (chance(0.05)) batch.push_back(chance(0.5) ? batch.back() : settlement(held, any_event()));
    }
    held_ = std::move(kept);
    if (past_.size() > 20) {
      for (const Held& held : past_) batch.push_back(settlement(held, any_event()));
      past_.clear();
    }
    const auto answer = tasks().settle(batch);
    if (!is_fine("settle", answer)) return;
    for (std::size_t i = 0; i < batch.size(); ++i) ledger_.note(batch[i], (*answer)[i]);
    if (held_.size() > 1'000) held_.clear();
  }

  // As a monitor does.
  void expire() {
    const auto watch = tasks().look();
    if (!is_fine("look", watch) || !watch->has_leases) return;
    if (chance(0.02)) {
      (void)is_fine("extend_leases", tasks().extend_leases(watch->stamp));
      return;
    }
    const auto answer =
        tasks().expire_leases({.seen = watch->stamp, .slack = 5s, .max = one_of<std::size_t>({10, 1'000})});
    if (!is_fine("expire_leases", answer)) return;
    for (const ExpiredLease& lease : answer->expired) ledger_.note(lease);
    if (answer->kind == ExpireOutcome::Kind::kNoStamp) {
      (void)is_fine("extend_leases", tasks().extend_leases(watch->stamp));
    }
  }

  void promote() { (void)is_fine("promote_due", tasks().promote_due(one_of<std::size_t>({1, 100}))); }

  void cancel() {
    std::vector<CancelWish> wishes;
    for (const TaskId& id : ledger_.pick(random_, 1 + random_.below(10))) {
      wishes.push_back({.id = id, .reason = std::nullopt});
    }
    const auto answer = tasks().cancel(wishes);
    if (!is_fine("cancel", answer)) return;
    for (std::size_t i = 0; i < wishes.size(); ++i) ledger_.note(wishes[i], (*answer)[i]);
  }

  void get() {
    const auto ids = ledger_.pick(random_, 20);
    const auto answer = tasks().get(ids);
    if (!is_fine("get", answer)) return;
    for (std::size_t i = 0; i < ids.size(); ++i) ledger_.note(ids[i], (*answer)[i]);
  }

  void list() {
    ListQuery query{.kind = one_of<ListKind>({ListKind::kScheduled, ListKind::kReady, ListKind::kRunning,
                                              ListKind::kFinished, ListKind::kAll}),
                    .limit = 50};
    if (chance(0.5)) query.queue = one_of(kQueues);
    (void)is_fine("list", tasks().list(query));
  }

  void purge() {
    const auto answer = tasks().purge(one_of<std::size_t>({10, 500}));
    if (is_fine("purge", answer)) ledger_.note_purged(answer->purged);
  }

  void count() { (void)is_fine("queues", shared_.queues().queues()); }

  // Mostly open. Only of one queue what has ended may go.
  void configure() {
    const std::string queue = one_of(kQueues);
    QueueChange change;
    if (chance(0.6)) change.paused = chance(0.2);
    if (chance(0.3)) change.ageing_rate = one_of<std::int64_t>({0, 1, 7});
    if (chance(0.3)) change.retention = queue == kBrief ? one_of<Duration>({0s, 1ms}) : one_of<Duration>({24h, 48h});
    const auto settings = own_.queues().configure(queue, change);
    if (!is_fine("configure", settings)) return;
    if (change.paused && settings->paused != *change.paused) ledger_.note_wrong("configure did not pause or resume");
  }

  void start_or_stop() { (void)is_fine("set_scheduler_running", own_.queues().set_scheduler_running(chance(0.8))); }

  // What is still leased of the newest claim is what it was given then.
  void leases_of_a_token() {
    if (!last_claim_) return;
    if (last_claim_->once && last_claim_served_) return repeat_claim();
    const auto held = tasks().leases_of(last_claim_->token);
    if (!is_fine("leases_of", held)) return;
    for (const LeasedTask& lease : *held) ledger_.note_held(last_claim_->owner, lease);
  }

  void repeat_claim() {
    const auto held = tasks().claim(std::vector{*last_claim_, *last_claim_});
    if (!is_fine("claim", held)) return;
    for (const ClaimOutcome& each : *held) {
      for (const LeasedTask& lease : each.tasks) ledger_.note_held(last_claim_->owner, lease);
    }
  }

  void find() {
    const std::string queue = one_of(kQueues);
    const std::string key = "key-" + std::to_string(random_.below(kKeys));
    const auto found = tasks().find(queue, key);
    if (!is_fine("find", found) || !*found) return;
    if ((*found)->queue != queue || (*found)->key != key) ledger_.note_wrong("another task was found by " + key);
  }

  // ---- Messages ----

  void enqueue() {
    std::vector<NewMessage> batch;
    const auto count = one_of<std::size_t>({1, 5, 50});
    for (std::size_t i = 0; i < count; ++i) {
      batch.push_back({{.id = "m-" + std::to_string(random_.below(kMessageIds)),
                        .deadline = clock_.wall_now() + std::chrono::milliseconds(random_.below(200)),
                        .key = std::nullopt,
                        .value = "{}",
                        .headers = {}}});
    }
    const auto answer = own_.messages().enqueue({.delay_queue = kDelayQueue,
                                                 .node = ids_.next(),
                                                 .horizon = 50ms,
                                                 .ready = {.max = 10, .max_bytes = 1000},
                                                 .stores_late = chance(0.5),
                                                 .messages = batch});
    if (!is_fine("enqueue", answer)) return;
    const auto is_stored = [](EnqueueKind kind) {
      return kind == EnqueueKind::kWaiting || kind == EnqueueKind::kReadied;
    };
    ledger_.note_messages(std::ranges::count_if(answer->kinds, is_stored));
    if (chance(0.9)) settle_messages(answer->readied);
  }

  // A node's turn; one that is slow loses what it took on to a peer, which lets it wait again.
  void fire() {
    const auto ready = own_.messages().turn(
        {.delay_queue = kDelayQueue, .node = ids_.next(), .horizon = 100ms, .ready = {.max = 50, .max_bytes = 10'000}});
    if (!is_fine("turn", ready)) return;
    if (chance(0.3)) {
      const auto stuck = own_.messages().stuck({.delay_queue = kDelayQueue, .hold = 1ms, .max = 20});
      if (is_fine("stuck", stuck)) (void)is_fine("reset", own_.messages().reset(kDelayQueue, stuck->messages));
    }
    settle_messages(ready->readied);
  }

  // Some were fired, some were not.
  void settle_messages(const std::vector<ReadiedMessage>& readied) {
    std::vector<Readying> fired;
    std::vector<GiveBack> failed;
    for (const ReadiedMessage& each : readied) {
      if (chance(0.9)) {
        fired.push_back(each.readying);
      } else {
        failed.push_back({.readying = each.readying, .delay = 10ms, .may_be_published = chance(0.5)});
      }
    }
    const auto settled = own_.messages().turn({.delay_queue = kDelayQueue, .fired = fired, .failed = failed});
    if (is_fine("turn", settled)) ledger_.note_messages(-std::ranges::count(settled->removed, true));
  }

  void change_message() {
    const std::string id = "m-" + std::to_string(random_.below(kMessageIds));
    if (chance(0.5))
      return (void)is_fine("move",
                           own_.messages().move(kDelayQueue, std::vector<MoveWish>{{id, clock_.wall_now() + 50ms}}));
    const auto cancelled = own_.messages().cancel(kDelayQueue, std::vector{id});
    if (is_fine("cancel", cancelled)) ledger_.note_messages(-std::ranges::count(*cancelled, Verdict::kAccepted));
  }

  Store& own_;
  Store& shared_;
  Ledger& ledger_;
  const std::string owner_;
  SystemClock clock_;
  SeededRandom random_;
  UuidSource ids_{clock_, random_};
  std::vector<Held> held_;
  struct {
    TaskStore* store = nullptr;
    std::vector<Held> held;
  } whole_;  // one claim, untouched
  std::vector<Held> past_;
  std::optional<ClaimWish> last_claim_;
  bool last_claim_served_ = false;  // it got something
};

std::uint64_t first_seed() {
  const char* given = std::getenv("HORAE_SEED");
  return given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
}

TEST(Concurrency, EverythingAtOnceLosesNothing) {
  PostgresServer server({.durable = false, .settings = {"deadlock_timeout = 100ms", "max_connections = 100"}});
  const std::string url = server.make_database();
  PostgresStoreOptions options = quick_store_options();
  const auto shared = std::move(open_postgres_store(url, options)).value();
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < kSessions; ++i) stores.push_back(std::move(open_postgres_store(url, options)).value());
  (void)shared->queues().configure(kBrief, {.retention = 0s}).value();
  Observer database(url);
  Ledger ledger(kBrief);
  const SystemClock clock;

  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t seed = first_seed() + static_cast<std::uint64_t>(round);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const MonotonicTime end = clock.now() + kRound;
    std::vector<std::thread> threads;
    for (int i = 0; i < kSessions; ++i) {
      threads.emplace_back([&, i, own = stores[static_cast<std::size_t>(i)].get()] {
        Session(*own, *shared, ledger, i, seed).run_until(end);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::cout << "seed " << seed << ": " << ledger.summary() << ", deadlocks "
              << database.value("select deadlocks from pg_stat_database where datname = current_database()")
              << std::endl;
    EXPECT_THAT(broken_invariants(database), IsEmpty());
    ASSERT_THAT(ledger.complaints(all_stands(database)), IsEmpty());
    EXPECT_EQ(database.value("select count(*) from message"), std::to_string(ledger.messages()));
  }
}

}  // namespace
}  // namespace horae::testing
