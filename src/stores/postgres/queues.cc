#include "stores/postgres/queues.h"

#include <fmt/format.h>

#include "model/task.h"
#include "store/submission.h"
#include "stores/postgres/layout/tally.h"
#include "stores/postgres/connection/time.h"

namespace horae::postgres {
namespace {

constexpr std::int64_t kLongTally = 1'000;  // rows that are worth adding up

const Sql kNow{"queues_now", "SELECT horae_now(), (SELECT count(*) FROM tally)"};

// Walks over all live ranges: it is asked by people and metrics, not by transitions. Numeric sums are made bigint.
const Sql kAll{
    "queues_all",
    "SELECT name, paused, rate, retention, scheduled, ready, running, completed, aborted, cancelled, oldest"
    " FROM queue"
    " LEFT JOIN (SELECT queue, sum(hi - lo + 1)::bigint AS scheduled FROM scheduled GROUP BY queue) AS d ON d.queue = no"
    " LEFT JOIN (SELECT queue, sum(hi - lo + 1)::bigint AS ready, min(at) AS oldest FROM ready GROUP BY queue) AS r"
    " ON r.queue = no"
    " LEFT JOIN (SELECT queue, sum(hi - lo + 1)::bigint AS running FROM running GROUP BY queue) AS l ON l.queue = no"
    " LEFT JOIN (SELECT queue,"
    " (sum(n) FILTER (WHERE state = 3))::bigint AS completed,"
    " (sum(n) FILTER (WHERE state = 4))::bigint AS aborted,"
    " (sum(n) FILTER (WHERE state = 5))::bigint AS cancelled FROM tally GROUP BY queue) AS t ON t.queue = no"
    " ORDER BY name COLLATE \"C\""};
static_assert(static_cast<int>(State::kCompleted) == 3 && static_cast<int>(State::kAborted) == 4 &&
              static_cast<int>(State::kCancelled) == 5);

// By the primary key. Whoever else configures this queue waits, so that no change is made upon what was there before.
const Sql kLockRow{"queues_lock_row",
                   "SELECT paused, base, rate, since, retention, horae_now() FROM queue WHERE no = $1 FOR UPDATE"};
const Sql kChange{"queues_change",
                  "UPDATE queue SET paused = $2, base = $3, rate = $4, since = $5, retention = $6 WHERE no = $1"};

const Sql kSetStopped{"queues_set_stopped", "UPDATE control SET stopped = $1 WHERE stopped <> $1"};
const Sql kStopped{"queues_stopped", "SELECT stopped FROM control"};
// By the unique index on the name.
const Sql kClosed{"queues_closed",
                  "SELECT w.name FROM unnest($1::text[]) WITH ORDINALITY AS w(name, place) CROSS JOIN control"
                  " WHERE control.stopped OR EXISTS (SELECT FROM queue WHERE queue.name = w.name AND queue.paused)"
                  " ORDER BY w.place"};
const Sql kNewWorker{"queues_new_worker", "SELECT nextval('worker_number')"};

// Columns as in kAll. What no row was found for is null, which reads as 0.
QueueInfo read_queue(const Row& row, Instant now) {
  QueueInfo info{.name = row.text(0),
                 .settings = {row.boolean(1), row.integer(2), row.duration(3)},
                 .scheduled = row.integer(4),
                 .ready = row.integer(5),
                 .running = row.integer(6),
                 .completed = row.integer(7),
                 .aborted = row.integer(8),
                 .cancelled = row.integer(9)};
  if (const auto oldest = row.optional_integer(10)) {
    info.oldest_ready = std::chrono::seconds(second_of(now) - *oldest);
  }
  return info;
}

// A queue as its row says.
struct Configured {
  QueueSettings settings;
  Ageing ageing;
  Instant now;
};

Configured read_configured(const Row& row) {
  return {.settings = {.paused = row.boolean(0), .ageing_rate = row.integer(2), .retention = row.duration(4)},
          .ageing = {.base = row.integer(1), .rate = row.integer(2), .since = row.integer(3)},
          .now = row.instant(5)};
}

void apply(const QueueChange& change, Configured& queue) {
  if (change.paused) queue.settings.paused = *change.paused;
  if (change.retention) queue.settings.retention = *change.retention;
  if (change.ageing_rate) {
    queue.settings.ageing_rate = *change.ageing_rate;
    queue.ageing = with_rate(queue.ageing, *change.ageing_rate, second_of(queue.now));
  }
}

}  // namespace

Result<QueueList> Queues::queues() {
  return database_.run([&] { return list(); });
}

Result<QueueList> Queues::list() {
  std::int64_t tally_rows = 0;
  auto list = pool_.look<QueueList>([&](Transaction& transaction) -> Result<QueueList> {
    const auto now = transaction.send(kNow);
    const auto all = transaction.send(kAll);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    QueueList read{.queues = {}, .as_of = transaction.rows(now)[0].instant(0)};
    tally_rows = transaction.rows(now)[0].integer(1);
    for (const Row row : transaction.rows(all)) read.queues.push_back(read_queue(row, read.as_of));
    return read;
  });
  // The answer is right either way; who asks next will try again.
  if (list.ok() && tally_rows > kLongTally) (void)fold_tally(pool_);
  return list;
}

Result<QueueSettings> Queues::configure(std::string_view queue, const QueueChange& wanted) {
  if (auto checked = check_queue_name(queue); !checked.ok()) return checked.error();
  if (auto checked = check_queue_change(wanted); !checked.ok()) return checked.error();
  return database_.run([&] { return change(queue, wanted); });
}

Result<QueueSettings> Queues::change(std::string_view queue, const QueueChange& wanted) {
  const auto numbers = names_.find_or_make({std::string(queue)});
  if (!numbers.ok()) return numbers.error();
  const auto number = numbers->find(queue);
  if (number == numbers->end()) {
    return Error{ErrorCode::kOverLimit,
                 fmt::format("queue {}: cannot be made: there are {} queues already", queue, kMaxQueues)};
  }
  const std::int32_t no = number->second;
  return pool_.transact<QueueSettings>([&](Transaction& transaction) -> Result<QueueSettings> {
    const Rows rows = transaction.run(kLockRow, Params::of(no));
    if (transaction.failed()) return transaction.failure()->error;
    if (rows.empty()) return Error{ErrorCode::kInternal, fmt::format("queue {}: its row is gone", queue)};
    Configured configured = read_configured(rows[0]);
    apply(wanted, configured);
    const auto& [settings, ageing, now] = configured;
    transaction.send(kChange,
                     Params::of(no, settings.paused, ageing.base, ageing.rate, ageing.since, settings.retention));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return settings;
  });
}

Result<bool> Queues::set_scheduler_running(bool running) {
  return database_.run([&] {
    return pool_.transact<bool>([&](Transaction& transaction) -> Result<bool> {
      const auto ticket = transaction.send(kSetStopped, Params::of(!running));
      if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
      return transaction.rows(ticket).affected() > 0;
    });
  });
}

Result<bool> Queues::scheduler_running() {
  return database_.run([&] {
    return pool_.look<bool>([&](Transaction& transaction) -> Result<bool> {
      const auto ticket = transaction.send(kStopped);
      if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
      return !transaction.rows(ticket)[0].boolean(0);
    });
  });
}

Result<std::vector<std::string>> Queues::closed(std::span<const std::string> queues) {
  return database_.run([&] {
    return pool_.look<std::vector<std::string>>([&](Transaction& transaction) -> Result<std::vector<std::string>> {
      const auto ticket = transaction.send(kClosed, Params::of(std::vector<std::string>(queues.begin(), queues.end())));
      if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
      std::vector<std::string> closed;
      for (const Row row : transaction.rows(ticket)) closed.push_back(row.text(0));
      return closed;
    });
  });
}

Result<std::string> Queues::new_worker_id() {
  return database_.run([&] {
    return pool_.transact<std::string>([&](Transaction& transaction) -> Result<std::string> {
      const auto ticket = transaction.send(kNewWorker);
      if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
      return fmt::format("worker-{}", transaction.rows(ticket)[0].integer(0));
    });
  });
}

}  // namespace horae::postgres
