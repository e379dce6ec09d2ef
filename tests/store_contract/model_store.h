// The yardstick: the store contract in memory, as plain as it can be said. No speed, no persistence. Where the headers
// of src/store leave room, the reading chosen here is written beside the code; grep for "Reading:".
//
// Thread-safe: every call holds one mutex from its beginning to its end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/store.h"

namespace horae::testing {

// A task, and what the store keeps of it but does not show. `task` has no history; `log` is the whole one.
// `task.owner` and `task.started_at` are always those of the newest attempt; view() hides them where Task says so.
struct ModelTask {
  Task task;
  std::string digest;
  std::int64_t rank = 0;
  std::int64_t ready_second = 0;
  Uuid token;
  Duration lease = kDefaultLease;
  std::optional<AttemptEnd> ended;
  std::vector<HistoryEntry> log;
};

struct ModelQueue {
  QueueSettings settings;
  Ageing ageing;
  std::optional<std::string> made_by = std::nullopt;  // the token
  Instant made_at = {};
  bool is_configured = false;
};

struct ModelSchedule {
  Schedule schedule;
  std::map<Instant, FireRecord> fires;
};

struct ModelMessage {
  StoredMessage stored;
  bool may_be_published = false;
};

struct ModelNode {
  NodeRecord record;
  bool wants_events = false;
};

// Everything there is. The helpers are called with `mutex` held.
struct Model {
  explicit Model(const Clock& its_clock) : clock(its_clock) {}

  Instant now() const { return clock.wall_now(); }
  std::int64_t now_second() const;

  ModelTask* find_task(const TaskId& id);
  ModelTask* find_task(std::string_view queue, std::string_view key);

  // The queue, made if it is new; nothing if there is no room for it.
  ModelQueue* make_queue(std::string_view name);

  // How many queues exist that this token made.
  std::size_t queues_made_by(std::string_view token) const;

  // True if a task is in it: any, or one that waits or runs.
  bool has_any_task(std::string_view queue) const;
  bool has_live_task(std::string_view queue) const;

  // Removes a finished task; returns the one after it.
  std::map<std::int64_t, ModelTask>::iterator purge(std::map<std::int64_t, ModelTask>::iterator held);

  // Does what the table says about `event`, which must be allowed, and notes the time.
  void move(ModelTask& held, Event event, Condition condition = Condition::kNone) const;

  // Gives new tasks the numbers that another store gave them: within a batch their order is the store's choice.
  void renumber(const std::map<TaskId, std::int64_t>& numbers);

  // Gives the rank of a task that becomes ready now.
  void rank(ModelTask& held);

  const Clock& clock;
  std::mutex mutex;
  std::map<std::int64_t, ModelTask> tasks;
  std::map<TaskId, std::int64_t> ids;
  std::map<std::pair<std::string, std::string>, std::int64_t> keys;  // of (queue, key)
  std::map<std::string, ModelQueue, std::less<>> queues;
  std::map<std::string, std::map<std::string, ModelMessage, std::less<>>, std::less<>> messages;
  std::map<std::string, ModelSchedule, std::less<>> schedules;
  std::map<std::string, Token, std::less<>> tokens;
  std::int64_t token_version = 0;
  std::map<Uuid, Instant> served;  // tokens of claims with `once`, and when they got something
  std::map<std::string, ModelNode, std::less<>> nodes;
  std::map<std::string, Instant, std::less<>> awaited;  // queues, and when that was last said
  std::int64_t last_number = 0;
  std::int64_t last_worker = 0;
  bool scheduler_running = true;
  std::optional<Instant> stamp;
};

// A task as get() shows it, and without its history as lists show it.
Task view(const ModelTask& held);
Task view_without_history(const ModelTask& held);

// Reading: what a Duration cannot hold (a deadline in the year 9999) becomes its longest or shortest value.
Duration between(Instant from, Instant to);

// Reading: what is finer than a microsecond is cut off.
Instant after(Instant from, Duration wait);

// The same as the calls for one item; with the model's mutex held.
SubmitOutcome submit_one(Model& model, const Submission& submission);
CancelOutcome cancel_one(Model& model, const CancelWish& wish);

Error refused(std::string message);

// kRefused for more than kMaxBatch items.
Result<void> check_batch(std::size_t items);

// check_batch(), and `check` for each item.
template <typename Items, typename Check>
Result<void> check_all(const Items& items, Check check) {
  if (auto checked = check_batch(items.size()); !checked.ok()) return checked;
  for (const auto& item : items) {
    if (Result<void> checked = check(item); !checked.ok()) return refused(checked.error().message);
  }
  return {};
}

class ModelTaskStore final : public TaskStore {
 public:
  explicit ModelTaskStore(Model& model) : model_(model) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override;
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override;
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override;
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override;
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override;
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override;
  Result<PromoteOutcome> promote_due(std::size_t max) override;
  Result<Watch> look() override;
  Result<bool> extend_leases(const std::optional<Instant>& seen) override;
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override;
  Result<PurgeOutcome> purge(std::size_t max) override;
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override;
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override;
  Result<Page> list(const ListQuery& query) override;

 private:
  Model& model_;
};

class ModelQueueStore final : public QueueStore {
 public:
  explicit ModelQueueStore(Model& model) : model_(model) {}

  Result<QueueList> queues() override;
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override;
  Result<QueueRemoval> remove(std::string_view queue, std::size_t max) override;
  Result<bool> set_scheduler_running(bool running) override;
  Result<bool> scheduler_running() override;
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override;
  Result<std::string> new_worker_id() override;

 private:
  Model& model_;
};

class ModelMessageStore final : public MessageStore {
 public:
  explicit ModelMessageStore(Model& model) : model_(model) {}

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override;
  Result<TurnOutcome> turn(const TurnWish& wish) override;
  Result<HeldPage> held_by(const HeldWish& wish) override;
  Result<StuckPage> stuck(const StuckWish& wish) override;
  Result<std::vector<bool>> reset(std::string_view delay_queue, std::span<const Readying> stuck) override;
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view delay_queue,
                                                        std::span<const std::string> ids) override;
  Result<std::vector<Verdict>> cancel(std::string_view delay_queue, std::span<const std::string> ids) override;
  Result<std::vector<Verdict>> move(std::string_view delay_queue, std::span<const MoveWish> wishes) override;
  Result<MessagePage> list(const MessageQuery& query) override;
  Result<MessageCounts> counts(std::string_view delay_queue, Duration advance, std::size_t most) override;
  Result<std::vector<DelayLook>> look(std::span<const std::string> delay_queues) override;

 private:
  Model& model_;
};

class ModelScheduleStore final : public ScheduleStore {
 public:
  explicit ModelScheduleStore(Model& model) : model_(model) {}

  Result<PutOutcome> put(const NewSchedule& schedule, const Uuid& version,
                         const std::optional<Uuid>& expected) override;
  Result<bool> remove(std::string_view name, const std::optional<Uuid>& expected) override;
  Result<std::optional<Schedule>> get(std::string_view name) override;
  Result<std::vector<Schedule>> list(std::string_view after, std::size_t limit) override;
  Result<DueSchedules> due(std::size_t max) override;
  Result<std::vector<StepOutcome>> step(std::span<const ScheduleStep> steps) override;
  Result<std::size_t> recompute(std::string_view tzdata) override;
  Result<std::vector<FireRecord>> fires(std::string_view name, Instant before, std::size_t limit) override;
  Result<std::size_t> forget_fires(std::size_t max) override;

 private:
  Model& model_;
};

class ModelTokenStore final : public TokenStore {
 public:
  explicit ModelTokenStore(Model& model) : model_(model) {}

  Result<Token> create(const Token& token) override;
  Result<bool> revoke(std::string_view id) override;
  Result<TokenList> tokens() override;

 private:
  Model& model_;
};

class ModelClusterStore final : public ClusterStore {
 public:
  explicit ModelClusterStore(Model& model) : model_(model) {}

  Result<Tick> tick(const TickWish& wish) override;
  Result<std::vector<NodeRecord>> nodes() override;
  Result<void> leave(std::string_view node) override;
  Result<std::optional<Instant>> last_awaited(std::string_view queue) override;
  Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) override;
  std::unique_ptr<Bulletin> listen(Bulletin::Heard) override { return nullptr; }

 private:
  Model& model_;
};

class ModelStore final : public Store {
 public:
  // `clock` must outlive the store.
  explicit ModelStore(const Clock& clock) : model_(clock) {}

  TaskStore& tasks() override { return tasks_; }
  QueueStore& queues() override { return queues_; }
  MessageStore& messages() override { return messages_; }
  ScheduleStore& schedules() override { return schedules_; }
  TokenStore& tokens() override { return tokens_; }
  ClusterStore& cluster() override { return cluster_; }
  std::string description() const override { return "the model, in memory"; }

  Model& model() { return model_; }

 private:
  Model model_;
  ModelTaskStore tasks_{model_};
  ModelQueueStore queues_{model_};
  ModelMessageStore messages_{model_};
  ModelScheduleStore schedules_{model_};
  ModelTokenStore tokens_{model_};
  ModelClusterStore cluster_{model_};
};

}  // namespace horae::testing
