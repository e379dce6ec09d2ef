// Scheduled tasks become ready when they are due.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/loop.h"
#include "store/task_store.h"

namespace horae {

struct PromoterOptions {
  Duration poll = std::chrono::seconds(1);   // how soon it notices what other nodes scheduled, unless a Lookout does
  Duration retry = std::chrono::seconds(1);  // after the store has failed
  std::size_t batch = kMaxBatch;
};

class Promoter final : public Loop {
 public:
  // `on_ready` is told the queues that got ready tasks. The store must outlive the loop.
  Promoter(TaskStore& tasks, Logger log, std::function<void(const std::vector<std::string>&)> on_ready,
           PromoterOptions options = {})
      : tasks_(tasks), log_(std::move(log)), on_ready_(std::move(on_ready)), options_(options) {}

  std::string_view name() const override { return "promoter"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  TaskStore& tasks_;
  Logger log_;
  std::function<void(const std::vector<std::string>&)> on_ready_;
  const PromoterOptions options_;
};

}  // namespace horae
