// Leasing ready tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/tasks/once.h"
#include "stores/postgres/tasks/take_head.h"

namespace horae::postgres {

using Claimed = std::vector<ClaimOutcome>;  // for each wish

// What the transaction of a claim has stored before it.
struct FreshTasks {
  std::map<int, std::int16_t> made_ready;  // the highest priority of them, by queue
  std::vector<FreshRange> beginning;       // of ClaimPart::only_queues(), to be made ready by the claim
};

// A claim as a part of a transaction: it sends all it needs at once, and waits for nothing. Wishes from the same queues
// share a statement. If the transaction is run again, then from send() on.
class ClaimPart {
 public:
  // Nothing is to be sent: no queue of the wishes exists.
  bool empty() const { return heads_.empty(); }

  // The queues, if all wishes share one statement, which can also make fresh tasks of these queues ready. Null if not.
  const std::vector<int>* only_queues() const { return heads_.size() == 1 ? &heads_.front().queues : nullptr; }

  // What the transaction sent before is seen.
  void send(Transaction& transaction, const FreshTasks& fresh);

  // After the commit, while the answers are there.
  void read(const Transaction& transaction);

 private:
  friend class Claimer;
  friend class Claiming;

  // The wishes from some queues.
  struct Head {
    std::vector<std::size_t> places;  // of the wishes
    std::vector<int> queues;          // ascending
    std::vector<Floors::Look> looks;  // of the queues
    std::size_t ticket = 0;
    TakenHead taken;
  };

  // What the last round has taught.
  struct Look {
    double ranges_for_a_task = 0;
    bool full = false;              // without the floors
    std::vector<Uuid> tokens;       // wait for those that are at work under them
    std::set<std::int32_t> queues;  // wait for those that hold their heads
  };

  ClaimPart(Floors& floors, std::span<const ClaimWish> wishes, Look look)
      : floors_(&floors), wishes_(wishes), look_(std::move(look)) {}

  void add(std::size_t place, const std::vector<int>& queues);
  HeadWish wish_of(Head& head, const FreshTasks& fresh) const;

  Floors* floors_;
  std::span<const ClaimWish> wishes_;
  Look look_;
  std::vector<std::size_t> places_;  // of the wishes that are asked for; some may have no queues
  std::map<int, std::string> names_;
  std::vector<Head> heads_;
};

// Leases the heads of queues in one round trip. What a statement could not do is tried again, with what it has taught:
// how many ranges it takes, and for whom to wait.
//
// Thread-safe.
class Claimer {
 public:
  Claimer(Pool& pool, QueueNames& names, Floors& floors, KnownTasks& known)
      : pool_(pool), names_(names), floors_(floors), known_(known) {}

  Result<Claimed> claim(std::span<const ClaimWish> wishes);

  // The same in a transaction that does more. The wishes outlive the part, which finish() takes after the commit.
  Result<ClaimPart> part(std::span<const ClaimWish> wishes);
  Result<Claimed> finish(std::span<const ClaimWish> wishes, ClaimPart part);

  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) { return postgres::leases_of(pool_, token); }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) { return postgres::have_served(pool_, tokens); }

 private:
  friend class Claiming;

  Result<ClaimPart> part(std::span<const ClaimWish> wishes, const std::vector<std::size_t>& places,
                         ClaimPart::Look look);
  Result<void> run(ClaimPart& part);
  Result<void> fill(std::vector<LeasedTask*> tasks, const std::vector<Range>& again);
  void note_cost(std::size_t ranges, std::size_t tasks);

  Pool& pool_;
  QueueNames& names_;
  Floors& floors_;
  KnownTasks& known_;
  std::atomic<double> ranges_for_a_task_ = 0.25;  // moving average of ranges locked for each task
};

}  // namespace horae::postgres
