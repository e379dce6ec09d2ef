// Leasing ready tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/rank.h"
#include "store/lease.h"
#include "stores/postgres/floors.h"
#include "stores/postgres/known_tasks.h"
#include "stores/postgres/places.h"
#include "stores/postgres/pool.h"
#include "stores/postgres/queue_names.h"

namespace horae::postgres {

// Locks the ready ranges at the heads of the wished queues, shares them out here, and moves what was given.
//
// Threads: any thread at once.
class Claimer {
 public:
  Claimer(Pool& pool, QueueNames& names, Floors& floors, KnownTasks& known)
      : pool_(pool), names_(names), floors_(floors), known_(known) {}

  Result<std::vector<std::vector<LeasedTask>>> claim(std::span<const ClaimWish> wishes);
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token);
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens);

 private:
  // What is locked of one queue, in the order of claims, and how far it has been given away.
  struct Head {
    Ageing ageing;
    std::vector<RunRange> runs;
    std::size_t first = 0;    // the first of them that has tasks left
    std::int64_t next = 0;    // the first task left of it
    bool is_all = false;      // nothing more is to be had in this queue
    std::int64_t wanted = 0;  // tasks, by all wishes together
    std::int64_t given = 0;
    std::vector<bool> touched{};  // which of `runs` gave tasks

    // The wishes would have taken more than was locked, and there may be more.
    bool is_short() const { return empty() && !is_all && given < wanted; }
    bool empty() const { return first == runs.size(); }
    const RunRange& run() const { return runs[first]; }
  };
  using Heads = std::map<int, Head>;

  // What a wish gets, in the order of urgency.
  struct Given {
    std::int64_t number = 0;
    const RunRange* run = nullptr;
  };

  // One wish for one queue, in one round trip if this node stored the tasks itself. Nothing if it has to be done with
  // care: then nothing has happened.
  Result<std::optional<std::vector<LeasedTask>>> claim_head(const ClaimWish& wish, int queue, std::string_view name);
  Result<void> read_payloads(std::vector<LeasedTask>& tasks, const std::vector<std::int64_t>& unknown,
                             const std::vector<Range>& again);

  static std::int64_t runs_for(std::int64_t wanted, double runs_for_a_task);
  void note_cost(std::size_t ranges, std::size_t tasks);

  std::vector<std::vector<Given>> share_out(Transaction& transaction, std::span<const ClaimWish> wishes,
                                            const std::vector<std::vector<int>>& queues, Heads& heads, Instant& now);
  bool lock_heads(Transaction& transaction, Heads& heads, Instant& now, double runs_for_a_task, bool full);
  bool wait_for_others(Transaction& transaction, const Heads& heads);
  std::vector<Given> give(const ClaimWish& wish, const std::vector<int>& queues, Heads& heads, Instant now);

  Pool& pool_;
  QueueNames& names_;
  Floors& floors_;
  KnownTasks& known_;
  std::atomic<bool> has_found_ = false;         // the last claim did: if not, care is likely needed again
  std::atomic<double> runs_for_a_task_ = 0.25;  // how many ranges a task costs lately; a guess of how many to lock
};

}  // namespace horae::postgres
