// Queues, the scheduler's switch and the numbers of workers.
#pragma once

#include "store/queue_store.h"
#include "stores/sqlite/purge.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Queues final : public QueueStore {
 public:
  explicit Queues(Writer& writer);

  Result<QueueList> queues() override;
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override;
  Result<QueueRemoval> remove(std::string_view queue, std::size_t max) override;
  Result<bool> set_scheduler_running(bool running) override;
  Result<bool> scheduler_running() override;
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override;
  Result<std::string> new_worker_id() override;

 private:
  std::optional<Duration> oldest_ready(std::int64_t queue, const Change& change);
  QueueSettings settings_of(std::string_view queue);
  bool has_tasks(std::int64_t queue);  // that wait or run

  Writer& writer_;
  Purger purger_;
  Statement all_;
  Statement oldest_;
  Statement settings_;
  Statement set_paused_;
  Statement set_ageing_;
  Statement set_retention_;
  Statement set_configured_;
  Statement has_tasks_;
  Statement remove_;
  Statement set_stopped_;
  Statement take_worker_;
};

}  // namespace horae::sqlite
