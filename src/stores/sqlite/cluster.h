// The node on this store: there is only one, because the lock file sees to it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "store/cluster_store.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

// What is said about nodes lives in memory, since it ends with the process. The simulator runs several nodes on one
// store, so it keeps as many as there come.
class Cluster final : public ClusterStore {
 public:
  explicit Cluster(Writer& writer);

  Result<Tick> tick(const TickWish& wish) override;
  Result<std::vector<NodeRecord>> nodes() override;
  Result<void> leave(std::string_view node) override;
  Result<std::optional<Instant>> last_awaited(std::string_view queue) override;
  Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) override;
  std::unique_ptr<Bulletin> listen(Bulletin::Heard) override { return nullptr; }

 private:
  struct Node {
    NodeRecord record;
    bool wants_events = false;
  };

  void note(const TickWish& wish, Instant now);
  void forget(Instant now);
  void count_peers(const std::string& self, Tick& tick) const;
  std::vector<std::string> ready_of(const std::vector<std::string>& queues);

  Writer& writer_;
  Statement next_due_;
  Statement has_lease_;
  Statement token_version_;
  Statement has_ready_;
  Statement place_;
  Statement before_;
  // Used inside transactions of the writer only, which follow one another.
  std::map<std::string, Node, std::less<>> nodes_;
  std::map<std::string, Instant, std::less<>> awaited_;
};

}  // namespace horae::sqlite
