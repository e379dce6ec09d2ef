// The world of a contract test: one store, a clock that the test moves, and short words for the calls, so that a test
// reads as a story of a few lines.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/uuid.h"
#include "store/store.h"
#include "tests/store_contract/backend.h"

namespace horae {

struct Effect;

// How GoogleTest prints what it compares.
void PrintTo(State state, std::ostream* out);
void PrintTo(Event event, std::ostream* out);
void PrintTo(Verdict verdict, std::ostream* out);
void PrintTo(EnqueueKind kind, std::ostream* out);
void PrintTo(ErrorCode code, std::ostream* out);
void PrintTo(const Uuid& uuid, std::ostream* out);
void PrintTo(const HistoryEntry& entry, std::ostream* out);

}  // namespace horae

namespace horae::testing {

using std::literals::operator""h;
using std::literals::operator""min;
using std::literals::operator""s;
using std::literals::operator""ms;
using std::literals::operator""us;

inline constexpr char kQueue[] = "work";
inline constexpr char kOwner[] = "worker-1";

void PrintTo(const BackendMaker& maker, std::ostream* out);

// The value, or the end of the test.
template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) throw std::runtime_error("the store failed: " + result.error().message);
  return std::move(*result);
}

// The code of a failure; nothing for a success.
template <typename T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional(result.error().code);
}

// All pages of a list, one after the other. A list without end ends the test.
std::vector<Task> all_pages(TaskStore& tasks, ListQuery query);

// These patterns must be good.
QueueScope scope_of(std::vector<std::string> patterns);

// A leased task and its owner.
struct Lease : LeasedTask {
  std::string owner;
};

Settlement settlement(Event event, const Lease& lease);

// One error with this code, as an abort brings it.
std::vector<TaskError> errors_of(std::string code);

// An entry of the history, by what matters most.
::testing::Matcher<const HistoryEntry&> entry(HistoryKind kind, std::string worker, int attempt);

std::vector<TaskId> ids_of(const std::vector<LeasedTask>& leased);
std::vector<TaskId> ids_of(const std::vector<Lease>& leases);

class Contract : public ::testing::TestWithParam<BackendMaker> {
 protected:
  Contract();

  TaskStore& tasks() { return backend_->store().tasks(); }
  QueueStore& queues() { return backend_->store().queues(); }
  MessageStore& messages() { return backend_->store().messages(); }
  ScheduleStore& schedules() { return backend_->store().schedules(); }
  TokenStore& tokens() { return backend_->store().tokens(); }
  ClusterStore& cluster() { return backend_->store().cluster(); }

  Instant now();
  void advance(Duration by);
  void step_clock(Duration by);

  // Restarts the store. False for a store that keeps nothing: then the test has nothing to check.
  bool reopen() { return backend_->reopen(); }

  // An id as Horae makes them.
  Uuid new_id() { return ids_.next(); }

  // `task` with defaults: kQueue and the spec {}.
  Submission submission(NewTask task = {});
  std::vector<SubmitOutcome> submit_all(const std::vector<Submission>& submissions);
  SubmitOutcome try_submit(NewTask task);

  // These must be new.
  TaskId submit(NewTask task = {});
  std::vector<TaskId> submit_many(std::size_t count, const NewTask& task = {});

  ClaimWish wish(int max = 1, std::string owner = kOwner, std::vector<std::string> queues = {kQueue});
  std::vector<Lease> claim(const ClaimWish& wish);
  std::vector<Lease> claim_up_to(int max, std::string owner = kOwner, std::vector<std::string> queues = {kQueue});

  // Exactly one task.
  Lease claim(std::string owner = kOwner, std::string queue = kQueue);

  // Submits a task and claims it, which must be the next in its queue.
  Lease start(NewTask task = {}, std::string owner = kOwner);

  SettleOutcome settle(const Settlement& said);
  std::vector<Verdict> settle_all(const std::vector<Settlement>& said);
  Verdict heartbeat(const Lease& lease) { return settle(settlement(Event::kHeartbeat, lease)).verdict; }
  Verdict complete(const Lease& lease) { return settle(settlement(Event::kComplete, lease)).verdict; }
  Verdict abort(const Lease& lease) { return settle(settlement(Event::kAbort, lease)).verdict; }
  Verdict yield(const Lease& lease) { return settle(settlement(Event::kYield, lease)).verdict; }
  Verdict release(const Lease& lease) { return settle(settlement(Event::kRelease, lease)).verdict; }

  Verdict cancel(const TaskId& id, std::optional<std::string> reason = std::nullopt);

  PromoteOutcome promote(std::size_t max = kMaxBatch) { return value_of(tasks().promote_due(max)); }
  PurgeOutcome purge(std::size_t max = kMaxBatch) { return value_of(tasks().purge(max)); }

  Watch look() { return value_of(tasks().look()); }

  // A monitor after an outage: all leases start anew, and the stamp is now.
  void extend_leases();

  // A monitor that was never away takes what is overdue.
  ExpireOutcome expire(std::size_t max = kMaxBatch);

  // Lets all leases expire, if none is longer than the default.
  std::vector<ExpiredLease> lose_leases();

  std::optional<Task> find(const TaskId& id);
  Task get(const TaskId& id);  // must exist
  State state_of(const TaskId& id) { return get(id).state; }
  std::vector<HistoryEntry> history_of(const TaskId& id) { return get(id).history.entries(); }
  HistoryEntry newest_entry_of(const TaskId& id);  // must exist

  std::vector<Task> list_all(const ListQuery& query) { return all_pages(tasks(), query); }
  std::vector<TaskId> ids_in(const ListQuery& query);

  void configure(std::string_view queue, const QueueChange& change);
  std::optional<QueueInfo> find_queue(std::string_view name);
  QueueInfo queue(std::string_view name = kQueue);  // must exist

 private:
  std::unique_ptr<Backend> backend_;
  ManualClock node_clock_;  // moves with the store's
  SeededRandom random_{1};
  UuidSource ids_{node_clock_, random_};
};

// Calls `body(0)` to `body(count - 1)` in as many threads, which begin together, and waits for their ends. An exception
// ends its thread and fails the test.
void together(int count, const std::function<void(int)>& body);

// Lets two callers meet on each of `rounds` rounds, again and again side by side.
void race(std::size_t rounds, const std::function<void(std::size_t)>& one,
          const std::function<void(std::size_t)>& other);

// One fixture for each concern, so that the names of the tests begin with it.
class Submit : public Contract {};
class Claim : public Contract {};
class Once : public Contract {
 protected:
  // A wish under a token that serves once.
  ClaimWish once(int max = 1, std::vector<std::string> queues = {kQueue});
  bool has_served(const ClaimWish& wish);
};
class Hold : public Contract {};
class Settle : public Contract {};
class Exchanging : public Contract {
 protected:
  BundleOutcome exchange(const std::vector<Settlement>& settlements, const std::vector<Submission>& submissions,
                         const std::vector<ClaimWish>& wishes);
};
class StateTable : public Contract {
 protected:
  // A task in this state, and the newest attempt at it.
  Lease task_in(std::optional<State> state, const std::string& queue);

  // Lets `event` come as near to the task as the interface allows.
  void apply(Event event, const Lease& lease);

  // Nothing if there is no such task.
  std::optional<State> state_now(const TaskId& id);
};
class EffectTable : public Contract {
 public:
  struct Situation;
  struct Action;

 protected:
  struct Case;  // a task, and what the store must remember of its attempts

  void expect_settlements(const std::vector<Situation>& situations, const std::vector<Action>& actions);
  void expect_settlement(const Situation& situation, const Action& action, const std::string& queue);

  // A running task, as its first attempt or with a past: lost leases, a turn, progress, a checkpoint.
  Case running(const NewTask& task, bool has_past);

  // A scheduled task: it never began, or waits for its next turn or try.
  Case scheduled(bool recurs, bool is_retried, std::string queue);

  void add_bystander(const Case& of);

  // `before` was changed as `effect` says, by an event that brought `said`, and in nothing else.
  void expect_effect(const Case& of, const Task& before, const Effect& effect, const Settlement& said);
  void expect_rank(const Case& of, const Effect& effect);
  void expect_memory(const Case& of, const Task& after, const Effect& effect);
};
class Retry : public Contract {};
class Recurrence : public Contract {};
class TaskHistory : public Contract {};
class Cancel : public Contract {};
class Promote : public Contract {};
class Monitor : public Contract {};
class Purge : public Contract {};
class Get : public Contract {};
class List : public Contract {};
class Queues : public Contract {};
class Messages : public Contract {
 protected:
  StoredMessage message(std::string_view id, std::string_view queue = "delay");  // must exist
  std::optional<StoredMessage> find(std::string_view id, std::string_view queue = "delay");

  // Stores a message to "delay" whether it is late or not; readies nothing.
  EnqueueKind enqueue(Message message, std::optional<RecordPlace> place = std::nullopt);

  // As the intake does: what is late is not stored. `horizon`: what is due by then is readied for kNode.
  EnqueueOutcome take_in(const std::vector<NewMessage>& batch, Duration horizon = {}, Duration advance = {});

  std::vector<Readying> ready_due(Duration horizon, std::size_t max = kMaxBatch, const Uuid& node = kNode);
  std::vector<bool> remove(const std::vector<Readying>& fired, std::string queue = "delay");
  std::vector<bool> give_back(const std::vector<GiveBack>& failed, Duration advance = {});
  std::vector<bool> reset(const std::vector<Readying>& stuck);
  std::vector<Readying> stuck(Duration hold, Duration advance = {}, std::size_t max = 10);
  Verdict cancel(const std::string& id, std::string_view queue = "delay");
  Verdict move(const std::string& id, Instant deadline, std::string_view queue = "delay");

  static const Uuid kNode;
  static const Uuid kPeer;
};
class Tokens : public Contract {
 protected:
  static Token token(std::string id, std::string name);
};
class Schedules : public Contract {
 protected:
  static NewSchedule each_minute(std::string name = "nightly");
  Schedule put(const NewSchedule& schedule);             // which must be new, or different
  Schedule schedule(std::string_view name = "nightly");  // must exist
  std::vector<FireRecord> fires(std::string_view name = "nightly");

  // What a node that sees this schedule now would do. Its tasks are new each time.
  ScheduleStep step_of(const Schedule& seen);
  StepOutcome take(const ScheduleStep& step);
  StepOutcome look_and_step(std::string_view name = "nightly") { return take(step_of(schedule(name))); }
};
class TaskScope : public Contract {
 protected:
  // Of a caller that may use kQueue and those that begin with "mail.".
  const Scope mine_ = std::make_shared<const QueueScope>(scope_of({kQueue, "mail.*"}));
};
class Cluster : public Contract {
 protected:
  Tick tick(const std::string& node, std::vector<std::string> awaited = {}, bool wants_events = false);
  std::vector<std::string> nodes();  // their ids
  std::optional<std::size_t> ahead(const TaskId& id, std::size_t most = 100);
};
class Concurrency : public Contract {};
class Payload : public Contract {};
class Reopen : public Contract {};
class Limits : public Contract {};
class RandomOperations : public Contract {};

}  // namespace horae::testing

// Runs the whole suite against one store: HORAE_STORE_CONTRACT((BackendMaker{"sqlite", make_sqlite_backend})).
#define HORAE_STORE_CONTRACT(maker)             \
  HORAE_STORE_CONTRACT_PART(Submit, maker)      \
  HORAE_STORE_CONTRACT_PART(Claim, maker)       \
  HORAE_STORE_CONTRACT_PART(Once, maker)        \
  HORAE_STORE_CONTRACT_PART(Hold, maker)        \
  HORAE_STORE_CONTRACT_PART(Settle, maker)      \
  HORAE_STORE_CONTRACT_PART(Exchanging, maker)  \
  HORAE_STORE_CONTRACT_PART(StateTable, maker)  \
  HORAE_STORE_CONTRACT_PART(EffectTable, maker) \
  HORAE_STORE_CONTRACT_PART(Retry, maker)       \
  HORAE_STORE_CONTRACT_PART(Recurrence, maker)  \
  HORAE_STORE_CONTRACT_PART(TaskHistory, maker) \
  HORAE_STORE_CONTRACT_PART(Cancel, maker)      \
  HORAE_STORE_CONTRACT_PART(Promote, maker)     \
  HORAE_STORE_CONTRACT_PART(Monitor, maker)     \
  HORAE_STORE_CONTRACT_PART(Purge, maker)       \
  HORAE_STORE_CONTRACT_PART(Get, maker)         \
  HORAE_STORE_CONTRACT_PART(List, maker)        \
  HORAE_STORE_CONTRACT_PART(Queues, maker)      \
  HORAE_STORE_CONTRACT_PART(Messages, maker)    \
  HORAE_STORE_CONTRACT_PART(Schedules, maker)   \
  HORAE_STORE_CONTRACT_PART(Tokens, maker)      \
  HORAE_STORE_CONTRACT_PART(TaskScope, maker)   \
  HORAE_STORE_CONTRACT_PART(Cluster, maker)     \
  HORAE_STORE_CONTRACT_PART(Concurrency, maker) \
  HORAE_STORE_CONTRACT_PART(Payload, maker)     \
  HORAE_STORE_CONTRACT_PART(Reopen, maker)      \
  HORAE_STORE_CONTRACT_PART(Limits, maker)      \
  HORAE_STORE_CONTRACT_PART(RandomOperations, maker)

#define HORAE_STORE_CONTRACT_PART(fixture, maker) \
  INSTANTIATE_TEST_SUITE_P(, fixture, ::testing::Values(maker), [](const auto& each) { return each.param.name; });
