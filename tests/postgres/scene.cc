#include "tests/postgres/scene.h"

#include <array>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/time_text.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kQueue = "q";
constexpr const char* kWorker = "worker-1";
constexpr std::size_t kSix = 6;
constexpr std::size_t kFinished = 0;
constexpr std::size_t kLeased = 6;
constexpr std::size_t kReady = 12;
constexpr std::size_t kDue = 18;
constexpr std::size_t kSome = 4;  // that an operation takes

// The server and, in it, a database of the newest version whose clock is a table. A copy for each of two hundred
// scenes would take most of the time, so each one empties it before it begins.
struct World {
  PostgresServer server{{.durable = false, .settings = {"deadlock_timeout = 50ms", "autovacuum = off"}}};
  std::string url = server.make_database();

  World() {
    (void)open_postgres_store(url, quick_store_options()).value();  // migrates
    const std::string start = format_instant(ManualClock().wall_now());
    server.run_sql("create table test_clock as select at, at as started from (select timestamptz '" + start +
                       "' as at) as s; create or replace function horae_now() returns timestamptz language sql stable"
                       " as 'select at from test_clock'",
                   name_of_database(url));
    (void)open_postgres_store(url, quick_store_options()).value();  // makes the days of that time
  }
};

World& world() {
  static World world;
  return world;
}

// All that a scene leaves behind.
constexpr const char* kEmpty =
    "delete from ready; delete from running; delete from scheduled; delete from finished; delete from trail; delete "
    "from task;"
    " delete from task_key; delete from task_id; delete from progress; delete from turn; delete from tally;"
    " delete from queue; delete from claim_token; update control set stamp = null;"
    " update test_clock set at = started";

Answered settle(TaskStore& store, const std::vector<Settlement>& batch) {
  return answered_settle(batch, store.settle(batch));
}

}  // namespace

std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, 16> kNames = {
      "Submit",  "Claim",  "Complete", "Heartbeat", "Release",       "Abort",       "Yield",     "Expire",
      "Promote", "Cancel", "Get",      "Purge",     "CompleteWhole", "ExtendWhole", "ExtendAll", "Exchange"};
  return kNames.at(static_cast<std::size_t>(operation));
}

// ---- Gate ----

bool Gate::pass() {
  std::unique_lock lock(mutex_);
  if (held_commit_ == 0 || ++commits_ != held_commit_) return true;
  arrived_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return answer_.has_value(); });
  return *answer_;
}

void Gate::arm(int commit) {
  const std::lock_guard lock(mutex_);
  held_commit_ = commit;
}

void Gate::wait_until_held() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return arrived_; });
}

void Gate::let_go(bool to_commit) {
  const std::lock_guard lock(mutex_);
  answer_ = to_commit;
  changed_.notify_all();
}

void Gate::give_up() {
  const std::lock_guard lock(mutex_);
  arrived_ = true;
  changed_.notify_all();
}

int Gate::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

// ---- Scene ----

Scene::Scene(Side claimer) : database_(std::make_unique<Observer>(world().url)) {
  (void)database_->ask(kEmpty);
  open();
  fill(claimer);
}

void Scene::open() {
  for (Actor& actor : sides_) {
    PostgresStoreOptions options = quick_store_options();
    options.before_commit = [&actor] { return actor.gate.pass(); };
    actor.store = std::move(open_postgres_store(world().url, options)).value();
  }
}

Submission Scene::submission(NewTask task) {
  task.queue = kQueue;
  task.spec = "{}";
  return {.task = std::move(task), .new_id = ids_.next()};
}

void Scene::fill(Side claimer) {
  TaskStore& store = sides_[kFirst].store->tasks();
  // Each store knows the queue and has numbers in stock afterwards; these tasks are due long after the end.
  for (Actor& actor : sides_) {
    const auto later = submission({.run_at = clock_.wall_now() + 24h});
    HORAE_CHECK(actor.store->tasks().submit(std::vector{later}).value()[0].state == State::kScheduled, "due later");
    before_[later.id()] = {.exists = true, .state = State::kScheduled, .owner = {}, .ended = {}};
  }
  std::vector<Submission> batch;
  for (std::size_t i = 0; i < 4 * kSix; ++i) {
    NewTask task;
    if (i % kSix < 3 && i < kDue) keys_[*(task.key = "key-" + std::to_string(i))] = {};
    if (i >= kDue) task.run_at = clock_.wall_now() + 1s;
    if (i >= kLeased && i < kReady) task.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1h};
    batch.push_back(submission(task));
    tasks_.push_back(batch.back().id());
    if (batch.back().task.key) keys_[*batch.back().task.key] = tasks_.back();
  }
  (void)store.submit(batch).value();
  for (int i = 0; i < 2; ++i) {
    const ClaimWish wish{.owner = kWorker, .queues = {kQueue}, .max = kSix, .token = ids_.next()};
    const auto six = sides_[claimer].store->tasks().claim(std::vector{wish}).value()[0].tasks;
    leases_.insert(leases_.end(), six.begin(), six.end());
  }
  std::vector<Settlement> done;
  for (std::size_t i = 0; i < kSix; ++i) {
    done.push_back({.event = Event::kComplete, .id = tasks_[i], .attempt = 1, .owner = kWorker, .result = "{}"});
  }
  (void)store.settle(done).value();
  (void)sides_[kFirst].store->queues().configure(kQueue, {.retention = 1s}).value();
  HORAE_CHECK(store.extend_leases(std::nullopt).value(), "there is no stamp yet");
  stamp_ = store.look().value().stamp;
  (void)database_->ask("update test_clock set at = at + interval '20 s'");

  // It is as told above, or the test would test nothing.
  const std::string ranges = database_->value(
      "select string_agg(hi - lo + 1 || ' ' || state, ', ' order by lo) from place"
      " where lo + 64 > (select max(lo) from place where state = 1) and hi - lo > 0");
  HORAE_CHECK(ranges == "6 3, 6 2, 6 1, 6 0", ranges);
  for (std::size_t i = 0; i < 4 * kSix; ++i) {
    Seen& seen = before_[tasks_[i]];
    seen.exists = true;
    seen.attempt = i < kReady ? 1 : 0;
    seen.owner = i < kReady ? kWorker : "";
    seen.state = i < kLeased  ? State::kCompleted
                 : i < kReady ? State::kRunning
                 : i < kDue   ? State::kReady
                              : State::kScheduled;
    seen.is_purgeable = i < kLeased;
    seen.is_due = i >= kDue;
    if (i < kLeased) seen.ended = AttemptEnd{Event::kComplete, kWorker};
  }
  // The last key is new, and the same on both sides.
  for (const Side side : {kFirst, kSecond}) {
    const int next = side == kFirst ? 0 : 1;
    for (const std::string& key : {"key-" + std::to_string(next), "key-" + std::to_string(next + 1),
                                   "key-" + std::to_string(kReady + 1), std::string("new")}) {
      sides_[side].submissions.push_back(submission({.key = key}));
    }
    sides_[side].submissions.push_back(submission({}));
    sides_[side].plain = {submission({}), submission({})};
  }
}

// The first ones overlap with the last ones of the other side.
std::vector<Settlement> Scene::settlements(Event event, Side side) const {
  std::vector<Settlement> batch;
  const std::vector<TaskError> errors =
      event == Event::kAbort ? std::vector{TaskError{.code = "e"}} : std::vector<TaskError>();
  const std::size_t from = kLeased + (side == kFirst ? 0 : kSix - kSome);
  for (std::size_t i = from; i < from + kSome; ++i) {
    const LeasedTask& lease = leases_[i];
    batch.push_back({.event = event,
                     .id = lease.id,
                     .number = side == kFirst ? lease.number : 0,
                     .attempt = lease.attempt,
                     .owner = kWorker,
                     .lease = 1h,
                     .errors = errors});
    if (event == Event::kHeartbeat) batch.back().progress = 0.5;
  }
  // Tasks that have ended, that do not run yet, and that another owner has ended: that result comes late.
  for (const std::size_t other : {kFinished + 1, kReady + 1}) {
    batch.push_back(
        {.event = event, .id = tasks_[other], .attempt = 1, .owner = kWorker, .lease = 1h, .errors = errors});
  }
  batch.push_back(
      {.event = event, .id = tasks_[kFinished + 2], .attempt = 1, .owner = "worker-9", .lease = 1h, .errors = errors});
  return batch;
}

// Of the lease as it was given.
std::vector<Settlement> Scene::settlements_of_all(Event event) const {
  std::vector<Settlement> batch;
  for (std::size_t i = kLeased; i < kLeased + kSix; ++i) {
    const LeasedTask& lease = leases_[i];
    batch.push_back({.event = event,
                     .id = lease.id,
                     .number = lease.number,
                     .attempt = lease.attempt,
                     .owner = kWorker,
                     .lease = 1h});
  }
  return batch;
}

// Of each six one that is only of this side and two that are of both, one of them twice; and the other side's new ones.
std::vector<TaskId> Scene::some_of_all(Side side) const {
  std::vector<TaskId> some;
  for (std::size_t six = 0; six < tasks_.size(); six += kSix) {
    const std::size_t own = side == kFirst ? 0 : kSix - 1;
    for (const std::size_t i : {own, std::size_t{2}, std::size_t{3}, std::size_t{2}}) some.push_back(tasks_[six + i]);
  }
  for (const Submission& each : sides_[1 - side].submissions) some.push_back(each.id());
  return some;
}

int Scene::commits_of(Operation operation) {
  return operation == Operation::kPurge ? 4 : 1;  // the time, the list of old days, the counts, and the purge itself
}

std::vector<ExpiredLease> Scene::expire_now() {
  TaskStore& store = sides_[kFirst].store->tasks();
  const auto outcome = store.expire_leases({.seen = store.look().value().stamp, .slack = 1h, .max = kMaxBatch}).value();
  HORAE_CHECK(outcome.kind == ExpireOutcome::Kind::kDone, "no other monitor runs");
  return outcome.expired;
}

ClaimWish Scene::wish_of(Side side) {
  return {.owner = side == kFirst ? "worker-2" : "worker-3",
          .queues = {kQueue},
          .max = kSome,
          .token = Uuid{{static_cast<std::uint8_t>(1 + side)}}};
}

Answered Scene::exchange(Side side) {
  const auto done = settlements_of_all(Event::kComplete);
  const std::vector<Submission>& fresh = sides_[side].plain;
  const std::vector wishes = {wish_of(side)};
  const auto outcome =
      sides_[side].store->tasks().exchange({.settlements = done, .submissions = fresh, .wishes = wishes});
  if (!outcome.ok()) return {.error = outcome.error()};
  Answered told = answered_settle(done, outcome->settled);
  add_to(told, answered_submit(fresh, outcome->submitted, keys_));
  add_to(told, answered_claim(wishes[0], outcome->leased));
  return told;
}

Answered Scene::run(Operation operation, Side side) {
  Actor& actor = sides_[side];
  TaskStore& store = actor.store->tasks();
  switch (operation) {
    case Operation::kSubmit:
      return answered_submit(actor.submissions, store.submit(actor.submissions), keys_);
    case Operation::kClaim: {
      const ClaimWish wish = wish_of(side);
      return answered_claim(wish, store.claim(std::vector{wish}));
    }
    case Operation::kExchange:
      return exchange(side);
    case Operation::kComplete:
      return settle(store, settlements(Event::kComplete, side));
    case Operation::kHeartbeat:
      return settle(store, settlements(Event::kHeartbeat, side));
    case Operation::kRelease:
      return settle(store, settlements(Event::kRelease, side));
    case Operation::kAbort:
      return settle(store, settlements(Event::kAbort, side));
    case Operation::kYield:
      return settle(store, settlements(Event::kYield, side));
    case Operation::kCompleteWhole:
      return settle(store, settlements_of_all(Event::kComplete));
    case Operation::kExtendWhole:
      return settle(store, settlements_of_all(Event::kHeartbeat));
    case Operation::kExtendAll:
      return answered_extend(store.extend_leases(stamp_));
    case Operation::kExpire:
      return answered_expire(store.expire_leases({.seen = stamp_, .slack = 1h, .max = kSome}));
    case Operation::kPromote:
      return answered_promote(store.promote_due(kSome));
    case Operation::kCancel: {
      std::vector<CancelWish> wishes;
      for (const TaskId& id : some_of_all(side)) wishes.push_back({.id = id, .reason = std::nullopt});
      return answered_cancel(wishes, store.cancel(wishes));
    }
    case Operation::kGet: {
      const auto ids = some_of_all(side);
      return answered_get(ids, store.get(ids));
    }
    case Operation::kPurge:
      return answered_purge(store.purge(kSome));
  }
  check_failed("operation", __FILE__, __LINE__, "all are above");
}

}  // namespace horae::testing
