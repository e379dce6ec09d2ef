// The smaller parts of a store, counted and timed as MeasuredTasks does it for tasks.
#pragma once

#include "observe/measured.h"
#include "store/cluster_store.h"
#include "store/queue_store.h"
#include "store/token_store.h"

namespace horae {

// Put them between the store and all who use it. What they promise is what the store promises.
//
// Threads: every member may be called from any thread at once. All that they are given must outlive them.
class MeasuredQueues final : public QueueStore {
 public:
  MeasuredQueues(QueueStore& store, Metrics& metrics, const Clock& clock) : store_(store), meter_{metrics, clock} {}

  Result<QueueList> queues() override {
    return meter_.measured("queues", 0, [&] { return store_.queues(); });
  }
  Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) override {
    return meter_.measured("configure", 0, [&] { return store_.configure(queue, change); });
  }
  Result<bool> set_scheduler_running(bool running) override {
    return meter_.measured("set_scheduler_running", 0, [&] { return store_.set_scheduler_running(running); });
  }
  Result<bool> scheduler_running() override {
    return meter_.measured("scheduler_running", 0, [&] { return store_.scheduler_running(); });
  }
  Result<std::vector<std::string>> closed(std::span<const std::string> queues) override {
    return meter_.measured("closed", queues.size(), [&] { return store_.closed(queues); });
  }
  Result<std::string> new_worker_id() override {
    return meter_.measured("new_worker_id", 0, [&] { return store_.new_worker_id(); });
  }

 private:
  QueueStore& store_;
  const Meter meter_;
};

class MeasuredTokens final : public TokenStore {
 public:
  MeasuredTokens(TokenStore& store, Metrics& metrics, const Clock& clock) : store_(store), meter_{metrics, clock} {}

  Result<Token> create(const Token& token) override {
    return meter_.measured("create_token", 0, [&] { return store_.create(token); });
  }
  Result<bool> revoke(std::string_view id) override {
    return meter_.measured("revoke_token", 0, [&] { return store_.revoke(id); });
  }
  Result<TokenList> tokens() override {
    return meter_.measured("tokens", 0, [&] { return store_.tokens(); });
  }

 private:
  TokenStore& store_;
  const Meter meter_;
};

class MeasuredCluster final : public ClusterStore {
 public:
  MeasuredCluster(ClusterStore& store, Metrics& metrics, const Clock& clock) : store_(store), meter_{metrics, clock} {}

  Result<Tick> tick(const TickWish& wish) override {
    return meter_.measured("tick", 0, [&] { return store_.tick(wish); });
  }
  Result<std::vector<NodeRecord>> nodes() override {
    return meter_.measured("nodes", 0, [&] { return store_.nodes(); });
  }
  Result<void> leave(std::string_view node) override {
    return meter_.measured("leave", 0, [&] { return store_.leave(node); });
  }
  Result<std::optional<Instant>> last_awaited(std::string_view queue) override {
    return meter_.measured("last_awaited", 0, [&] { return store_.last_awaited(queue); });
  }
  Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) override {
    return meter_.measured("ahead", 0, [&] { return store_.ahead(id, most); });
  }
  std::unique_ptr<Bulletin> listen(Bulletin::Heard heard) override { return store_.listen(std::move(heard)); }

 private:
  ClusterStore& store_;
  const Meter meter_;
};

}  // namespace horae
