// Leasing ready tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/rank.h"
#include "store/lease.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/tasks/once.h"
#include "stores/postgres/tasks/take_head.h"

namespace horae::postgres {

using Claimed = std::vector<ClaimOutcome>;  // for each wish

// What the transaction of a claim has stored before it.
struct FreshTasks {
  std::map<int, std::int16_t> made_ready;  // the highest priority of them, by queue
  std::vector<FreshRange> beginning;       // of ClaimPart::only_queue(), to be made ready by the claim
};

// A claim as a part of a transaction. If that is run again, then from send() on.
class ClaimPart {
 public:
  virtual ~ClaimPart() = default;

  // The queue of a claim that needs no other and waits for no answers while it sends: it can also make fresh tasks of
  // that queue ready.
  virtual std::optional<int> only_queue() const = 0;

  // Sends all it needs, and may wait for answers in between. What the transaction sent before is seen.
  virtual void send(Transaction& transaction, const FreshTasks& fresh) = 0;

  // After the commit, while the answers are there.
  virtual void read(const Transaction& transaction) = 0;

  // After that, when the connection is free again. Nothing if it got nothing: there may be tasks all the same, which
  // the general path of claim() finds.
  virtual Result<std::optional<Claimed>> finish() = 0;
};

// Leases the heads of queues: of one queue for one wish in one statement, without a look; else it locks the ready
// ranges at the heads of the wished queues, shares them out (heads.h), and moves what was given.
//
// Thread-safe.
class Claimer {
 public:
  Claimer(Pool& pool, QueueNames& names, Floors& floors, KnownTasks& known)
      : pool_(pool), names_(names), floors_(floors), known_(known) {}

  Result<Claimed> claim(std::span<const ClaimWish> wishes) { return claim(wishes, false); }

  // The same in a transaction that does more, without waiting for tasks that other transactions hold. The wishes
  // outlive the part. Null if claim() is the better way, because the last claim found nothing, or a token serves once.
  Result<std::unique_ptr<ClaimPart>> part(std::span<const ClaimWish> wishes);

  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) { return postgres::leases_of(pool_, token); }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) { return postgres::have_served(pool_, tokens); }

 private:
  class HeadPart;
  class SharedPart;

  // The queues of wishes, as far as they exist.
  struct Wanted {
    std::span<const ClaimWish> wishes;
    std::vector<std::vector<int>> queues;  // of each wish
    std::map<int, std::string> names;

    bool is_one_head() const { return wishes.size() == 1 && queues[0].size() == 1; }
  };

  Result<Claimed> claim(std::span<const ClaimWish> wishes, bool is_repeated);
  Result<Wanted> find_queues(std::span<const ClaimWish> wishes);
  Result<std::optional<Claimed>> run(ClaimPart& part);
  Result<void> read_payloads(std::vector<LeasedTask>& tasks, const std::vector<std::int64_t>& unknown,
                             const std::vector<Range>& again);

  std::int64_t ranges_for(std::int64_t wanted) const { return ranges_for(wanted, ranges_for_a_task_); }
  static std::int64_t ranges_for(std::int64_t wanted, double ranges_for_a_task);
  void note_cost(std::size_t ranges, std::size_t tasks);

  Pool& pool_;
  QueueNames& names_;
  Floors& floors_;
  KnownTasks& known_;
  std::atomic<bool> has_found_ = false;           // the last claim did; if not, the next one takes the general path
  std::atomic<double> ranges_for_a_task_ = 0.25;  // moving average of ranges locked for each task
};

}  // namespace horae::postgres
