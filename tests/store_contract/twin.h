// Two stores that get the same calls, step by step, and must answer alike: the one under test, and the model.
#pragma once

#include <rapidcheck.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/store_contract/backend.h"
#include "tests/store_contract/contract.h"
#include "tests/store_contract/describe.h"

namespace horae::testing {

// One step. The numbers choose from small pools, so that steps meet on the same tasks, and RapidCheck can shrink them.
struct Step {
  enum class Call {
    kSubmit,
    kSubmitAgain,
    kSubmitBatch,
    kClaim,
    kClaimBatch,
    kSettle,
    kSettleBatch,
    kExchange,
    kCancel,
    kPromote,
    kExpire,
    kExtend,
    kPurge,
    kConfigure,
    kScheduler,
    kList,
    kFind,
    kAdvance,
    kEnqueue,
    kTurn,
    kHeldBy,
    kStuckAndReset,
    kWalkMessages,
    kCancelMessage,
    kMoveMessage,
  };

  Call call = Call::kSubmit;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
};

void showValue(const Step& step, std::ostream& out);

rc::Gen<Step> any_step_with_tasks();
rc::Gen<Step> any_step_with_messages();

// Every check is an RC_ASSERT, so a disagreement ends the run and is shrunk.
class Twin {
 public:
  explicit Twin(std::unique_ptr<Backend> store);

  void apply(const Step& step);

  // Compares everything that can be read.
  void compare_all();

 private:
  Store& store() { return store_->store(); }
  Store& model() { return model_->store(); }
  Instant now();

  // Asks both the same and compares the answers; hands back what the store said.
  template <typename Call>
  auto call_both(Call call);

  void submit(const std::vector<Submission>& submissions);
  void claim(const std::vector<ClaimWish>& wishes);
  void settle(const std::vector<Settlement>& settlements);
  void exchange(const std::vector<Settlement>& settlements, const std::vector<Submission>& submissions,
                const std::vector<ClaimWish>& wishes);
  void note_submitted(const std::vector<Submission>& submissions, const std::vector<SubmitOutcome>& outcomes);
  void note_claimed(const std::vector<ClaimWish>& wishes, const std::vector<ClaimOutcome>& taken);
  void compare_list(const ListQuery& query);
  void compare_queues();
  void check_numbers(const std::vector<LeasedTask>& leased);

  Submission submission_of(const Step& step);
  ClaimWish wish_of(const Step& step);
  void serve_once(ClaimWish& wish, unsigned choice);
  Settlement settlement_of(const Step& step);
  ListQuery query_of(const Step& step);
  TaskId task_of(unsigned choice);

  void apply_to_tasks(const Step& step);
  void apply_to_messages(const Step& step);
  void enqueue(const Step& step);
  void turn(const Step& step);
  void walk_messages(const Step& step);

  std::unique_ptr<Backend> store_;
  std::unique_ptr<Backend> model_;
  ManualClock node_clock_;
  SeededRandom random_{1};
  UuidSource ids_{node_clock_, random_};

  std::vector<Submission> submitted_;
  std::vector<TaskId> known_;
  std::set<Uuid> tokens_;
  std::map<TaskId, std::int64_t> numbers_;    // as the store under test gave them
  std::map<TaskId, std::string> last_owner_;  // of the newest attempt
  std::int64_t newest_number_ = 0;
  std::vector<Readying> readied_;
  std::int64_t offset_ = 0;  // of the next record
};

}  // namespace horae::testing
