#include "stores/sqlite/queues.h"

#include <fmt/format.h>

#include "model/task.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {

Queues::Queues(Writer& writer)
    : writer_(writer),
      purger_(writer),
      all_(writer.database(), statement("queues_all")),
      oldest_(writer.database(), statement("queues_oldest")),
      settings_(writer.database(), statement("queues_settings")),
      set_paused_(writer.database(), statement("queues_set_paused")),
      set_ageing_(writer.database(), statement("queues_set_ageing")),
      set_retention_(writer.database(), statement("queues_set_retention")),
      set_configured_(writer.database(), statement("queues_set_configured")),
      has_tasks_(writer.database(), statement("queues_has_tasks")),
      remove_(writer.database(), statement("queues_remove")),
      set_stopped_(writer.database(), statement("queues_set_stopped")),
      take_worker_(writer.database(), statement("queues_take_worker")) {}

Result<QueueList> Queues::queues() {
  return writer_.transact<QueueList>([&](Change& change) {
    QueueList list{.queues = {}, .as_of = change.now()};
    std::vector<std::int64_t> numbers;
    all_.start();
    while (all_.next()) {
      numbers.push_back(all_.integer(0));
      list.queues.push_back({.name = all_.text(1),
                             .settings = {all_.small(2) != 0, all_.integer(3), all_.duration(4)},
                             .scheduled = all_.integer(5),
                             .ready = all_.integer(6),
                             .running = all_.integer(7),
                             .completed = all_.integer(8),
                             .aborted = all_.integer(9),
                             .cancelled = all_.integer(10)});
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (list.queues[i].ready > 0) list.queues[i].oldest_ready = oldest_ready(numbers[i], change);
    }
    return list;
  });
}

std::optional<Duration> Queues::oldest_ready(std::int64_t queue, const Change& change) {
  std::optional<Duration> oldest;
  if (oldest_.start(queue).next() && !oldest_.is_null(0)) {
    oldest = std::chrono::seconds(change.now_second() - oldest_.integer(0));
  }
  oldest_.finish();
  return oldest;
}

QueueSettings Queues::settings_of(std::string_view queue) {
  QueueSettings settings;
  if (settings_.start(queue).next()) settings = {settings_.small(0) != 0, settings_.integer(1), settings_.duration(2)};
  settings_.finish();
  return settings;
}

Result<QueueSettings> Queues::configure(std::string_view queue, const QueueChange& wanted) {
  if (auto checked = check_queue_name(queue); !checked.ok()) return checked.error();
  if (auto checked = check_queue_change(wanted); !checked.ok()) return checked.error();
  const auto settings =
      writer_.transact<std::optional<QueueSettings>>([&](Change& change) -> std::optional<QueueSettings> {
        const auto row = writer_.find_or_make_queue(queue, change);
        if (!row) return std::nullopt;
        set_configured_.run(row->no);
        if (wanted.paused) set_paused_.run(*wanted.paused, row->no);
        if (wanted.retention) set_retention_.run(*wanted.retention, row->no);
        if (wanted.ageing_rate) {
          const Ageing ageing = with_rate(row->ageing, *wanted.ageing_rate, change.now_second());
          set_ageing_.run(ageing.base, ageing.rate, ageing.since, row->no);
        }
        return settings_of(queue);
      });
  if (!settings.ok()) return settings.error();
  if (!*settings) return too_many_queues(queue, writer_.max_queues());
  return **settings;
}

// The queue goes with a call that finds it empty, so that the counts which a transaction changes at its end still have a
// row.
Result<QueueRemoval> Queues::remove(std::string_view queue, std::size_t max) {
  if (auto checked = check_queue_name(queue); !checked.ok()) return checked.error();
  return writer_.transact<QueueRemoval>([&](Change& change) -> QueueRemoval {
    const auto row = writer_.find_queue(queue);
    if (!row) return {.kind = QueueRemoval::Kind::kNotFound};
    if (has_tasks(row->no)) return {.kind = QueueRemoval::Kind::kHasTasks};
    const auto purged = purger_.purge(row->no, Instant::max(), max, change).purged;
    if (purged > 0) return {.kind = QueueRemoval::Kind::kPurging, .purged = purged};
    remove_.run(row->no);
    return {.kind = QueueRemoval::Kind::kRemoved};
  });
}

bool Queues::has_tasks(std::int64_t queue) {
  const bool has_any = has_tasks_.start(queue).next() && has_tasks_.small(0) != 0;
  has_tasks_.finish();
  return has_any;
}

Result<bool> Queues::set_scheduler_running(bool running) {
  return writer_.transact<bool>([&](Change&) { return set_stopped_.run_any(!running) > 0; });
}

Result<bool> Queues::scheduler_running() {
  return writer_.transact<bool>([&](Change&) { return !writer_.scheduler_stopped(); });
}

Result<std::vector<std::string>> Queues::closed(std::span<const std::string> queues) {
  return writer_.transact<std::vector<std::string>>([&](Change&) {
    const bool stopped = writer_.scheduler_stopped();
    std::vector<std::string> closed;
    for (const std::string& queue : queues) {
      if (stopped || settings_of(queue).paused) closed.push_back(queue);
    }
    return closed;
  });
}

Result<std::string> Queues::new_worker_id() {
  return writer_.transact<std::string>([&](Change&) {
    std::int64_t number = 0;
    int changed = 0;
    take_worker_.start();
    for (; take_worker_.next(); ++changed) number = take_worker_.integer(0);
    take_worker_.expect_one(changed);
    return fmt::format("worker-{}", number);
  });
}

}  // namespace horae::sqlite
