// Finished tasks are forgotten after the retention of their queue.
#pragma once

#include <functional>

#include "base/log.h"
#include "engine/loop.h"
#include "store/task_store.h"

namespace horae {

struct RetentionOptions {
  Duration interval = std::chrono::minutes(1);
  Duration breath = std::chrono::milliseconds(100);  // between batches, so that others come in between
  std::size_t batch = kMaxBatch;
};

class Retention final : public Loop {
 public:
  // `on_purged` is told how many tasks a pass removed, if any: what it did may be recorded. The store must outlive the
  // loop.
  Retention(TaskStore& tasks, Logger log, std::function<void(std::size_t)> on_purged, RetentionOptions options = {})
      : tasks_(tasks), log_(std::move(log)), on_purged_(std::move(on_purged)), options_(options) {}

  std::string_view name() const override { return "retention"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  TaskStore& tasks_;
  Logger log_;
  std::function<void(std::size_t)> on_purged_;
  const RetentionOptions options_;
  std::size_t purged_ = 0;  // by the batches of the present pass
};

}  // namespace horae
