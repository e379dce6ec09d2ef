// Reads the state of a task, and writes its trail.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/history.h"
#include "model/queue_scope.h"
#include "model/settle.h"
#include "model/task.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

// A row of the table life, as far as transitions need it.
struct Life {
  std::int64_t number = 0;
  std::int64_t queue = 0;
  State state = State::kScheduled;
  int attempt = 0;
  int tries = 0;
  double progress = 0.0;
  std::optional<std::string> owner;
  std::optional<Instant> started_at;
  std::optional<Instant> lease_expires;
  std::optional<AttemptEnd> ended;
  std::optional<Duration> recurring;
  std::optional<Duration> lease;  // its length, while running

  // The owner of the newest attempt, running or ended.
  std::optional<std::string> newest_owner() const { return owner || !ended ? owner : std::optional(ended->owner); }

  Holding holding() const { return {state, attempt, owner.value_or(""), ended}; }
};

// The part of the task's request that decides what its failures do.
struct Rules {
  int max_attempts = 0;
  RetryPolicy retry;
};

// A result that was refused, because its owner does not hold the task.
struct LateResult {
  int attempt = 0;
  std::string_view owner;
  std::string detail;
};

// Those of one task, which has not changed since they were refused.
struct LateResults {
  Life life;
  std::vector<LateResult> results;
};
using LateResultsByTask = std::map<std::int64_t, LateResults>;

// For code inside a transaction of the writer.
class Lives {
 public:
  explicit Lives(Writer& writer);

  std::optional<Life> find(const TaskId& id);
  std::optional<Life> find(const TaskId& id, const Scope& scope);  // nothing for one outside the scope
  std::optional<Life> find(std::int64_t number);
  Rules rules_of(const Life& life);

  // Notes how the present attempt ended (or, for kAssignment, that it began) in the task's trail, which stays bounded.
  void note(const Life& life, HistoryKind kind, Instant now, std::optional<double> progress, std::string_view detail);

  // Notes results that came too late, those of a task in their order, once for each attempt and owner. However many they
  // are, trails are read by one statement, and only what stays in them is written.
  void note_late_results(const LateResultsByTask& tasks, Instant now);

  // The attempt was never started: its assignment leaves the trail again, if it is there.
  void forget_assignment(const Life& life);

 private:
  // A row of the trail, as far as late results need it.
  struct TrailRow {
    std::int64_t place = 0;
    HistoryKind kind = HistoryKind::kAssignment;
    int attempt = 0;
    std::string worker;
    bool has_assignment = false;

    // With the assignment of the attempt that it ends.
    int entries() const { return has_assignment && kind != HistoryKind::kAssignment ? 2 : 1; }
  };
  using Trail = std::vector<TrailRow>;

  // The rows of a trail, counted in its order, that leave because there are too many: those after the first ones.
  struct Surplus {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool has(std::size_t row) const { return row >= begin && row < end; }
  };
  static Surplus surplus_of(std::size_t rows);

  std::map<std::int64_t, Trail> trails_of(const LateResultsByTask& tasks);
  void append_late_results(const LateResults& late, const Trail& old, Instant now);
  int drop_old(std::int64_t number, const Trail& old, const Surplus& surplus);
  void insert_trail(std::int64_t number, HistoryKind kind, int attempt, std::string_view worker,
                    std::optional<Instant> started_at, Instant now, std::optional<double> progress,
                    std::string_view detail);
  void prune_trail(std::int64_t number);
  bool is_assignment_noted(const Life& life);
  std::string queue_name(std::int64_t queue);

  Statement number_of_;
  Statement by_number_;
  Statement queue_name_;
  Statement rules_;
  Statement insert_trail_;
  Statement prune_trail_;
  Statement count_omitted_;
  Statement trail_rows_;
  Statement append_trail_;
  Statement drop_trail_;
  Statement find_assignment_;
  Statement drop_assignment_;
};

}  // namespace horae::sqlite
