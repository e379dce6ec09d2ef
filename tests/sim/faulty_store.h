// A store whose calls take time, fail, succeed with a lost response, or crash the calling node.
#pragma once

#include <functional>
#include <utility>

#include "tests/sim/mutants.h"
#include "tests/sim/recorded_store.h"

namespace horae::sim {

// The connection from a node to the store. One for each life of a node.
class StoreLink {
 public:
  struct Caller {
    virtual ~Caller() = default;
    virtual bool is_dead() const = 0;
    virtual bool is_cut_off() const = 0;
    virtual Instant paused_until() const = 0;
    virtual void die() = 0;
  };

  StoreLink(World& world, Caller& caller) : world_(world), caller_(caller) {}

  // Runs an operation on the store. Other events run meanwhile. Throws Crash if the node crashes during the call.
  template <typename Call>
  auto call(Call operation) -> decltype(operation()) {
    transfer();
    const Fate fate = draw();
    if (fate == Fate::kCrashBefore) crash();
    if (fate == Fate::kFails || is_closed()) return unavailable();
    arm_crash_mutant(fate == Fate::kCrashAfter);
    auto answer = operation();
    if (fate == Fate::kCrashAfter) crash();
    transfer();
    if (fate == Fate::kUnknown || is_closed()) return unavailable();
    return answer;
  }

 private:
  enum class Fate { kGood, kFails, kUnknown, kCrashBefore, kCrashAfter };

  Fate draw();
  void transfer();
  bool is_closed() const { return world_.store_is_down || caller_.is_cut_off(); }
  [[noreturn]] void crash();
  Error unavailable() const { return {ErrorCode::kUnavailable, "the store is unavailable"}; }

  World& world_;
  Caller& caller_;
};

class FaultyTasks final : public TaskStore {
 public:
  FaultyTasks(World& world, int node, StoreLink& link) : link_(link), tasks_(world, node) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override {
    return link_.call([&] { return tasks_.submit(submissions); });
  }
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override {
    return link_.call([&] { return tasks_.claim(wishes); });
  }
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override {
    return link_.call([&] { return tasks_.leases_of(token); });
  }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override {
    return link_.call([&] { return tasks_.have_served(tokens); });
  }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override {
    return link_.call([&] { return tasks_.settle(settlements); });
  }
  Result<BundleOutcome> exchange(const Bundle& calls) override {
    return link_.call([&] { return tasks_.exchange(calls); });
  }
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override {
    return link_.call([&] { return tasks_.cancel(wishes); });
  }
  Result<PromoteOutcome> promote_due(std::size_t max) override {
    return link_.call([&] { return tasks_.promote_due(max); });
  }
  Result<Watch> look() override {
    return link_.call([&] { return tasks_.look(); });
  }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override {
    return link_.call([&] { return tasks_.extend_leases(seen); });
  }
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override {
    return link_.call([&] { return tasks_.expire_leases(wish); });
  }
  Result<PurgeOutcome> purge(std::size_t max) override {
    return link_.call([&] { return tasks_.purge(max); });
  }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override {
    return link_.call([&] { return tasks_.get(ids); });
  }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return link_.call([&] { return tasks_.find(queue, key); });
  }
  Result<Page> list(const ListQuery& query) override {
    return link_.call([&] { return tasks_.list(query); });
  }

 private:
  StoreLink& link_;
  RecordedTasks tasks_;
};

class FaultyCluster final : public ClusterStore {
 public:
  FaultyCluster(World& world, StoreLink& link) : link_(link), cluster_(world.store->cluster()) {}

  Result<Tick> tick(const TickWish& wish) override {
    return link_.call([&] { return cluster_.tick(wish); });
  }
  Result<std::vector<NodeRecord>> nodes() override {
    return link_.call([&] { return cluster_.nodes(); });
  }
  Result<void> leave(std::string_view node) override {
    return link_.call([&] { return cluster_.leave(node); });
  }
  Result<std::optional<Instant>> last_awaited(std::string_view queue) override {
    return link_.call([&] { return cluster_.last_awaited(queue); });
  }
  Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) override {
    return link_.call([&] { return cluster_.ahead(id, most); });
  }
  std::unique_ptr<Bulletin> listen(Bulletin::Heard) override { return nullptr; }

 private:
  StoreLink& link_;
  ClusterStore& cluster_;
};

class FaultyQueues final : public QueueStore {
 public:
  FaultyQueues(World& world, int node, StoreLink& link) : link_(link), queues_(world, node) {}

  Result<QueueList> queues() override {
    return link_.call([&] { return queues_.queues(); });
  }
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override {
    return link_.call([&] { return queues_.configure(queue, change); });
  }
  Result<QueueRemoval> remove(std::string_view queue, std::size_t max) override {
    return link_.call([&] { return queues_.remove(queue, max); });
  }
  Result<bool> set_scheduler_running(bool running) override {
    return link_.call([&] { return queues_.set_scheduler_running(running); });
  }
  Result<bool> scheduler_running() override {
    return link_.call([&] { return queues_.scheduler_running(); });
  }
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override {
    return link_.call([&] { return queues_.closed(queues); });
  }
  Result<std::string> new_worker_id() override {
    return link_.call([&] { return queues_.new_worker_id(); });
  }

 private:
  StoreLink& link_;
  RecordedQueues queues_;
};

}  // namespace horae::sim
