#include "stores/sqlite/writer.h"

#include <algorithm>

#include "store/queue_store.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

QueueRow read_queue(const Statement& row) {
  return {.no = row.integer(0),
          .ageing = {.base = row.integer(1), .rate = row.integer(2), .since = row.integer(3)},
          .paused = row.small(4) != 0};
}

std::optional<QueueRow> only_queue(Statement& statement) {
  if (!statement.next()) return std::nullopt;
  const QueueRow queue = read_queue(statement);
  statement.finish();
  return queue;
}

std::size_t only_count(Statement& statement) {
  const auto count = statement.next() ? static_cast<std::size_t>(statement.integer(0)) : 0;
  statement.finish();
  return count;
}

std::int64_t second_of(Instant instant) {
  return std::chrono::floor<std::chrono::seconds>(instant).time_since_epoch().count();
}

}  // namespace

std::int64_t Change::now_second() const { return second_of(now_); }

void Change::moved(std::int64_t queue, std::optional<State> from, std::optional<State> to) {
  Counts& counts = counts_[queue];
  if (from) --counts[static_cast<std::size_t>(*from)];
  if (to) ++counts[static_cast<std::size_t>(*to)];
}

Writer::Writer(std::shared_ptr<Connection> connection, const Clock& clock, std::size_t max_queues)
    : connection_(std::move(connection)),
      database_(*connection_->database),
      clock_(clock),
      max_queues_(max_queues),
      find_queue_(database_, statement("writer_queue_by_name")),
      queue_by_number_(database_, statement("writer_queue_by_number")),
      count_queues_(database_, statement("writer_count_queues")),
      count_made_by_(database_, statement("writer_count_made_by")),
      make_queue_(database_, statement("writer_make_queue")),
      add_counts_(database_, statement("writer_add_counts")),
      stopped_(database_, statement("writer_stopped")) {
  Statement highest(database_, statement("writer_high_number"));
  if (highest.start().next()) next_number_ = highest.integer(0) + 1;
  highest.finish();
}

std::optional<QueueRow> Writer::find_queue(std::string_view name) { return only_queue(find_queue_.start(name)); }

std::optional<QueueRow> Writer::find_or_make_queue(std::string_view name, const Change& change,
                                                   const std::optional<std::string>& maker) {
  if (auto queue = find_queue(name)) return queue;
  if (only_count(count_queues_.start()) >= max_queues_) return std::nullopt;
  make_queue_.run(name, kDefaultAgeingRate, kDefaultRetention, maker, change.now());
  return find_queue(name);
}

std::size_t Writer::queues_made_by(std::string_view token) { return only_count(count_made_by_.start(token)); }

QueueRow Writer::queue_by_number(std::int64_t no) {
  return only_queue(queue_by_number_.start(no)).value_or(QueueRow{.no = no});
}

bool Writer::scheduler_stopped() {
  const bool stopped = stopped_.start().next() && stopped_.small(0) != 0;
  stopped_.finish();
  return stopped;
}

Error Writer::broken_error() const {
  return {ErrorCode::kUnavailable,
          "the SQLite database could not be synced to disk, so nothing more is written: check the disk, then restart; "
          "everything acknowledged before is kept"};
}

void Writer::save_counts(const Change& change) {
  for (const auto& [queue, counts] : change.counts()) {
    add_counts_.run(counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], queue);
  }
}

}  // namespace horae::sqlite
