#include "stores/sqlite/messages.h"

#include <algorithm>
#include <limits>

#include "stores/headers.h"
#include "stores/sqlite/statements.h"
#include "stores/upkeep_parts.h"

namespace horae::sqlite {
namespace {

constexpr Instant kBeforeAll{std::chrono::microseconds(std::numeric_limits<std::int64_t>::min())};
constexpr Instant kAfterAll{std::chrono::microseconds(std::numeric_limits<std::int64_t>::max())};

constexpr std::int32_t kNoPartition = -1;

std::optional<Blob> blob_of(const Bytes& bytes) {
  if (!bytes) return std::nullopt;
  return Blob{*bytes};
}

// Columns: id, deadline, key, value, headers.
Message read_message(Database& database, const Statement& row) {
  auto headers = decode_headers(row.text(4));
  if (!headers.ok()) database.fail(headers.error());
  return {.id = row.text(0),
          .deadline = row.instant(1),
          .key = row.optional_text(2),
          .value = row.optional_text(3),
          .headers = headers.ok() ? std::move(*headers) : std::vector<MessageHeader>()};
}

std::optional<RecordPlace> read_place(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return RecordPlace{.partition = row.small(column), .offset = row.integer(column + 1)};
}

// Columns: those of read_message(), due, source_partition, source_offset, readied_at, readied_by.
constexpr int kDue = 5;
constexpr int kPlace = 6;
constexpr int kReadiedAt = 8;
constexpr int kReadiedBy = 9;
StoredMessage read_stored(Database& database, const Statement& row) {
  StoredMessage stored{read_message(database, row), row.instant(kDue), read_place(row, kPlace), std::nullopt};
  if (row.is_null(kReadiedAt)) return stored;
  stored.readying = Readying{stored.message.id, row.instant(kReadiedAt), row.uuid(kReadiedBy)};
  return stored;
}

// What a page does with a message.
enum class Taken { kNo, kYes, kEnough };

Instant later_by(Instant now, Duration delay) {
  return now + std::chrono::duration_cast<std::chrono::microseconds>(delay);
}

// Counts messages against the limits of a page or of a node.
class Room {
 public:
  Room(std::size_t max, std::size_t max_bytes) : max_(max), max_bytes_(max_bytes) {}

  bool take(const Message& message) {
    bytes_ += stored_bytes(message);
    if (count_ == max_ || (count_ > 0 && bytes_ > max_bytes_)) return false;
    ++count_;
    return true;
  }

 private:
  const std::size_t max_;
  const std::size_t max_bytes_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

Messages::Messages(Writer& writer)
    : writer_(writer),
      find_(writer.database(), statement("message_find")),
      insert_(writer.database(), statement("message_insert")),
      waiting_(writer.database(), statement("message_waiting")),
      ready_(writer.database(), statement("message_ready")),
      first_waiting_(writer.database(), statement("message_first_waiting")),
      any_(writer.database(), statement("message_any")),
      remove_(writer.database(), statement("message_remove")),
      give_back_(writer.database(), statement("message_give_back")),
      reset_(writer.database(), statement("message_reset")),
      walk_(writer.database(), statement("message_walk")),
      get_(writer.database(), statement("message_get")),
      cancel_(writer.database(), statement("message_cancel")),
      move_(writer.database(), statement("message_move")),
      counts_(writer.database(), statement("message_counts")) {}

// ---- Enqueue ----

std::optional<PresentMessage> Messages::find(const EnqueueWish& wish, std::string_view id, Instant now) {
  std::optional<PresentMessage> found;
  if (find_.start(wish.delay_queue, id).next()) {
    const bool is_firing = find_.small(3) != 0 || is_due(find_.instant(2), now, wish.firing_advance());
    found = PresentMessage{read_place(find_, 0), is_firing};
  }
  find_.finish();
  return found;
}

void Messages::insert(const EnqueueWish& wish, const NewMessage& message, std::optional<Instant> readied_at) {
  const auto& [id, deadline, key, value, headers] = message.message;
  const std::string encoded = encode_headers(headers);
  const auto node = readied_at ? std::optional(wish.node) : std::nullopt;
  const auto [partition, offset] = message.place.value_or(RecordPlace{.partition = kNoPartition, .offset = 0});
  insert_.run(wish.delay_queue, id, deadline, readied_at, node, partition, offset, encoded, blob_of(key),
              blob_of(value));
}

Result<EnqueueOutcome> Messages::enqueue(const EnqueueWish& wish) {
  if (auto checked = check_wish(wish); !checked.ok()) return checked.error();
  const std::vector<bool> fit = fit_into(wish.ready, wish.messages);
  return writer_.transact<EnqueueOutcome>([&](Change& change) {
    const Instant now = change.now();
    std::vector<std::optional<PresentMessage>> before;
    for (const NewMessage& each : wish.messages) before.push_back(find(wish, each.message.id, now));

    EnqueueOutcome outcome{.now = now, .kinds = {}, .readied = {}};
    outcome.kinds.assign(wish.messages.size(), EnqueueKind::kRepeated);
    for (const std::size_t i : first_of_each_id(wish.messages)) {
      if (before[i]) continue;
      const NewMessage& each = wish.messages[i];
      const Instant due = each.message.deadline;
      if (!wish.stores_late && is_due(due, now, wish.advance)) {
        outcome.kinds[i] = EnqueueKind::kLate;
        continue;
      }
      const bool is_ready = fit[i] && is_due(due, now, reach_of(wish.advance, wish.horizon));
      insert(wish, each, is_ready ? std::optional(now) : std::nullopt);
      outcome.kinds[i] = is_ready ? EnqueueKind::kReadied : EnqueueKind::kWaiting;
      if (is_ready) outcome.readied.push_back({each.message, {each.message.id, now, wish.node}, due});
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i]) outcome.kinds[i] = judge(*before[i], wish.messages[i]);
    }
    std::ranges::stable_sort(outcome.readied, {}, &ReadiedMessage::due);  // they came in the order of their ids
    return outcome;
  });
}

// ---- Turn ----

std::vector<ReadiedMessage> Messages::take(const TurnWish& wish, Instant now) {
  std::vector<ReadiedMessage> taken;
  if (wish.ready.max == 0) return taken;
  Room room(wish.ready.max, wish.ready.max_bytes);
  waiting_.start(wish.delay_queue, later_by(now, reach_of(wish.advance, wish.horizon)), wish.ready.max);
  while (waiting_.next()) {
    Message message = read_message(writer_.database(), waiting_);
    if (!room.take(message)) break;
    Readying readying{message.id, now, wish.node};
    taken.push_back({std::move(message), std::move(readying), waiting_.instant(kDue)});
  }
  waiting_.finish();
  for (const ReadiedMessage& each : taken) ready_.run(now, wish.node, wish.delay_queue, each.message.id);
  return taken;
}

std::optional<Instant> Messages::first_waiting(std::string_view delay_queue) {
  std::optional<Instant> due;
  if (first_waiting_.start(delay_queue).next()) due = first_waiting_.instant(0);
  first_waiting_.finish();
  return due;
}

bool Messages::has_rows(std::string_view delay_queue) {
  const bool is_there = any_.start(delay_queue).next();
  any_.finish();
  return is_there;
}

Result<TurnOutcome> Messages::turn(const TurnWish& wish) {
  if (auto checked = check_wish(wish); !checked.ok()) return checked.error();
  return writer_.transact<TurnOutcome>([&](Change& change) {
    const Instant now = change.now();
    TurnOutcome outcome{.now = now, .removed = {}, .given_back = {}, .readied = {}, .next_in = std::nullopt};
    for (const Readying& fired : wish.fired) {
      const int removed = remove_.run_any(wish.delay_queue, fired.id, fired.readied_at, fired.readied_by);
      outcome.removed.push_back(removed > 0);
    }
    for (const auto& [readying, delay, may_be_published] : wish.failed) {
      const Duration wait = whole_microseconds(delay);
      const auto not_before = wait == Duration::zero()
                                  ? std::nullopt
                                  : std::optional(later_by(now, wait + whole_microseconds(wish.advance)));
      const int changed = give_back_.run_any(wish.delay_queue, readying.id, readying.readied_at, readying.readied_by,
                                             not_before, may_be_published);
      outcome.given_back.push_back(changed > 0);
    }
    outcome.readied = take(wish, now);
    if (const auto due = first_waiting(wish.delay_queue)) outcome.next_in = distance(now, fires_at(*due, wish.advance));
    outcome.has_rows = outcome.next_in || !outcome.readied.empty() || has_rows(wish.delay_queue);
    return outcome;
  });
}

// ---- Recovery ----

template <typename Take>
std::optional<MessagePosition> Messages::walk(std::string_view delay_queue, const std::optional<MessagePosition>& after,
                                              Instant latest, Take take) {
  const MessagePosition from = after.value_or(MessagePosition{kBeforeAll, ""});
  std::optional<MessagePosition> last_looked;
  std::optional<MessagePosition> last_taken;
  std::optional<MessagePosition> next;
  std::size_t looked = 0;
  walk_.start(delay_queue, from.due, from.id, latest, kMaxMessagesLooked + 1);
  while (walk_.next()) {
    const Taken taken = ++looked > kMaxMessagesLooked ? Taken::kEnough : take(walk_);
    if (taken == Taken::kEnough) {
      next = looked > kMaxMessagesLooked ? last_looked : last_taken;
      break;
    }
    last_looked = MessagePosition{walk_.instant(kDue), walk_.text(0)};
    if (taken == Taken::kYes) last_taken = last_looked;
  }
  walk_.finish();
  return next;
}

Result<HeldPage> Messages::held_by(const HeldWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, 0); !checked.ok()) return checked.error();
  return writer_.transact<HeldPage>([&](Change& change) {
    HeldPage page{.now = change.now(), .messages = {}, .next = std::nullopt};
    Room room(page_size(wish.limits.max), wish.limits.max_bytes);
    const Instant latest = later_by(page.now, reach_of(wish.advance, wish.horizon));
    page.next = walk(wish.delay_queue, wish.after, latest, [&](const Statement& row) {
      if (row.is_null(kReadiedAt) || row.uuid(kReadiedBy) != wish.node) return Taken::kNo;
      StoredMessage stored = read_stored(writer_.database(), row);
      if (!room.take(stored.message)) return Taken::kEnough;
      page.messages.push_back({std::move(stored.message), std::move(*stored.readying), stored.due});
      return Taken::kYes;
    });
    return page;
  });
}

Result<StuckPage> Messages::stuck(const StuckWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, 0); !checked.ok()) return checked.error();
  return writer_.transact<StuckPage>([&](Change& change) {
    StuckPage page{.now = change.now(), .messages = {}, .next = std::nullopt};
    const Instant before = page.now - std::chrono::floor<std::chrono::microseconds>(wish.hold);
    const Instant latest = later_by(before, whole_microseconds(wish.advance));
    page.next = walk(wish.delay_queue, wish.after, latest, [&](const Statement& row) {
      const bool is_stuck = !row.is_null(kReadiedAt) && row.instant(kReadiedAt) < before &&
                            fires_at(row.instant(kDue), wish.advance) < before;
      if (!is_stuck) return Taken::kNo;
      if (page.messages.size() == page_size(wish.max)) return Taken::kEnough;
      page.messages.push_back({row.text(0), row.instant(kReadiedAt), row.uuid(kReadiedBy)});
      return Taken::kYes;
    });
    return page;
  });
}

Result<std::vector<bool>> Messages::reset(std::string_view delay_queue, std::span<const Readying> stuck) {
  if (auto checked = check_batch_of(delay_queue, stuck.size()); !checked.ok()) return checked.error();
  return writer_.transact<std::vector<bool>>([&](Change&) {
    std::vector<bool> done;
    for (const auto& [id, at, by] : stuck) done.push_back(reset_.run_any(delay_queue, id, at, by) > 0);
    return done;
  });
}

// ---- For people ----

Result<std::vector<std::optional<StoredMessage>>> Messages::get(std::string_view delay_queue,
                                                                std::span<const std::string> ids) {
  using Found = std::vector<std::optional<StoredMessage>>;
  if (auto checked = check_batch_of(delay_queue, ids.size()); !checked.ok()) return checked.error();
  return writer_.transact<Found>([&](Change&) {
    Found found;
    for (const std::string& id : ids) {
      const bool is_there = get_.start(delay_queue, id).next();
      found.push_back(is_there ? std::optional(read_stored(writer_.database(), get_)) : std::nullopt);
      get_.finish();
    }
    return found;
  });
}

template <typename Run>
Result<std::vector<Verdict>> Messages::change_waiting(std::string_view delay_queue, std::span<const std::string> ids,
                                                      Run run) {
  if (auto checked = check_changes(delay_queue, ids); !checked.ok()) return checked.error();
  return writer_.transact<std::vector<Verdict>>([&](Change&) {
    std::vector<Verdict> verdicts;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool is_changed = run(i) > 0;
      const bool is_there = is_changed || find_.start(delay_queue, ids[i]).next();
      find_.finish();
      verdicts.push_back(is_changed ? Verdict::kAccepted : is_there ? Verdict::kWrongState : Verdict::kNotFound);
    }
    return verdicts;
  });
}

Result<std::vector<Verdict>> Messages::cancel(std::string_view delay_queue, std::span<const std::string> ids) {
  return change_waiting(delay_queue, ids, [&](std::size_t i) { return cancel_.run_any(delay_queue, ids[i]); });
}

Result<std::vector<Verdict>> Messages::move(std::string_view delay_queue, std::span<const MoveWish> wishes) {
  return change_waiting(delay_queue, ids_of(wishes),
                        [&](std::size_t i) { return move_.run_any(delay_queue, wishes[i].id, wishes[i].deadline); });
}

Result<MessagePage> Messages::list(const MessageQuery& query) {
  if (auto checked = check_batch_of(query.delay_queue, 0); !checked.ok()) return checked.error();
  return writer_.transact<MessagePage>([&](Change&) {
    MessagePage page;
    Room room(page_size(query.limit), query.max_bytes);
    page.next = walk(query.delay_queue, query.after, kAfterAll, [&](const Statement& row) {
      const auto state = row.is_null(kReadiedAt) ? MessageState::kWaiting : MessageState::kReady;
      if (query.state.value_or(state) != state) return Taken::kNo;
      StoredMessage stored = read_stored(writer_.database(), row);
      if (!room.take(stored.message)) return Taken::kEnough;
      page.messages.push_back(std::move(stored));
      return Taken::kYes;
    });
    return page;
  });
}

Result<MessageCounts> Messages::counts(std::string_view delay_queue, Duration advance, std::size_t most) {
  if (auto checked = check_batch_of(delay_queue, 0); !checked.ok()) return checked.error();
  return writer_.transact<MessageCounts>([&](Change& change) {
    MessageCounts counts{.now = change.now(), .oldest_overdue = std::nullopt};
    if (counts_.start(delay_queue, later_by(counts.now, whole_microseconds(advance)), most).next()) {
      counts.waiting = static_cast<std::size_t>(counts_.integer(0));
      counts.ready = static_cast<std::size_t>(counts_.integer(1));
      counts.overdue = static_cast<std::size_t>(counts_.integer(2));
      counts.more = counts.waiting + counts.ready == most;
      if (counts.overdue > 0) counts.oldest_overdue = distance(fires_at(counts_.instant(3), advance), counts.now);
    }
    counts_.finish();
    return counts;
  });
}

Result<std::vector<DelayLook>> Messages::look(std::span<const std::string> delay_queues) {
  for (const std::string& queue : delay_queues) {
    if (auto checked = check_batch_of(queue, delay_queues.size()); !checked.ok()) return checked.error();
  }
  return writer_.transact<std::vector<DelayLook>>([&](Change& change) {
    std::vector<DelayLook> looks;
    for (const std::string& queue : delay_queues) {
      const auto due = first_waiting(queue);
      const auto next_in = due ? std::optional(distance(change.now(), *due)) : std::nullopt;
      looks.push_back({.has_rows = due || has_rows(queue), .next_in = next_in});
    }
    return looks;
  });
}

}  // namespace horae::sqlite
