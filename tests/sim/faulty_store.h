// The way from a node to the store: calls take time, fail, or succeed without an answer; and nodes die on it.
#pragma once

#include <functional>
#include <utility>

#include "tests/sim/mutants.h"
#include "tests/sim/recorded_store.h"

namespace horae::sim {

// What a call meets on its way. One for each life of a node.
class Way {
 public:
  struct Traveller {
    virtual ~Traveller() = default;
    virtual bool is_dead() const = 0;
    virtual bool is_cut_off() const = 0;
    virtual Instant paused_until() const = 0;
    virtual void die() = 0;
  };

  Way(World& world, Traveller& traveller) : world_(world), traveller_(traveller) {}

  // Goes to the store and back. Others act meanwhile. Throws Crash if the node dies on the way.
  template <typename Call>
  auto go(Call call) -> decltype(call()) {
    travel();
    const Fate fate = draw();
    if (fate == Fate::kCrashBefore) crash();
    if (fate == Fate::kFails || is_closed()) return away();
    arm_crash_mutant(fate == Fate::kCrashAfter);
    auto answer = call();
    if (fate == Fate::kCrashAfter) crash();
    travel();
    if (fate == Fate::kUnknown || is_closed()) return away();
    return answer;
  }

 private:
  enum class Fate { kGood, kFails, kUnknown, kCrashBefore, kCrashAfter };

  Fate draw();
  void travel();
  bool is_closed() const { return world_.store_is_away || traveller_.is_cut_off(); }
  [[noreturn]] void crash();
  Error away() const { return {ErrorCode::kUnavailable, "the store is away"}; }

  World& world_;
  Traveller& traveller_;
};

class FaultyTasks final : public TaskStore {
 public:
  FaultyTasks(World& world, int node, Way& way) : way_(way), tasks_(world, node) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override {
    return way_.go([&] { return tasks_.submit(submissions); });
  }
  Result<std::vector<std::vector<LeasedTask>>> claim(std::span<const ClaimWish> wishes) override {
    return way_.go([&] { return tasks_.claim(wishes); });
  }
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override {
    return way_.go([&] { return tasks_.leases_of(token); });
  }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override {
    return way_.go([&] { return tasks_.have_served(tokens); });
  }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override {
    return way_.go([&] { return tasks_.settle(settlements); });
  }
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override {
    return way_.go([&] { return tasks_.cancel(wishes); });
  }
  Result<PromoteOutcome> promote_due(std::size_t max) override {
    return way_.go([&] { return tasks_.promote_due(max); });
  }
  Result<Watch> look() override {
    return way_.go([&] { return tasks_.look(); });
  }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override {
    return way_.go([&] { return tasks_.extend_leases(seen); });
  }
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override {
    return way_.go([&] { return tasks_.expire_leases(wish); });
  }
  Result<PurgeOutcome> purge(std::size_t max) override {
    return way_.go([&] { return tasks_.purge(max); });
  }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override {
    return way_.go([&] { return tasks_.get(ids); });
  }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return way_.go([&] { return tasks_.find(queue, key); });
  }
  Result<Page> list(const ListQuery& query) override {
    return way_.go([&] { return tasks_.list(query); });
  }

 private:
  Way& way_;
  RecordedTasks tasks_;
};

class FaultyCluster final : public ClusterStore {
 public:
  FaultyCluster(World& world, Way& way) : way_(way), cluster_(world.store->cluster()) {}

  Result<Tick> tick(const TickWish& wish) override {
    return way_.go([&] { return cluster_.tick(wish); });
  }
  Result<std::vector<NodeRecord>> nodes() override {
    return way_.go([&] { return cluster_.nodes(); });
  }
  Result<void> leave(std::string_view node) override {
    return way_.go([&] { return cluster_.leave(node); });
  }
  Result<std::optional<Instant>> last_awaited(std::string_view queue) override {
    return way_.go([&] { return cluster_.last_awaited(queue); });
  }
  Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) override {
    return way_.go([&] { return cluster_.ahead(id, most); });
  }
  std::unique_ptr<Bulletin> listen(Bulletin::Heard) override { return nullptr; }

 private:
  Way& way_;
  ClusterStore& cluster_;
};

class FaultyQueues final : public QueueStore {
 public:
  FaultyQueues(World& world, int node, Way& way) : way_(way), queues_(world, node) {}

  Result<QueueList> queues() override {
    return way_.go([&] { return queues_.queues(); });
  }
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override {
    return way_.go([&] { return queues_.configure(queue, change); });
  }
  Result<bool> set_scheduler_running(bool running) override {
    return way_.go([&] { return queues_.set_scheduler_running(running); });
  }
  Result<bool> scheduler_running() override {
    return way_.go([&] { return queues_.scheduler_running(); });
  }
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override {
    return way_.go([&] { return queues_.closed(queues); });
  }
  Result<std::string> new_worker_id() override {
    return way_.go([&] { return queues_.new_worker_id(); });
  }

 private:
  Way& way_;
  RecordedQueues queues_;
};

}  // namespace horae::sim
