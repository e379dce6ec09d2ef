// A TaskStore that measures each call and reports what it changed.
#pragma once

#include "observe/call_meter.h"
#include "observe/task_changes.h"
#include "observe/write_watch.h"
#include "store/change.h"
#include "store/task_store.h"

namespace horae {

// The promises are those of the store behind it. Thread-safe. All that is passed must outlive it.
class ObservedTasks final : public TaskStore {
 public:
  ObservedTasks(TaskStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer);

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override;
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override;
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

  // Of submits, claims, settlements and cancels.
  WriteWatch& writes() { return writes_; }

 private:
  void report(const Changes& changes);
  void note_submitted(const std::vector<SubmitOutcome>& outcomes);
  template <typename T>
  bool has_failed(const Result<T>& result);  // of a call that writes
  void count_refused(const std::vector<SettleOutcome>& outcomes);

  TaskStore& store_;
  Meter& meter_;
  ChangeObserver& observer_;
  WriteWatch writes_;
  CallMeter submit_;
  CallMeter claim_;
  CallMeter leases_of_;
  CallMeter have_served_;
  CallMeter settle_;
  CallMeter exchange_;
  CallMeter cancel_;
  CallMeter promote_due_;
  CallMeter look_;
  CallMeter extend_leases_;
  CallMeter expire_leases_;
  CallMeter purge_;
  CallMeter get_;
  CallMeter find_;
  CallMeter list_;
};

}  // namespace horae
