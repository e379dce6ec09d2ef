#include "stores/postgres/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "base/utf8.h"
#include "model/task.h"
#include "store/batches.h"
#include "store/submission.h"
#include "stores/headers.h"
#include "stores/postgres/connection/time.h"
#include "stores/upkeep_parts.h"

namespace horae::postgres {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;

// In the order of the ids, so that two who bring the same ones do not wait for each other in a circle. Of the same id
// twice in a batch the first one comes in. A peer's uncommitted insert is waited for.
const Sql kInsert{"message_insert",
                  "INSERT INTO message (delay_queue, id, deadline, key, value, headers)"
                  " SELECT $1, id, deadline, key, value, headers"
                  " FROM unnest($2, $3, $4, $5, $6) WITH ORDINALITY AS said (id, deadline, key, value, headers, place)"
                  " ORDER BY id, place ON CONFLICT (delay_queue, id) DO NOTHING RETURNING id"};

// $2 the node, $3 the horizon in microseconds, $4 how many. By message_waiting; what a peer is taking is passed over.
const Sql kReady{"message_ready",
                 "WITH due AS MATERIALIZED (SELECT id FROM message WHERE readied_at IS NULL AND delay_queue = $1"
                 " AND deadline <= (SELECT horae_now()) + $3 * interval '1 microsecond'"
                 " ORDER BY deadline, id LIMIT $4 FOR UPDATE SKIP LOCKED),"
                 " taken AS (UPDATE message SET readied_at = (SELECT horae_now()), readied_by = $2 FROM due"
                 " WHERE message.delay_queue = $1 AND message.id = due.id AND message.readied_at IS NULL"
                 " RETURNING message.id, deadline, key, value, headers, readied_at)"
                 " SELECT * FROM taken ORDER BY deadline, id COLLATE \"C\""};

// After kReady, whose changes it sees. By message_waiting.
const Sql kNext{"message_next",
                "SELECT horae_now(), (SELECT deadline FROM message WHERE readied_at IS NULL AND delay_queue = $1"
                " ORDER BY deadline LIMIT 1)"};

// $2 ids, $3 when and $4 by whom they were readied. Of the same readying twice in a batch one is answered.
constexpr std::string_view kSaid = "unnest($2, $3, $4) AS said (id, at, by)";
constexpr std::string_view kPresent =
    "delay_queue = $1 AND message.id = said.id AND readied_at = said.at AND readied_by = said.by"
    " RETURNING said.id, said.at, said.by";
const Sql kRemove{"message_remove", fmt::format("DELETE FROM message USING {} WHERE {}", kSaid, kPresent)};
const Sql kReset{
    "message_reset",
    fmt::format("UPDATE message SET readied_at = NULL, readied_by = NULL FROM {} WHERE {}", kSaid, kPresent)};

// $2 the hold and $3 the advance in microseconds. By message_ready; held since the later of readying and deadline -
// advance.
const Sql kStuck{"message_stuck",
                 "SELECT id, readied_at, readied_by FROM message WHERE readied_at IS NOT NULL AND delay_queue = $1"
                 " AND readied_at < (SELECT horae_now()) - $2 * interval '1 microsecond'"
                 " AND deadline < (SELECT horae_now()) - $2 * interval '1 microsecond' + $3 * interval '1 microsecond'"
                 " ORDER BY readied_at, id LIMIT $4"};

// The rest by the primary key.
const Sql kGet{"message_get",
               "SELECT id, deadline, key, value, headers, readied_at, readied_by FROM message"
               " WHERE delay_queue = $1 AND id = $2"};
const Sql kCancel{"message_cancel", "DELETE FROM message WHERE delay_queue = $1 AND id = $2 AND readied_at IS NULL"};
const Sql kMove{"message_move",
                "UPDATE message SET deadline = $3 WHERE delay_queue = $1 AND id = $2 AND readied_at IS NULL"};
const Sql kExists{"message_exists", "SELECT 1 FROM message WHERE delay_queue = $1 AND id = $2"};

std::optional<Blob> blob_of(const Bytes& bytes) {
  if (!bytes) return std::nullopt;
  return Blob{*bytes};
}

std::int64_t microseconds_of(Duration duration) { return floor<microseconds>(duration).count(); }

std::int64_t limit_of(std::size_t max) { return static_cast<std::int64_t>(std::min(max, std::size_t{INT64_MAX})); }

// Columns: id, deadline, key, value, headers.
Result<Message> read_message(const Row& row) {
  auto headers = decode_headers(row.view(4));
  if (!headers.ok()) return headers.error();
  return Message{.id = row.text(0),
                 .deadline = row.instant(1),
                 .key = row.optional_text(2),
                 .value = row.optional_text(3),
                 .headers = std::move(*headers)};
}

Result<void> check_messages(std::span<const Message> messages) {
  if (auto checked = check_batch_size(messages.size()); !checked.ok()) return checked;
  for (const Message& message : messages) {
    if (auto checked = check_message_id(message.id); !checked.ok())
      return Error{ErrorCode::kRefused, checked.error().message};
  }
  return {};
}

Params insert_params(std::string_view delay_queue, std::span<const Message> messages) {
  std::vector<std::string_view> ids;
  std::vector<Instant> deadlines;
  std::vector<std::optional<Blob>> keys;
  std::vector<std::optional<Blob>> values;
  std::vector<std::string> encoded;
  for (const Message& message : messages) {
    ids.emplace_back(message.id);
    deadlines.push_back(message.deadline);
    keys.push_back(blob_of(message.key));
    values.push_back(blob_of(message.value));
    encoded.push_back(encode_headers(message.headers));
  }
  std::vector<Blob> headers;
  for (const std::string& each : encoded) headers.push_back({each});
  return Params::of(delay_queue, ids, deadlines, keys, values, headers);
}

using ReadyingKey = std::tuple<std::string, Instant, Uuid>;

// Only texts can be in the store; the server takes no others, not even to look for them.
Params readying_params(std::string_view delay_queue, std::span<const Readying> readyings) {
  std::vector<std::string_view> ids;
  std::vector<Instant> times;
  std::vector<Uuid> nodes;
  for (const Readying& readying : readyings) {
    if (!is_text(readying.id)) continue;
    ids.emplace_back(readying.id);
    times.push_back(readying.readied_at);
    nodes.push_back(readying.readied_by);
  }
  return Params::of(delay_queue, ids, times, nodes);
}

}  // namespace

Result<std::vector<Verdict>> Messages::enqueue(std::string_view delay_queue, std::span<const Message> messages) {
  if (auto checked = check_queue_name(delay_queue); !checked.ok()) return checked.error();
  if (auto checked = check_messages(messages); !checked.ok()) return checked.error();
  if (messages.empty()) return std::vector<Verdict>();
  const Params params = insert_params(delay_queue, messages);
  return pool_.transact<std::vector<Verdict>>([&](Transaction& transaction) -> Result<std::vector<Verdict>> {
    const auto ticket = transaction.send(kInsert, params);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    std::set<std::string_view> inserted;
    for (const Row row : transaction.rows(ticket)) inserted.insert(row.view(0));
    std::vector<Verdict> verdicts;
    for (const Message& message : messages) {
      verdicts.push_back(inserted.erase(message.id) > 0 ? Verdict::kAccepted : Verdict::kRepeated);
    }
    return verdicts;
  });
}

Result<ReadyDueOutcome> Messages::ready_due(std::string_view delay_queue, const Uuid& node, Duration horizon,
                                            std::size_t max) {
  if (!check_queue_name(delay_queue).ok()) return ReadyDueOutcome{};
  const auto ahead = floor<microseconds>(horizon);
  const Params params = Params::of(delay_queue, node, microseconds_of(horizon), limit_of(max));
  return pool_.transact<ReadyDueOutcome>([&](Transaction& transaction) -> Result<ReadyDueOutcome> {
    const auto taken = transaction.send(kReady, params);
    const auto next = transaction.send(kNext, Params::of(delay_queue));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    ReadyDueOutcome outcome;
    for (const Row row : transaction.rows(taken)) {
      auto message = read_message(row);
      if (!message.ok()) return message.error();
      Readying readying{message->id, row.instant(5), node};
      const Duration due_in = distance(readying.readied_at, message->deadline);
      outcome.messages.push_back({std::move(*message), std::move(readying), due_in});
    }
    const Row moment = transaction.rows(next)[0];
    if (const auto deadline = moment.optional_instant(1)) {
      outcome.next_in = std::max(distance(moment.instant(0) + ahead, *deadline), Duration::zero());
    }
    return outcome;
  });
}

Result<std::vector<bool>> Messages::for_present(std::string_view delay_queue, std::span<const Readying> readyings,
                                                const Sql& sql) {
  if (auto checked = check_batch_size(readyings.size()); !checked.ok()) return checked.error();
  if (readyings.empty() || !check_queue_name(delay_queue).ok()) return std::vector<bool>(readyings.size(), false);
  const Params params = readying_params(delay_queue, readyings);
  return pool_.transact<std::vector<bool>>([&](Transaction& transaction) -> Result<std::vector<bool>> {
    const auto ticket = transaction.send(sql, params);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    std::set<ReadyingKey> changed;
    for (const Row row : transaction.rows(ticket)) changed.emplace(row.text(0), row.instant(1), row.uuid(2));
    std::vector<bool> present;
    for (const Readying& readying : readyings) {
      present.push_back(changed.erase({readying.id, readying.readied_at, readying.readied_by}) > 0);
    }
    return present;
  });
}

Result<std::vector<bool>> Messages::remove(std::string_view delay_queue, std::span<const Readying> fired) {
  return for_present(delay_queue, fired, kRemove);
}

Result<std::vector<bool>> Messages::reset(std::string_view delay_queue, std::span<const Readying> stuck) {
  return for_present(delay_queue, stuck, kReset);
}

Result<std::vector<Readying>> Messages::stuck(std::string_view delay_queue, Duration hold, Duration advance,
                                              std::size_t max) {
  if (!check_queue_name(delay_queue).ok()) return std::vector<Readying>();
  const Params params = Params::of(delay_queue, microseconds_of(hold), microseconds_of(advance), limit_of(max));
  return pool_.look<std::vector<Readying>>([&](Transaction& transaction) -> Result<std::vector<Readying>> {
    const auto ticket = transaction.send(kStuck, params);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    std::vector<Readying> found;
    for (const Row row : transaction.rows(ticket)) found.push_back({row.text(0), row.instant(1), row.uuid(2)});
    return found;
  });
}

Result<std::optional<StoredMessage>> Messages::get(std::string_view delay_queue, std::string_view id) {
  using Found = std::optional<StoredMessage>;
  if (!check_queue_name(delay_queue).ok() || !check_message_id(id).ok()) return Found();
  return pool_.look<Found>([&](Transaction& transaction) -> Result<Found> {
    const auto ticket = transaction.send(kGet, Params::of(delay_queue, id));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    const Rows& rows = transaction.rows(ticket);
    if (rows.empty()) return Found();
    auto message = read_message(rows[0]);
    if (!message.ok()) return message.error();
    StoredMessage stored{std::move(*message), std::nullopt};
    if (const auto readied_at = rows[0].optional_instant(5)) {
      stored.readying = Readying{stored.message.id, *readied_at, rows[0].uuid(6)};
    }
    return Found(std::move(stored));
  });
}

// The second statement sees more than the first one did: one that was gone, or ready, when the first one got to it.
Result<Verdict> Messages::change_waiting(std::string_view delay_queue, std::string_view id, const Sql& sql,
                                         const Params& params) {
  if (!check_queue_name(delay_queue).ok() || !check_message_id(id).ok()) return Verdict::kNotFound;
  return pool_.transact<Verdict>([&](Transaction& transaction) -> Result<Verdict> {
    const auto change = transaction.send(sql, params);
    const auto exists = transaction.send(kExists, Params::of(delay_queue, id));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    if (transaction.rows(change).affected() > 0) return Verdict::kAccepted;
    return transaction.rows(exists).empty() ? Verdict::kNotFound : Verdict::kWrongState;
  });
}

Result<Verdict> Messages::cancel(std::string_view delay_queue, std::string_view id) {
  return change_waiting(delay_queue, id, kCancel, Params::of(delay_queue, id));
}

Result<Verdict> Messages::move(std::string_view delay_queue, std::string_view id, Instant deadline) {
  return change_waiting(delay_queue, id, kMove, Params::of(delay_queue, id, deadline));
}

}  // namespace horae::postgres
