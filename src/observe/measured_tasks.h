// A TaskStore that counts and times what it is asked for, on the way to the real one.
#pragma once

#include "observe/measured.h"
#include "store/task_store.h"

namespace horae {

// Put it between the store and all who use it (combiner, engine, API). What it promises is what the store promises.
//
// Threads: every member may be called from any thread at once. All that it is given must outlive it.
class MeasuredTasks final : public TaskStore {
 public:
  MeasuredTasks(TaskStore& store, Metrics& metrics, const Clock& clock) : store_(store), meter_{metrics, clock} {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override;
  Result<std::vector<std::vector<LeasedTask>>> claim(std::span<const ClaimWish> wishes) override;
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override;
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override;
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override;
  Result<BundleOutcome> exchange(const Bundle& calls) override;
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
  void count(Event event, std::size_t tasks);
  void count_submitted(const std::vector<SubmitOutcome>& outcomes);
  void count_leased(const std::vector<std::vector<LeasedTask>>& leased);
  void count_settled(std::span<const Settlement> settlements, const std::vector<SettleOutcome>& outcomes);

  TaskStore& store_;
  const Meter meter_;
};

}  // namespace horae
