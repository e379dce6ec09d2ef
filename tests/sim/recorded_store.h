// Records every change of the store in the history, in the order of commits.
#pragma once

#include "store/queue_store.h"
#include "store/task_store.h"
#include "tests/sim/world.h"

namespace horae::sim {

// The tasks, for the calls of one node.
class RecordedTasks final : public TaskStore {
 public:
  RecordedTasks(World& world, int node) : world_(world), node_(node), tasks_(world.store->tasks()) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override;
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override;
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override { return tasks_.leases_of(token); }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override { return tasks_.have_served(tokens); }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override;
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override;
  Result<PromoteOutcome> promote_due(std::size_t max) override;
  Result<Watch> look() override { return tasks_.look(); }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override;
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override;
  Result<PurgeOutcome> purge(std::size_t max) override;
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override { return tasks_.get(ids); }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return tasks_.find(queue, key);
  }
  Result<Page> list(const ListQuery& query) override { return tasks_.list(query); }

 private:
  World& world_;
  const int node_;
  TaskStore& tasks_;
};

class RecordedQueues final : public QueueStore {
 public:
  RecordedQueues(World& world, int node) : world_(world), node_(node), queues_(world.store->queues()) {}

  Result<QueueList> queues() override { return queues_.queues(); }
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override;
  Result<QueueRemoval> remove(std::string_view queue, std::size_t max) override { return queues_.remove(queue, max); }
  Result<bool> set_scheduler_running(bool running) override;
  Result<bool> scheduler_running() override { return queues_.scheduler_running(); }
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override {
    return queues_.closed(queues);
  }
  Result<std::string> new_worker_id() override { return queues_.new_worker_id(); }

 private:
  World& world_;
  const int node_;
  QueueStore& queues_;
};

// The spec of a task for this intent, executable by a node's own slots; and the intent of a spec, 0 for other specs.
std::string spec_of_intent(std::int64_t intent, std::string_view run, Duration length);
std::int64_t intent_of_spec(std::string_view spec);

}  // namespace horae::sim
