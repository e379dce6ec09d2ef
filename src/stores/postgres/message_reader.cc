#include "stores/postgres/message_reader.h"

#include <limits>
#include <utility>

#include "stores/headers.h"
#include "stores/message_rules.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/message_rows.h"
#include "stores/upkeep_parts.h"

namespace horae::postgres {
namespace {

const Sql kStuck = statement("message_stuck");
const Sql kWalk = statement("message_walk");
const Sql kGet = statement("message_get");
const Sql kCounts = statement("message_counts");

constexpr Instant kBeforeAll = from_postgres(std::numeric_limits<std::int64_t>::min());  // -infinity

// The row that ends a page: null or the time, and where the look ended because it was long enough.
std::optional<MessagePosition> read_end(const Row& row) {
  if (row.is_null(1)) return std::nullopt;
  return MessagePosition{row.instant(2), row.text(1)};
}

struct Walk {
  Instant now{};
  std::vector<StoredMessage> messages;
  std::optional<MessagePosition> next;
};

// From column 4 on: deadline, key, value, headers, source_partition, source_offset, readied_at, readied_by.
Result<StoredMessage> read_line(const Row& row) {
  auto headers = decode_headers(row.view(7));
  if (!headers.ok()) return headers.error();
  StoredMessage stored{.message = {.id = row.text(1),
                                   .deadline = row.instant(4),
                                   .key = row.optional_text(5),
                                   .value = row.optional_text(6),
                                   .headers = std::move(*headers)},
                       .due = row.instant(2),
                       .place = read_place(row, 8),
                       .readying = {}};
  if (!row.is_null(10)) stored.readying = Readying{stored.message.id, row.instant(10), row.uuid(11)};
  return stored;
}

// $5 of message_walk.
std::int16_t wanted(std::optional<MessageState> state) {
  if (!state) return 2;
  return *state == MessageState::kReady ? 1 : 0;
}

Result<Walk> walk(Pool& pool, const Params& params) {
  return pool.look<Walk>([&](Transaction& transaction) -> Result<Walk> {
    const auto ticket = transaction.send(kWalk, params);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    Walk found;
    bool is_full = false;
    for (const Row row : transaction.rows(ticket)) {
      if (!row.is_null(0)) {
        found.now = row.instant(0);
        found.next = read_end(row);
      } else if (!row.boolean(3)) {
        is_full = true;
      } else {
        auto stored = read_line(row);
        if (!stored.ok()) return stored.error();
        found.messages.push_back(std::move(*stored));
      }
    }
    if (is_full) found.next = MessagePosition{found.messages.back().due, found.messages.back().message.id};
    return found;
  });
}

Instant due_after(const std::optional<MessagePosition>& after) { return after ? after->due : kBeforeAll; }
std::string_view id_after(const std::optional<MessagePosition>& after) {
  return after ? text_or_nothing(after->id) : std::string_view();
}

}  // namespace

Result<HeldPage> MessageReader::held_by(const HeldWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, 0); !checked.ok()) return checked.error();
  auto found = walk(pool_, Params::of(wish.delay_queue, due_after(wish.after), id_after(wish.after),
                                      reach_of(wish.advance, wish.horizon), wanted(MessageState::kReady),
                                      std::optional(wish.node), limit_of(page_size(wish.limits.max) + 1),
                                      limit_of(wish.limits.max_bytes), limit_of(kMaxMessagesLooked)));
  if (!found.ok()) return found.error();
  HeldPage page{.now = found->now, .messages = {}, .next = std::move(found->next)};
  for (StoredMessage& each : found->messages) {
    page.messages.push_back({std::move(each.message), std::move(*each.readying), each.due});
  }
  return page;
}

Result<StuckPage> MessageReader::stuck(const StuckWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, 0); !checked.ok()) return checked.error();
  const std::size_t most = page_size(wish.max);
  const Params params = Params::of(wish.delay_queue, due_after(wish.after), id_after(wish.after), wish.hold,
                                   wish.advance, limit_of(most + 1), limit_of(kMaxMessagesLooked));
  return pool_.look<StuckPage>([&](Transaction& transaction) -> Result<StuckPage> {
    const auto ticket = transaction.send(kStuck, params);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    StuckPage page;
    std::optional<MessagePosition> last;
    bool is_full = false;
    for (const Row row : transaction.rows(ticket)) {
      if (!row.is_null(0)) {
        page.now = row.instant(0);
        page.next = read_end(row);
      } else if (page.messages.size() == most) {
        is_full = true;
      } else {
        last = MessagePosition{row.instant(2), row.text(1)};
        page.messages.push_back({row.text(1), row.instant(3), row.uuid(4)});
      }
    }
    if (is_full) page.next = last;
    return page;
  });
}

Result<std::vector<std::optional<StoredMessage>>> MessageReader::get(std::string_view delay_queue,
                                                                     std::span<const std::string> ids) {
  using Found = std::vector<std::optional<StoredMessage>>;
  if (auto checked = check_batch_of(delay_queue, ids.size()); !checked.ok()) return checked.error();
  std::vector<std::string_view> texts;
  for (const std::string& id : ids) texts.push_back(text_or_nothing(id));
  return pool_.look<Found>([&](Transaction& transaction) -> Result<Found> {
    const auto ticket = transaction.send(kGet, Params::of(delay_queue, texts));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    Found found(ids.size());
    for (const Row row : transaction.rows(ticket)) {
      auto message = read_message(row, 1);
      if (!message.ok()) return message.error();
      StoredMessage stored{std::move(*message), row.instant(6), read_place(row, 7), std::nullopt};
      if (!row.is_null(9)) stored.readying = Readying{stored.message.id, row.instant(9), row.uuid(10)};
      found[static_cast<std::size_t>(row.integer(0)) - 1] = std::move(stored);
    }
    return found;
  });
}

Result<MessagePage> MessageReader::list(const MessageQuery& query) {
  if (auto checked = check_batch_of(query.delay_queue, 0); !checked.ok()) return checked.error();
  auto found = walk(
      pool_, Params::of(query.delay_queue, due_after(query.after), id_after(query.after), std::optional<Duration>(),
                        wanted(query.state), std::optional<Uuid>(), limit_of(page_size(query.limit) + 1),
                        limit_of(query.max_bytes), limit_of(kMaxMessagesLooked)));
  if (!found.ok()) return found.error();
  return MessagePage{std::move(found->messages), std::move(found->next)};
}

Result<MessageCounts> MessageReader::counts(std::string_view delay_queue, Duration advance, std::size_t most) {
  if (auto checked = check_batch_of(delay_queue, 0); !checked.ok()) return checked.error();
  return pool_.look<MessageCounts>([&](Transaction& transaction) -> Result<MessageCounts> {
    const auto ticket = transaction.send(kCounts, Params::of(delay_queue, advance, limit_of(most)));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    const Row row = transaction.rows(ticket)[0];
    MessageCounts counts{.now = row.instant(0),
                         .waiting = static_cast<std::size_t>(row.integer(1)),
                         .ready = static_cast<std::size_t>(row.integer(2)),
                         .overdue = static_cast<std::size_t>(row.integer(3)),
                         .oldest_overdue = {}};
    counts.more = counts.waiting + counts.ready == most;
    if (counts.overdue > 0) counts.oldest_overdue = distance(fires_at(row.instant(4), advance), counts.now);
    return counts;
  });
}

}  // namespace horae::postgres
