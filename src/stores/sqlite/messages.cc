#include "stores/sqlite/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time_text.h"
#include "model/task.h"
#include "store/batches.h"
#include "store/submission.h"
#include "stores/headers.h"
#include "stores/upkeep_parts.h"

namespace horae::sqlite {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;

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

Result<void> check_messages(std::span<const Message> messages) {
  if (auto checked = check_batch_size(messages.size()); !checked.ok()) return checked;
  for (const Message& message : messages) {
    if (auto checked = check_message_id(message.id); !checked.ok())
      return Error{ErrorCode::kRefused, checked.error().message};
  }
  return {};
}

}  // namespace

Messages::Messages(Writer& writer)
    : writer_(writer),
      insert_(
          writer.database(),
          "INSERT OR IGNORE INTO message (delay_queue, id, deadline, key, value, headers) VALUES (?, ?, ?, ?, ?, ?)"),
      // In the order of message_waiting.
      due_(writer.database(),
           "SELECT id, deadline, key, value, headers FROM message WHERE readied_at IS NULL AND delay_queue = ? AND "
           "deadline <= ?"
           " ORDER BY deadline, id LIMIT ?"),
      ready_(
          writer.database(),
          "UPDATE message SET readied_at = ?, readied_by = ? WHERE delay_queue = ? AND id = ? AND readied_at IS NULL"),
      next_(writer.database(), "SELECT min(deadline) FROM message WHERE readied_at IS NULL AND delay_queue = ?"),
      remove_(writer.database(),
              "DELETE FROM message WHERE delay_queue = ? AND id = ? AND readied_at = ? AND readied_by = ?"),
      // By message_ready; held since the later of readying and deadline - advance.
      stuck_(writer.database(),
             "SELECT id, readied_at, readied_by FROM message WHERE readied_at IS NOT NULL AND delay_queue = ?1 AND "
             "readied_at < ?2"
             " AND deadline - ?3 < ?2 ORDER BY readied_at, id LIMIT ?4"),
      reset_(writer.database(),
             "UPDATE message SET readied_at = NULL, readied_by = NULL"
             " WHERE delay_queue = ? AND id = ? AND readied_at = ? AND readied_by = ?"),
      get_(writer.database(),
           "SELECT id, deadline, key, value, headers, readied_at, readied_by FROM message WHERE delay_queue = ? AND id "
           "= ?"),
      cancel_(writer.database(), "DELETE FROM message WHERE delay_queue = ? AND id = ? AND readied_at IS NULL"),
      move_(writer.database(),
            "UPDATE message SET deadline = ?3 WHERE delay_queue = ?1 AND id = ?2 AND readied_at IS NULL"),
      exists_(writer.database(), "SELECT 1 FROM message WHERE delay_queue = ? AND id = ?") {}

Result<std::vector<Verdict>> Messages::enqueue(std::string_view delay_queue, std::span<const Message> messages) {
  if (auto checked = check_queue_name(delay_queue); !checked.ok()) return checked.error();
  if (auto checked = check_messages(messages); !checked.ok()) return checked.error();
  return writer_.transact<std::vector<Verdict>>([&](Change&) {
    std::vector<Verdict> verdicts;
    for (const Message& message : messages) {
      const std::string headers = encode_headers(message.headers);
      const int inserted = insert_.run_any(delay_queue, message.id, message.deadline, blob_of(message.key),
                                           blob_of(message.value), Blob{headers});
      if (inserted == 0 && !exists(delay_queue, message.id)) insert_.expect_one(inserted);
      verdicts.push_back(inserted > 0 ? Verdict::kAccepted : Verdict::kRepeated);
    }
    return verdicts;
  });
}

Result<ReadyDueOutcome> Messages::ready_due(std::string_view delay_queue, const Uuid& node, Duration horizon,
                                            std::size_t max) {
  const auto ahead = floor<microseconds>(horizon);
  return writer_.transact<ReadyDueOutcome>([&](Change& change) {
    ReadyDueOutcome outcome;
    due_.start(delay_queue, change.now() + ahead, max);
    while (due_.next()) {
      Message message = read_message(writer_.database(), due_);
      const Duration due_in = distance(change.now(), message.deadline);
      Readying readying{message.id, change.now(), node};
      outcome.messages.push_back({std::move(message), std::move(readying), due_in});
    }
    for (const ReadiedMessage& readied : outcome.messages)
      ready_.run(change.now(), node, delay_queue, readied.message.id);

    if (next_.start(delay_queue).next() && !next_.is_null(0)) {
      outcome.next_in = std::max(distance(change.now() + ahead, next_.instant(0)), Duration::zero());
    }
    next_.finish();
    return outcome;
  });
}

Result<std::vector<bool>> Messages::for_present(std::string_view delay_queue, std::span<const Readying> readyings,
                                                Statement& statement) {
  if (auto checked = check_batch_size(readyings.size()); !checked.ok()) return checked.error();
  return writer_.transact<std::vector<bool>>([&](Change&) {
    std::vector<bool> present;
    for (const Readying& readying : readyings) {
      present.push_back(statement.run_any(delay_queue, readying.id, readying.readied_at, readying.readied_by) > 0);
    }
    return present;
  });
}

Result<std::vector<bool>> Messages::remove(std::string_view delay_queue, std::span<const Readying> fired) {
  return for_present(delay_queue, fired, remove_);
}

Result<std::vector<Readying>> Messages::stuck(std::string_view delay_queue, Duration hold, Duration advance,
                                              std::size_t max) {
  return writer_.transact<std::vector<Readying>>([&](Change& change) {
    std::vector<Readying> found;
    stuck_.start(delay_queue, change.now() - floor<microseconds>(hold),
                 std::int64_t{floor<microseconds>(advance).count()}, max);
    while (stuck_.next()) found.push_back({stuck_.text(0), stuck_.instant(1), stuck_.uuid(2)});
    return found;
  });
}

Result<std::vector<bool>> Messages::reset(std::string_view delay_queue, std::span<const Readying> stuck) {
  return for_present(delay_queue, stuck, reset_);
}

Result<std::optional<StoredMessage>> Messages::get(std::string_view delay_queue, std::string_view id) {
  return writer_.transact<std::optional<StoredMessage>>([&](Change&) {
    std::optional<StoredMessage> found;
    if (get_.start(delay_queue, id).next()) {
      found = StoredMessage{read_message(writer_.database(), get_), std::nullopt};
      if (!get_.is_null(5)) found->readying = Readying{found->message.id, get_.instant(5), get_.uuid(6)};
    }
    get_.finish();
    return found;
  });
}

bool Messages::exists(std::string_view delay_queue, std::string_view id) {
  const bool is_there = exists_.start(delay_queue, id).next();
  exists_.finish();
  return is_there;
}

template <typename... Values>
Result<Verdict> Messages::change_waiting(std::string_view delay_queue, std::string_view id, Statement& statement,
                                         const Values&... values) {
  return writer_.transact<Verdict>([&](Change&) {
    if (statement.run_any(delay_queue, id, values...) > 0) return Verdict::kAccepted;
    return exists(delay_queue, id) ? Verdict::kWrongState : Verdict::kNotFound;
  });
}

Result<Verdict> Messages::cancel(std::string_view delay_queue, std::string_view id) {
  return change_waiting(delay_queue, id, cancel_);
}

Result<Verdict> Messages::move(std::string_view delay_queue, std::string_view id, Instant deadline) {
  return change_waiting(delay_queue, id, move_, deadline);
}

}  // namespace horae::sqlite
