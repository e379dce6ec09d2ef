// The decorator between a store and all parts of a node: it measures each call and reports what the call changed.
#pragma once

#include <string>

#include "observe/call_meter.h"
#include "observe/observed_tasks.h"
#include "store/change.h"
#include "store/store.h"

namespace horae {

class ObservedQueues final : public QueueStore {
 public:
  ObservedQueues(QueueStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer);

  Result<QueueList> queues() override;
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override;
  Result<QueueRemoval> remove(std::string_view queue, std::size_t max) override;
  Result<bool> set_scheduler_running(bool running) override;
  Result<bool> scheduler_running() override;
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override;
  Result<std::string> new_worker_id() override;

 private:
  QueueStore& store_;
  ChangeObserver& observer_;
  CallMeter queues_;
  CallMeter configure_;
  CallMeter remove_;
  CallMeter set_scheduler_running_;
  CallMeter scheduler_running_;
  CallMeter closed_;
  CallMeter new_worker_id_;
};

class ObservedTokens final : public TokenStore {
 public:
  ObservedTokens(TokenStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer);

  Result<Token> create(const Token& token) override;
  Result<bool> revoke(std::string_view id) override;
  Result<TokenList> tokens() override;

 private:
  TokenStore& store_;
  ChangeObserver& observer_;
  CallMeter create_;
  CallMeter revoke_;
  CallMeter tokens_;
};

// A fire is reported as the submission that it is.
class ObservedSchedules final : public ScheduleStore {
 public:
  ObservedSchedules(ScheduleStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer);

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
  ScheduleStore& store_;
  ChangeObserver& observer_;
  CallMeter put_;
  CallMeter remove_;
  CallMeter get_;
  CallMeter list_;
  CallMeter due_;
  CallMeter step_;
  CallMeter recompute_;
  CallMeter fires_;
  CallMeter forget_fires_;
};

// Changes nothing that is reported.
class ObservedCluster final : public ClusterStore {
 public:
  ObservedCluster(ClusterStore& store, Meter& meter, const Clock& clock);

  Result<Tick> tick(const TickWish& wish) override;
  Result<std::vector<NodeRecord>> nodes() override;
  Result<void> leave(std::string_view node) override;
  Result<std::optional<Instant>> last_awaited(std::string_view queue) override;
  Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) override;
  std::unique_ptr<Bulletin> listen(Bulletin::Heard heard) override { return store_.listen(std::move(heard)); }

 private:
  ClusterStore& store_;
  CallMeter tick_;
  CallMeter nodes_;
  CallMeter leave_;
  CallMeter last_awaited_;
  CallMeter ahead_;
};

// The promises are those of the store behind it; messages are passed through. Thread-safe. All that is passed must
// outlive it.
class ObservedStore final : public Store {
 public:
  ObservedStore(Store& store, Meter& meter, const Clock& clock, ChangeObserver& observer)
      : store_(store),
        tasks_(store.tasks(), meter, clock, observer),
        queues_(store.queues(), meter, clock, observer),
        schedules_(store.schedules(), meter, clock, observer),
        tokens_(store.tokens(), meter, clock, observer),
        cluster_(store.cluster(), meter, clock) {}

  TaskStore& tasks() override { return tasks_; }
  QueueStore& queues() override { return queues_; }
  MessageStore& messages() override { return store_.messages(); }
  ScheduleStore& schedules() override { return schedules_; }
  TokenStore& tokens() override { return tokens_; }
  ClusterStore& cluster() override { return cluster_; }
  Result<void> probe_writes() override { return store_.probe_writes(); }
  std::string description() const override { return store_.description(); }

  // Whether the store takes new tasks, by the last writes that it refused: see WriteWatch.
  Result<void> check_writes() {
    return tasks_.writes().check([this] { return store_.probe_writes(); });
  }

 private:
  Store& store_;
  ObservedTasks tasks_;
  ObservedQueues queues_;
  ObservedSchedules schedules_;
  ObservedTokens tokens_;
  ObservedCluster cluster_;
};

}  // namespace horae
