// The nodes on this database.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "store/cluster_store.h"
#include "stores/postgres/memory.h"
#include "stores/postgres/pool.h"

namespace horae::postgres {

class Cluster final : public ClusterStore {
 public:
  // The pool, the memory and the clock, which is for pacing only, must outlive this.
  Cluster(std::string url, Pool& pool, Memory& memory, const Clock& clock)
      : url_(std::move(url)), pool_(pool), memory_(memory), clock_(clock) {}

  Result<Tick> tick(const TickWish& wish) override;
  Result<std::vector<NodeRecord>> nodes() override;
  Result<void> leave(std::string_view node) override;
  Result<std::optional<Instant>> last_awaited(std::string_view queue) override;
  Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) override;
  std::unique_ptr<Bulletin> listen(Bulletin::Heard heard) override;

 private:
  bool is_time_to_forget();

  const std::string url_;
  Pool& pool_;
  Memory& memory_;
  const Clock& clock_;
  std::mutex mutex_;
  MonotonicTime next_forgetting_;  // guarded by mutex_
};

}  // namespace horae::postgres
