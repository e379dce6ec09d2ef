// The answers to two operations that met, and whether both can be true: for each task there must be an
// order of the two in which every answer is right and the task ends where the database has it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"
#include "tests/postgres/invariants.h"

namespace horae::testing {

// A task as the order under trial has it so far.
struct Seen {
  bool exists = false;
  State state = State::kReady;
  int attempt = 0;
  std::string owner;  // while running, and of the attempt that ended the task
  std::optional<AttemptEnd> ended;
  bool is_due = false;        // while scheduled
  bool is_purgeable = false;  // once finished
};

// Something that was said about one task: does it if it can be, else answers false.
using Fact = std::function<bool(Seen&)>;

// All that one call was answered.
struct Answered {
  std::optional<Error> error;
  std::map<TaskId, std::vector<Fact>> facts;
  Fact moves;                  // what it may have done to any task, without naming it
  std::size_t moved = 0;       // to so many
  bool found_nothing = false;  // a claim that came back empty
};

Answered answered_submit(const std::vector<Submission>& asked, const Result<std::vector<SubmitOutcome>>& answer,
                         const std::map<std::string, TaskId>& keys);
Answered answered_claim(const ClaimWish& asked, const Result<std::vector<ClaimOutcome>>& answer);
Answered answered_settle(const std::vector<Settlement>& asked, const Result<std::vector<SettleOutcome>>& answer);
Answered answered_cancel(const std::vector<CancelWish>& asked, const Result<std::vector<CancelOutcome>>& answer);
Answered answered_expire(const Result<ExpireOutcome>& answer);
Answered answered_extend(const Result<bool>& answer);
Answered answered_promote(const Result<PromoteOutcome>& answer);
Answered answered_purge(const Result<PurgeOutcome>& answer);
Answered answered_get(const std::vector<TaskId>& asked, const Result<std::vector<std::optional<Task>>>& answer);

// The next answer to the same caller. The one of them that found nothing, or moved what it does not name, comes last.
void add_to(Answered& answered, Answered next);

// One line for each task of which the two cannot both be right, and for tasks in no answer.
std::vector<std::string> contradictions(const std::map<TaskId, Seen>& before, const Answered& first,
                                        const Answered& second, const std::map<TaskId, Stand>& after);

}  // namespace horae::testing
