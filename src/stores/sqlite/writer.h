// The one writer of the database: every change goes through here, one transaction after the other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "model/rank.h"
#include "model/state.h"
#include "stores/sqlite/database.h"

namespace horae::sqlite {

// A row of the table queue, as far as transitions need it.
struct QueueRow {
  std::int64_t no = 0;
  Ageing ageing;
  bool paused = false;
};

// The state of a running transaction: its time, one moment for all of it, and the changes of the counts of queues.
class Change {
 public:
  explicit Change(Instant now) : now_(now) {}

  Instant now() const { return now_; }
  std::int64_t now_second() const;

  // `delay` from now, to the next whole microsecond.
  Instant after(Duration delay) const { return now_ + std::chrono::ceil<std::chrono::microseconds>(delay); }

  // A task of that queue moved from one state to another; no state: it does not exist.
  void moved(std::int64_t queue, std::optional<State> from, std::optional<State> to);

  using Counts = std::array<std::int64_t, kAllStates.size()>;
  const std::map<std::int64_t, Counts>& counts() const { return counts_; }

 private:
  Instant now_;
  std::map<std::int64_t, Counts> counts_;
};

// transact() is thread-safe and serializes transactions; everything else is for code that runs inside one.
class Writer {
 public:
  // The database has the newest schema. The clock must outlive the writer. `max_queues`: how many there may be.
  Writer(std::shared_ptr<Connection> connection, const Clock& clock, std::size_t max_queues);

  // Runs `body` (Change& -> T) in a write transaction. What it answers is durable when this returns. On any error
  // nothing of it has happened; kUnavailable if SQLite could not write now.
  template <typename T, typename Body>
  Result<T> transact(Body body) {
    const std::lock_guard lock(connection_->mutex);
    if (database_.broken()) return broken_error();
    Transaction transaction(database_);
    Change change(clock_.wall_now());
    T answer = body(change);
    save_counts(change);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return answer;
  }

  Database& database() { return database_; }

  // The next task number. One that is not used, because its transaction failed, is skipped.
  std::int64_t next_number() { return next_number_++; }

  // A queue by its name; nothing if it does not exist.
  std::optional<QueueRow> find_queue(std::string_view name);

  // The same, made if it does not exist, on the account of that token; nothing if there are max_queues() already.
  std::optional<QueueRow> find_or_make_queue(std::string_view name, const Change& change,
                                             const std::optional<std::string>& maker = std::nullopt);

  // How many queues exist that this token made.
  std::size_t queues_made_by(std::string_view token);

  std::size_t max_queues() const { return max_queues_; }

  QueueRow queue_by_number(std::int64_t no);

  bool scheduler_stopped();

 private:
  Error broken_error() const;
  void save_counts(const Change& change);

  std::shared_ptr<Connection> connection_;
  Database& database_;
  const Clock& clock_;
  const std::size_t max_queues_;
  // All guarded by the connection's mutex, which is held across the disk writes of a transaction: SQLite has one writer
  // anyway.
  Statement find_queue_;
  Statement queue_by_number_;
  Statement count_queues_;
  Statement count_made_by_;
  Statement make_queue_;
  Statement add_counts_;
  Statement stopped_;
  std::int64_t next_number_ = 1;
};

}  // namespace horae::sqlite
