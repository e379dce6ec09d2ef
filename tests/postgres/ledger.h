// What many callers were answered about their tasks, to be compared with the database when all of them are quiet.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "store/store.h"
#include "tests/postgres/invariants.h"

namespace horae::testing {

// Thread-safe. Calls may come in any order: what happened to a task
// may be noted before its creation is.
class Ledger {
 public:
  // Tasks of the queue `brief` may be purged once they have ended.
  explicit Ledger(std::string brief) : brief_(std::move(brief)) {}

  void note(const Submission& asked, const SubmitOutcome& outcome);
  void note(const std::string& owner, const LeasedTask& lease);
  void note(const Settlement& said, const SettleOutcome& outcome);
  void note(const CancelWish& wish, const CancelOutcome& outcome);
  void note(const ExpiredLease& lease);
  void note(const TaskId& asked, const std::optional<Task>& got);
  void note_held(const std::string& owner, const LeasedTask& lease);  // it was given before, to the same owner
  void note_purged(std::size_t tasks);
  void note_messages(std::ptrdiff_t more);  // stored; below 0 for those that are gone
  void note_wrong(const std::string& what);
  void note_failure(const std::string& call, const Error& error);

  // Ids of tasks that were created not long ago, maybe some of them twice.
  std::vector<TaskId> pick(Random& random, std::size_t count);

  std::size_t live() const;  // created and not known to have ended

  std::ptrdiff_t messages() const;  // that must be there. At a quiet moment only.

  // What does not agree, here or with the database. At a quiet moment only.
  std::vector<std::string> complaints(const std::map<TaskId, Stand>& stands);

  std::string summary() const;  // of what happened, in numbers

 private:
  struct Record {
    bool is_created = false;
    std::string queue;
    std::map<int, std::string> given;   // attempts, and to whom
    std::map<int, std::string> closed;  // attempts that have ended, and how
    std::optional<State> end;
  };

  void close(const TaskId& id, int attempt, const std::string& how);  // with mutex_ held
  void end(const TaskId& id, State state);                            // with mutex_ held
  void complain(const TaskId& id, const std::string& what);           // with mutex_ held
  void compare(const TaskId& id, const Record& record, const Stand& stand);

  const std::string brief_;
  mutable std::mutex mutex_;
  std::map<TaskId, Record> records_;  // guarded by mutex_, as all below
  std::vector<TaskId> created_;       // in the order of their notes
  std::map<std::string, std::size_t> counts_;
  std::vector<std::string> complaints_;
  std::size_t purged_ = 0;
  std::ptrdiff_t messages_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace horae::testing
