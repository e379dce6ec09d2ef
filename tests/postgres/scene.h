// A database with tasks in all four places, in one row of numbers, and the operations that meet there.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "tests/postgres/answered.h"
#include "tests/postgres/invariants.h"

namespace horae::testing {

// What settles names a part of the lease; the two of the whole name all of it. Aborted tasks are to be tried again.
enum class Operation {
  kSubmit,
  kClaim,
  kComplete,
  kHeartbeat,
  kRelease,
  kAbort,
  kYield,
  kExpire,
  kPromote,
  kCancel,
  kGet,
  kPurge,
  kCompleteWhole,
  kExtendWhole,
  kExtendAll,
  kExchange,  // completes the whole lease, submits and claims
};

inline constexpr Operation kAllOperations[] = {
    Operation::kSubmit,        Operation::kClaim,       Operation::kComplete,  Operation::kHeartbeat,
    Operation::kRelease,       Operation::kAbort,       Operation::kYield,     Operation::kExpire,
    Operation::kPromote,       Operation::kCancel,      Operation::kGet,       Operation::kPurge,
    Operation::kCompleteWhole, Operation::kExtendWhole, Operation::kExtendAll, Operation::kExchange};

std::string_view name_of(Operation operation);  // "Submit"

// Stands before the COMMITs of one store. Open until it is armed.
class Gate {
 public:
  // For PostgresStoreOptions::before_commit.
  bool pass();

  // The commit number `commit` from now on is held.
  void arm(int commit);
  void wait_until_held();       // or until give_up()
  void let_go(bool to_commit);  // false: roll back
  void give_up();               // no call will arrive
  int commits() const;          // since arm()

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int held_commit_ = 0;         // guarded by mutex_; 0: open
  int commits_ = 0;             // guarded by mutex_
  bool arrived_ = false;        // guarded by mutex_
  std::optional<bool> answer_;  // guarded by mutex_
};

// The numbers follow one another: six tasks have finished and may be purged, six are in an overdue lease, six are ready
// and six are due, each six in one range.
class Scene {
 public:
  enum Side { kFirst, kSecond };

  // The store of `claimer` has given the lease, so that it can settle it as a whole without looking.
  explicit Scene(Side claimer = kFirst);

  // Runs on the store of that side. The two sides name tasks of their own and some of the same.
  Answered run(Operation operation, Side side);

  // What a monitor takes whose last pass was just now.
  std::vector<ExpiredLease> expire_now();

  // With how many commits an operation does its work; it is the last one that counts.
  static int commits_of(Operation operation);

  Gate& gate(Side side) { return sides_[side].gate; }
  Observer& database() { return *database_; }
  const std::map<TaskId, Seen>& before() const { return before_; }

 private:
  struct Actor {
    Gate gate;
    std::unique_ptr<Store> store;
    std::vector<Submission> submissions;
    std::vector<Submission> plain;  // without keys, for an exchange
  };

  void open();
  void fill(Side claimer);
  Submission submission(NewTask task);
  std::vector<Settlement> settlements(Event event, Side side) const;
  std::vector<Settlement> settlements_of_all(Event event) const;
  std::vector<TaskId> some_of_all(Side side) const;
  static ClaimWish wish_of(Side side);
  Answered exchange(Side side);

  ManualClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
  std::unique_ptr<Observer> database_;
  Actor sides_[2];
  std::vector<TaskId> tasks_;  // in the order of their numbers
  std::vector<LeasedTask> leases_;
  std::map<std::string, TaskId> keys_;
  std::map<TaskId, Seen> before_;
  std::optional<Instant> stamp_;
};

}  // namespace horae::testing
