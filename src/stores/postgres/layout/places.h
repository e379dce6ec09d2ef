// The four places where a task can stand, and the writes to them that the transitions share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/history.h"
#include "model/settle.h"
#include "model/task.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// What a range keeps on its way through the tables.
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

// Scheduled.
struct ScheduledRange {
  Life life;
  Instant due;
  int priority = 0;
  std::optional<Instant> updated_at = std::nullopt;  // nothing: now
};

// Ready.
struct ReadyRange {
  Life life;
  std::int64_t rank = 0;
  std::int64_t at = 0;                               // the second in which it became ready
  std::optional<Instant> updated_at = std::nullopt;  // nothing: now
};

// Running.
struct RunningRange {
  Life life;
  std::int64_t rank = 0;
  std::int64_t at = 0;
  std::string owner;
  Uuid token;
  Duration length{};
  Instant started_at;
  Instant expires;
};

// Smaller ones stand beside each other in one range of finished tasks; a larger one has a row of its own.
inline constexpr std::size_t kMostResultBytesInARange = 1024;

// Finished.
struct FinishedRange {
  Life life;
  State state = State::kCompleted;
  std::optional<std::string> owner;
  std::optional<Instant> started_at;
  std::optional<std::vector<std::optional<std::string>>> results;  // one for each task; nothing if none brought one
  std::optional<std::vector<std::string>> errors;                  // as texts_of()
  std::optional<std::string> cancel_reason;
};

// How an attempt ended, for the history.
struct TrailRange {
  Range range;
  HistoryKind kind = HistoryKind::kAssignment;
  int attempt = 0;
  std::string worker;
  std::optional<Instant> started_at;  // nothing if another row tells of the assignment
  std::optional<Instant> at;          // nothing: now
  std::optional<double> progress;
  std::string detail;
};

// The columns of a lease that read_running() expects, in its order.
inline constexpr char kRunningColumns[] =
    "l.lo, l.hi, l.queue, l.attempt, l.tries, l.max_attempts, l.recurring, l.run_at, l.ended_event, l.ended_owner,"
    " l.rank, l.at, l.owner, l.token, l.length, l.started_at, l.expires";
RunningRange read_running(const Row& row);

// The columns of a run that read_ready() expects, in its order, from `column` on.
inline constexpr char kReadyColumns[] =
    "r.lo, r.hi, r.queue, r.attempt, r.tries, r.max_attempts, r.recurring, r.run_at, r.ended_event, r.ended_owner,"
    " r.rank, r.at, r.updated_at";
ReadyRange read_ready(const Row& row, int column);

// Reads the columns that runs, leases and delayed ranges share.
Life read_life(const Row& row, int column);

// The same for another range.
template <typename Place>
Place piece_of(const Place& place, Range range) {
  Place piece = place;
  piece.life.range = range;
  return piece;
}

// Each sends one statement, or none for nothing. Their time is the store's, that of the transaction.
void insert_scheduled(Transaction& transaction, std::span<const ScheduledRange> ranges);
void insert_ready(Transaction& transaction, std::span<const ReadyRange> ranges);
void insert_running(Transaction& transaction, std::span<const RunningRange> ranges);
void insert_finished(Transaction& transaction, std::span<const FinishedRange> ranges);  // and counts them
void insert_trail(Transaction& transaction, std::span<const TrailRange> ranges);

// By the first number of a range. The caller has locked the rows.
void delete_scheduled(Transaction& transaction, const std::vector<std::int64_t>& los);
void delete_ready(Transaction& transaction, const std::vector<std::int64_t>& los);
void delete_running(Transaction& transaction, const std::vector<std::int64_t>& los);

// Progress starts anew; the checkpoint stays, or goes as well.
void reset_progress(Transaction& transaction, const std::vector<Range>& ranges, bool also_checkpoint);

// Errors as FinishedRange keeps them (code, args and description of each), and back.
std::vector<std::string> texts_of(const std::vector<TaskError>& errors);
std::vector<TaskError> read_errors(const Row& row, int column);

// The two arrays of a list of ranges.
std::vector<std::int64_t> los_of(const std::vector<Range>& ranges);
std::vector<std::int64_t> his_of(const std::vector<Range>& ranges);

}  // namespace horae::postgres
