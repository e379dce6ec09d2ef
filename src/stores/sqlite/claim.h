// Leasing ready tasks, in order of urgency.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Claimer {
 public:
  explicit Claimer(Writer& writer);

  // Inside a transaction.
  std::vector<ClaimOutcome> claim(std::span<const ClaimWish> wishes, Change& change);

 private:
  struct Candidate {
    std::int64_t number = 0;
    std::int64_t queue = 0;
    std::size_t queue_place = 0;  // in the wish
    std::int64_t effective_priority = 0;
    std::int64_t ready_second = 0;
    int attempt = 0;  // before the claim
    bool has_checkpoint = false;
  };

  ClaimOutcome claim_one(const ClaimWish& wish, bool is_stopped, Change& change);

  // Of tokens that serve once: whether it has, and what a repetition gets.
  bool has_served(const Uuid& token);
  ClaimOutcome repeated(const ClaimWish& wish);

  // The numbers of the tasks that a wish gets.
  std::vector<Candidate> choose(const ClaimWish& wish, const Change& change);

  LeasedTask lease(const Candidate& chosen, const ClaimWish& wish, Change& change);

  // Reads what is written once: id, priority, spec; and the checkpoint where there is one.
  void read_payload(LeasedTask& task, bool has_checkpoint);

  Writer& writer_;
  std::deque<Statement> heads_;  // one for each queue of a wish, because they are read side by side
  Statement lease_;
  Statement payload_;
  Statement checkpoint_;
  Statement has_served_;
  Statement note_served_;
  Statement of_token_;
};

}  // namespace horae::sqlite
