// Ranges of tasks as the tables of states hold them (migrations/0001_tasks.sql), and the writes to these tables that
// the transitions share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/history.h"
#include "model/settle.h"
#include "model/task.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// What a range keeps when it moves from one table to another.
struct Life {
  Range range;
  int queue = 0;
  int attempt = 0;
  int tries = 0;
  std::optional<std::int32_t> max_attempts;  // nothing: no limit
  std::optional<Duration> recurring;
  std::optional<Instant> run_at;  // nothing: as the task row says
  std::optional<AttemptEnd> ended;
};

struct ScheduledRange {
  Life life;
  Instant due;
  int priority = 0;
  std::optional<Instant> updated_at = std::nullopt;  // nothing: now
  std::optional<Duration> due_in = std::nullopt;     // instead of `due`: from the moment on when it is stored
};

struct ReadyRange {
  Life life;
  std::int64_t rank = 0;
  std::int64_t at = 0;                               // the second in which it became ready
  std::optional<Instant> updated_at = std::nullopt;  // nothing: now
};

struct RunningRange {
  Life life;
  std::int64_t rank = 0;
  std::int64_t at = 0;
  std::string owner;
  Uuid token;
  Duration length{};
  Instant started_at;
  std::optional<Instant> expires;  // nothing: `length` from the moment on when it is stored
  bool begins = false;             // at that moment, instead of at `started_at`
};

// Results of up to this size share the row of a range of finished tasks; a larger one has a row of its own.
inline constexpr std::size_t kMostResultBytesInARange = 1024;

struct FinishedRange {
  Life life;
  State state = State::kCompleted;
  std::optional<std::string> owner;
  std::optional<Instant> started_at;
  std::optional<std::vector<std::optional<std::string>>> results;  // one for each task; nothing if none brought one
  std::optional<std::vector<std::string>> errors;                  // as texts_of()
  std::optional<std::string> cancel_reason;
};

// Entries of the history.
struct TrailRange {
  Range range;
  HistoryKind kind = HistoryKind::kAssignment;
  int attempt = 0;
  std::string worker;
  std::optional<Instant> started_at;  // nothing if another row has the assignment
  std::optional<Instant> at;          // nothing: now
  std::optional<double> progress;
  std::string detail;
};

// The columns that the tables share; a range that has finished is never read as one.
//   0 lo, 1 hi, 2 queue, 3 attempt, 4 tries, 5 max_attempts, 6 recurring, 7 run_at, 8 ended_event, 9 ended_owner
// The statements select them in this order, and after them those of their table:
//   scheduled: 10 due, 11 priority, 12 updated_at
//   ready: 10 rank, 11 at, 12 updated_at
//   running: 10 rank, 11 at, 12 owner, 13 token, 14 length, 15 started_at, 16 expires
// `column` is the place of the first one.
ScheduledRange read_scheduled(const Row& row);
ReadyRange read_ready(const Row& row, int column = 0);
RunningRange read_running(const Row& row);

// The same for another range.
template <typename Place>
Place piece_of(const Place& place, Range range) {
  Place piece = place;
  piece.life.range = range;
  return piece;
}

using Tickets = std::vector<std::size_t>;

// When leases end, as the store has decided. Read after the commit.
class LeaseEnds {
 public:
  // The tickets of statements that answer rows of lo, hi and expires.
  void read(const Transaction& transaction, const Tickets& tickets);

  std::optional<Instant> of(std::int64_t number) const;  // nothing for a task that is not among them

 private:
  std::map<std::int64_t, std::pair<std::int64_t, Instant>> ends_;  // by first numbers
};

// Each sends one statement for up to 64 ranges, none for no ranges. Their times are those of the store's clock when the
// statement runs. Leases come last in a transaction: they should not begin long before its commit.
void insert_scheduled(Transaction& transaction, std::span<const ScheduledRange> ranges);
void insert_ready(Transaction& transaction, std::span<const ReadyRange> ranges);
Tickets insert_running(Transaction& transaction, std::span<const RunningRange> ranges);  // for LeaseEnds
void insert_finished(Transaction& transaction, std::span<const FinishedRange> ranges);   // and counts them
void insert_trail(Transaction& transaction, std::span<const TrailRange> ranges);

// By the first number of a range. The caller has locked the rows.
void delete_scheduled(Transaction& transaction, const std::vector<std::int64_t>& los);
void delete_ready(Transaction& transaction, const std::vector<std::int64_t>& los);
void delete_running(Transaction& transaction, const std::vector<std::int64_t>& los);

// Progress begins again at 0; the checkpoint stays, or is deleted as well.
void reset_progress(Transaction& transaction, const std::vector<Range>& ranges, bool also_checkpoint);

// Errors as FinishedRange keeps them (code, args and description of each), and back.
std::vector<std::string> texts_of(const std::vector<TaskError>& errors);
std::vector<TaskError> read_errors(const Row& row, int column);

// The two arrays of a list of ranges.
std::vector<std::int64_t> los_of(const std::vector<Range>& ranges);
std::vector<std::int64_t> his_of(const std::vector<Range>& ranges);

}  // namespace horae::postgres
