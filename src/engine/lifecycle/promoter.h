// Makes scheduled tasks ready when they are due.
#pragma once

#include <utility>

#include "base/log.h"
#include "engine/loop.h"
#include "store/task_store.h"

namespace horae {

struct PromoterOptions {
  Duration poll = std::chrono::seconds(1);   // for what other nodes scheduled, unless a ClusterPoller wakes the loop
  Duration retry = std::chrono::seconds(1);  // after the store has failed
  std::size_t batch = kMaxBatch;
};

class Promoter final : public Loop {
 public:
  // The store must outlive the loop.
  Promoter(TaskStore& tasks, Logger log, PromoterOptions options = {})
      : tasks_(tasks), log_(std::move(log)), options_(options) {}

  std::string_view name() const override { return "promoter"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  TaskStore& tasks_;
  Logger log_;
  const PromoterOptions options_;
};

}  // namespace horae
