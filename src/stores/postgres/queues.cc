#include "stores/postgres/queues.h"

#include <fmt/format.h>

#include "model/task.h"
#include "store/submission.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/layout/queue_end.h"
#include "stores/postgres/layout/tally.h"
#include "stores/postgres/tasks/purge.h"

namespace horae::postgres {
namespace {

constexpr int kMostTries = 5;
constexpr std::int64_t kLongTally = 1'000;  // rows that are worth adding up

const Sql kNow = statement("queues_now");
const Sql kAll = statement("queues_all");
const Sql kLockRow = statement("queues_lock_row");
const Sql kChange = statement("queues_change", Changes::kOne);
const Sql kHasTasks = statement("queues_has_tasks");
const Sql kSetStopped = statement("queues_set_stopped", Changes::kAny);
const Sql kStopped = statement("queues_stopped");
const Sql kClosed = statement("queues_closed");
const Sql kNewWorker = statement("queues_new_worker");

// As in queues_all.
static_assert(static_cast<int>(State::kCompleted) == 3 && static_cast<int>(State::kAborted) == 4 &&
              static_cast<int>(State::kCancelled) == 5);

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
    transaction.be_patient();  // it reads all ranges
    const auto now = transaction.send(kNow);
    const auto all = transaction.send(kAll);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    QueueList read{.queues = {}, .as_of = transaction.rows(now)[0].instant(0)};
    tally_rows = transaction.rows(now)[0].integer(1);
    for (const Row row : transaction.rows(all)) read.queues.push_back(read_queue(row, read.as_of));
    return read;
  });
  // The answer is right either way; the next call will try again.
  if (list.ok() && tally_rows > kLongTally) (void)fold_tally(pool_);
  return list;
}

Result<QueueSettings> Queues::configure(std::string_view queue, const QueueChange& wanted) {
  if (auto checked = check_queue_name(queue); !checked.ok()) return checked.error();
  if (auto checked = check_queue_change(wanted); !checked.ok()) return checked.error();
  return database_.run([&] { return change(queue, wanted); });
}

// A queue that has ended since its number was read is made again.
Result<QueueSettings> Queues::change(std::string_view queue, const QueueChange& wanted) {
  const std::string name(queue);
  for (int i = 0; i < kMostTries; ++i) {
    const auto numbers = names_.find_or_make({name});
    if (!numbers.ok()) return numbers.error();
    const auto number = numbers->find(queue);
    if (number == numbers->end()) return too_many_queues(queue, names_.max_queues());
    auto changed = change_row(number->second, wanted);
    if (!changed.ok()) return changed.error();
    if (*changed) return **changed;
    names_.forget({name});
  }
  return Error{ErrorCode::kUnavailable, fmt::format("queue {}: it is being deleted again and again; try later", queue)};
}

// Nothing if there is no such row.
Result<std::optional<QueueSettings>> Queues::change_row(int no, const QueueChange& wanted) {
  using Answer = std::optional<QueueSettings>;
  return pool_.transact<Answer>([&](Transaction& transaction) -> Result<Answer> {
    const Rows rows = transaction.run(kLockRow, Params::of(std::int32_t{no}));
    if (transaction.failed()) return transaction.failure()->error;
    if (rows.empty()) {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return Answer();
    }
    Configured configured = read_configured(rows[0]);
    apply(wanted, configured);
    const auto& [settings, ageing, now] = configured;
    transaction.send(kChange, Params::of(std::int32_t{no}, settings.paused, ageing.base, ageing.rate, ageing.since,
                                         settings.retention));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return Answer(settings);
  });
}

Result<QueueRemoval> Queues::remove(std::string_view queue, std::size_t max) {
  if (auto checked = check_queue_name(queue); !checked.ok()) return checked.error();
  return database_.run([&] { return try_to_remove(std::string(queue), max); });
}

// The number is read anew: the one that is cached may be that of a queue that ended.
Result<QueueRemoval> Queues::try_to_remove(const std::string& queue, std::size_t max) {
  names_.forget({queue});
  const auto numbers = names_.find({queue});
  if (!numbers.ok()) return numbers.error();
  if (numbers->empty()) return QueueRemoval{.kind = QueueRemoval::Kind::kNotFound};
  const int no = numbers->begin()->second;
  const auto has_tasks = pool_.look<bool>([&](Transaction& transaction) -> Result<bool> {
    const std::size_t ticket = transaction.send(kHasTasks, Params::of(std::int32_t{no}));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return transaction.rows(ticket)[0].boolean(0);
  });
  if (!has_tasks.ok()) return has_tasks.error();
  if (*has_tasks) return QueueRemoval{.kind = QueueRemoval::Kind::kHasTasks};
  const auto purged = purge_queue(pool_, no, max);
  if (!purged.ok()) return purged.error();
  if (*purged > 0) return QueueRemoval{.kind = QueueRemoval::Kind::kPurging, .purged = *purged};
  const auto ended = end_queues(pool_, {no}, EndOf::kAny);
  if (!ended.ok()) return ended.error();
  if (ended->empty()) return QueueRemoval{.kind = QueueRemoval::Kind::kPurging};  // a task came meanwhile
  names_.forget({queue});
  return QueueRemoval{.kind = QueueRemoval::Kind::kRemoved};
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
