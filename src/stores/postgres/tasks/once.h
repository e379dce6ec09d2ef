// Tokens that serve one claim for good: see TaskStore::claim().
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/payloads.h"

namespace horae::postgres {

// The tokens of the wishes with `once` in one claim. Without such wishes nothing is sent.
class OnceTokens {
 public:
  // Locks the tokens up to the end of the transaction, so that claims under one token are serialized, and reads whether
  // they have served. To be called before anything else is locked: a transaction that holds ranges must not wait here.
  OnceTokens(Transaction& transaction, std::span<const ClaimWish> wishes);

  // The wish gets what is held, and nothing new.
  bool has_served(const ClaimWish& wish) const;

  // Records that tokens have served from now on: those of the wishes that got new tasks in `answer`.
  void note_served(std::span<const ClaimWish> wishes, const std::vector<ClaimOutcome>& answer);

  // After the commit: fills in the outcomes of wishes whose token had served before, or in an earlier wish.
  void fill(std::span<const ClaimWish> wishes, std::vector<ClaimOutcome>& answer);

 private:
  Transaction& transaction_;
  std::set<Uuid> served_;
  std::optional<HeldTasks> held_;
};

// Which of these tokens have served, in order.
std::vector<bool> find_served(Transaction& transaction, std::span<const Uuid> tokens);

// As TaskStore says.
Result<std::vector<LeasedTask>> leases_of(Pool& pool, const Uuid& token);
Result<std::vector<bool>> have_served(Pool& pool, std::span<const Uuid> tokens);

}  // namespace horae::postgres
