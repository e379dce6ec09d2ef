// A TaskStore that tells what has become of tasks, on the way to the real one.
#pragma once

#include <functional>
#include <span>

#include "observe/event_ring.h"
#include "store/task_store.h"

namespace horae {

// What it promises is what the store promises. Hints are told after the store has answered, on the caller's thread.
//
// Threads: every member may be called from any thread at once. The store must outlive it.
class HintingTasks final : public TaskStore {
 public:
  using Tell = std::function<void(std::span<const Hint>)>;

  HintingTasks(TaskStore& store, Tell tell) : store_(store), tell_(std::move(tell)) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override;
  Result<std::vector<std::vector<LeasedTask>>> claim(std::span<const ClaimWish> wishes) override;
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override;
  Result<BundleOutcome> exchange(const Bundle& calls) override;
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override;
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override;

  // These tell nothing: they change no task, or do not say which.
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override { return store_.leases_of(token); }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override { return store_.have_served(tokens); }
  Result<PromoteOutcome> promote_due(std::size_t max) override { return store_.promote_due(max); }
  Result<Watch> look() override { return store_.look(); }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override { return store_.extend_leases(seen); }
  Result<PurgeOutcome> purge(std::size_t max) override { return store_.purge(max); }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override { return store_.get(ids); }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return store_.find(queue, key);
  }
  Result<Page> list(const ListQuery& query) override { return store_.list(query); }

 private:
  TaskStore& store_;
  const Tell tell_;
};

}  // namespace horae
