// Tokens that serve one claim for good: see TaskStore::claim().
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/layout/payloads.h"

namespace horae::postgres {

// The tokens of the wishes with `once` in one claim. Without such wishes nothing is asked or sent.
class OnceTokens {
 public:
  // Locks the tokens up to the end of the transaction, so that claims under one token follow one another, and looks
  // what became of them. To be called before anything else is locked: who holds ranges must not wait here.
  OnceTokens(Transaction& transaction, std::span<const ClaimWish> wishes);

  // The wish gets what is held, and nothing new.
  bool has_served(const ClaimWish& wish) const;

  // Sends that the tokens of these have served from now on: `answer` is what each of the wishes got anew.
  void note_served(std::span<const ClaimWish> wishes, const std::vector<std::vector<LeasedTask>>& answer);

  // After the commit: adds to `answer` what those get whose token had served, or was served by a wish before them.
  void fill(std::span<const ClaimWish> wishes, std::vector<std::vector<LeasedTask>>& answer);

 private:
  Transaction& transaction_;
  std::set<Uuid> served_;
  std::optional<HeldTasks> held_;
};

// Which of these tokens have served, in order.
std::vector<bool> find_served(Transaction& transaction, std::span<const Uuid> tokens);

}  // namespace horae::postgres
