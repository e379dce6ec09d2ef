// The nodes on this database.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "store/cluster_store.h"
#include "stores/postgres/cache/database_identity.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

class Cluster final : public ClusterStore {
 public:
  // The pool, the identity and the clock, which is for pacing only, must outlive this.
  Cluster(std::string url, Pool& pool, DatabaseIdentity& database, const Clock& clock)
      : url_(std::move(url)), pool_(pool), database_(database), clock_(clock) {}

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
  DatabaseIdentity& database_;
  const Clock& clock_;
  std::mutex mutex_;
  MonotonicTime next_forgetting_;  // guarded by mutex_
};

}  // namespace horae::postgres
