// Queues, the scheduler's switch and the numbers of workers.
#pragma once

#include "store/queue_store.h"
#include "stores/postgres/cache/database_identity.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

class Queues final : public QueueStore {
 public:
  Queues(Pool& pool, DatabaseIdentity& database, QueueNames& names) : pool_(pool), database_(database), names_(names) {}

  Result<QueueList> queues() override;
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override;
  Result<QueueRemoval> remove(std::string_view queue, std::size_t max) override;
  Result<bool> set_scheduler_running(bool running) override;
  Result<bool> scheduler_running() override;
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override;
  Result<std::string> new_worker_id() override;

 private:
  Result<QueueList> list();
  Result<QueueSettings> change(std::string_view queue, const QueueChange& wanted);
  Result<std::optional<QueueSettings>> change_row(int no, const QueueChange& wanted);
  Result<QueueRemoval> try_to_remove(const std::string& queue, std::size_t max);

  Pool& pool_;
  DatabaseIdentity& database_;
  QueueNames& names_;
};

}  // namespace horae::postgres
