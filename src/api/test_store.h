// Wraps a store so that a test can make it unavailable, over a limit, or blocking.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/message_store.h"
#include "store/queue_store.h"
#include "store/store.h"
#include "store/task_store.h"
#include "store/token_store.h"

namespace horae::testing {

// Decides what happens to calls of the store. Thread-safe.
class StoreGate {
 public:
  // Calls fail with this code until it is changed.
  void fail_with(std::optional<ErrorCode> code) {
    const std::lock_guard lock(mutex_);
    failure_ = code;
  }

  // Calls throw std::bad_alloc.
  void exhaust_memory(bool is_exhausted) {
    const std::lock_guard lock(mutex_);
    is_exhausted_ = is_exhausted;
  }

  // Calls block until open().
  void hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    changed_.notify_all();
  }

  // Waits until that many callers are blocked.
  void wait_for_held(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_ >= count; });
  }

  template <typename Call>
  auto pass(const Call& call) -> decltype(call()) {
    {
      std::unique_lock lock(mutex_);
      ++held_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !is_held_; });
      --held_;
      if (is_exhausted_) throw std::bad_alloc();
      if (failure_) return Error{*failure_, "the test made the store unavailable"};
    }
    return call();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<ErrorCode> failure_;
  bool is_held_ = false;
  bool is_exhausted_ = false;
  int held_ = 0;
};

class GatedTasks final : public TaskStore {
 public:
  GatedTasks(TaskStore& store, StoreGate& gate) : store_(store), gate_(gate) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override {
    return gate_.pass([&] { return store_.submit(submissions); });
  }
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override {
    return gate_.pass([&] { return store_.claim(wishes); });
  }
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override {
    return gate_.pass([&] { return store_.leases_of(token); });
  }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override {
    return gate_.pass([&] { return store_.have_served(tokens); });
  }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override {
    return gate_.pass([&] { return store_.settle(settlements); });
  }
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override {
    return gate_.pass([&] { return store_.cancel(wishes); });
  }
  Result<PromoteOutcome> promote_due(std::size_t max) override {
    return gate_.pass([&] { return store_.promote_due(max); });
  }
  Result<Watch> look() override {
    return gate_.pass([&] { return store_.look(); });
  }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override {
    return gate_.pass([&] { return store_.extend_leases(seen); });
  }
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override {
    return gate_.pass([&] { return store_.expire_leases(wish); });
  }
  Result<PurgeOutcome> purge(std::size_t max) override {
    return gate_.pass([&] { return store_.purge(max); });
  }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override {
    return gate_.pass([&] { return store_.get(ids); });
  }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return gate_.pass([&] { return store_.find(queue, key); });
  }
  Result<Page> list(const ListQuery& query) override {
    return gate_.pass([&] { return store_.list(query); });
  }

 private:
  TaskStore& store_;
  StoreGate& gate_;
};

class GatedQueues final : public QueueStore {
 public:
  GatedQueues(QueueStore& store, StoreGate& gate) : store_(store), gate_(gate) {}

  Result<QueueList> queues() override {
    return gate_.pass([&] { return store_.queues(); });
  }
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override {
    return gate_.pass([&] { return store_.configure(queue, change); });
  }
  Result<QueueRemoval> remove(std::string_view queue, std::size_t max) override {
    return gate_.pass([&] { return store_.remove(queue, max); });
  }
  Result<bool> set_scheduler_running(bool running) override {
    return gate_.pass([&] { return store_.set_scheduler_running(running); });
  }
  Result<bool> scheduler_running() override {
    return gate_.pass([&] { return store_.scheduler_running(); });
  }
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override {
    return gate_.pass([&] { return store_.closed(queues); });
  }
  Result<std::string> new_worker_id() override {
    return gate_.pass([&] { return store_.new_worker_id(); });
  }

 private:
  QueueStore& store_;
  StoreGate& gate_;
};

class GatedTokens final : public TokenStore {
 public:
  GatedTokens(TokenStore& store, StoreGate& gate) : store_(store), gate_(gate) {}

  Result<Token> create(const Token& token) override {
    return gate_.pass([&] { return store_.create(token); });
  }
  Result<bool> revoke(std::string_view id) override {
    return gate_.pass([&] { return store_.revoke(id); });
  }
  Result<TokenList> tokens() override {
    return gate_.pass([&] { return store_.tokens(); });
  }

 private:
  TokenStore& store_;
  StoreGate& gate_;
};

class GatedMessages final : public MessageStore {
 public:
  GatedMessages(MessageStore& store, StoreGate& gate) : store_(store), gate_(gate) {}

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override {
    return gate_.pass([&] { return store_.enqueue(wish); });
  }
  Result<TurnOutcome> turn(const TurnWish& wish) override {
    return gate_.pass([&] { return store_.turn(wish); });
  }
  Result<HeldPage> held_by(const HeldWish& wish) override {
    return gate_.pass([&] { return store_.held_by(wish); });
  }
  Result<StuckPage> stuck(const StuckWish& wish) override {
    return gate_.pass([&] { return store_.stuck(wish); });
  }
  Result<std::vector<bool>> reset(std::string_view delay_queue, std::span<const Readying> stuck) override {
    return gate_.pass([&] { return store_.reset(delay_queue, stuck); });
  }
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view delay_queue,
                                                        std::span<const std::string> ids) override {
    return gate_.pass([&] { return store_.get(delay_queue, ids); });
  }
  Result<std::vector<Verdict>> cancel(std::string_view delay_queue, std::span<const std::string> ids) override {
    return gate_.pass([&] { return store_.cancel(delay_queue, ids); });
  }
  Result<std::vector<Verdict>> move(std::string_view delay_queue, std::span<const MoveWish> wishes) override {
    return gate_.pass([&] { return store_.move(delay_queue, wishes); });
  }
  Result<MessagePage> list(const MessageQuery& query) override {
    return gate_.pass([&] { return store_.list(query); });
  }
  Result<MessageCounts> counts(std::string_view delay_queue, Duration advance, std::size_t most) override {
    return gate_.pass([&] { return store_.counts(delay_queue, advance, most); });
  }
  Result<std::vector<DelayLook>> look(std::span<const std::string> delay_queues) override {
    return gate_.pass([&] { return store_.look(delay_queues); });
  }

 private:
  MessageStore& store_;
  StoreGate& gate_;
};

class GatedSchedules final : public ScheduleStore {
 public:
  GatedSchedules(ScheduleStore& store, StoreGate& gate) : store_(store), gate_(gate) {}

  Result<PutOutcome> put(const NewSchedule& schedule, const Uuid& version,
                         const std::optional<Uuid>& expected) override {
    return gate_.pass([&] { return store_.put(schedule, version, expected); });
  }
  Result<bool> remove(std::string_view name, const std::optional<Uuid>& expected) override {
    return gate_.pass([&] { return store_.remove(name, expected); });
  }
  Result<std::optional<Schedule>> get(std::string_view name) override {
    return gate_.pass([&] { return store_.get(name); });
  }
  Result<std::vector<Schedule>> list(std::string_view after, std::size_t limit) override {
    return gate_.pass([&] { return store_.list(after, limit); });
  }
  Result<DueSchedules> due(std::size_t max) override {
    return gate_.pass([&] { return store_.due(max); });
  }
  Result<std::vector<StepOutcome>> step(std::span<const ScheduleStep> steps) override {
    return gate_.pass([&] { return store_.step(steps); });
  }
  Result<std::size_t> recompute(std::string_view tzdata) override {
    return gate_.pass([&] { return store_.recompute(tzdata); });
  }
  Result<std::vector<FireRecord>> fires(std::string_view name, Instant before, std::size_t limit) override {
    return gate_.pass([&] { return store_.fires(name, before, limit); });
  }
  Result<std::size_t> forget_fires(std::size_t max) override {
    return gate_.pass([&] { return store_.forget_fires(max); });
  }

 private:
  ScheduleStore& store_;
  StoreGate& gate_;
};

// The whole store; calls about the cluster are not gated.
class GatedStore final : public Store {
 public:
  GatedStore(Store& store, StoreGate& gate)
      : store_(store),
        tasks_(store.tasks(), gate),
        queues_(store.queues(), gate),
        schedules_(store.schedules(), gate),
        tokens_(store.tokens(), gate),
        messages_(store.messages(), gate) {}

  TaskStore& tasks() override { return tasks_; }
  QueueStore& queues() override { return queues_; }
  MessageStore& messages() override { return messages_; }
  ScheduleStore& schedules() override { return schedules_; }
  TokenStore& tokens() override { return tokens_; }
  ClusterStore& cluster() override { return store_.cluster(); }
  std::string description() const override { return store_.description(); }

 private:
  Store& store_;
  GatedTasks tasks_;
  GatedQueues queues_;
  GatedSchedules schedules_;
  GatedTokens tokens_;
  GatedMessages messages_;
};

}  // namespace horae::testing
