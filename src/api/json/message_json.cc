#include "api/json/message_json.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "api/json/field_reader.h"
#include "api/json/json_writer.h"
#include "base/json_scan.h"
#include "base/quote.h"
#include "base/text/base64.h"
#include "base/utf8.h"
#include "stores/headers.h"

namespace horae {
namespace {

constexpr std::string_view kBytesAllowed = R"(give a string, {"base64":"..."} or null)";
constexpr std::string_view kHeadersAllowed =
    R"(give a list like [{"name":"value"},{"raw":{"base64":"/wA="}},{"none":null}])";

std::optional<std::string> read_text_or_base64(std::string_view json) {
  if (kind_of(json) == JsonKind::kString) return unescape_json(json);
  if (kind_of(json) != JsonKind::kObject) return std::nullopt;
  FieldReader fields(json, {"base64"});
  const auto text = fields.text("base64");
  if (fields.fault() || !text) return std::nullopt;
  return from_base64(*text);
}

Bytes read_bytes(FieldReader& fields, std::string_view name) {
  const auto json = fields.present_json(name);
  if (!json) return std::nullopt;
  auto bytes = read_text_or_base64(*json);
  if (!bytes) fields.fail(name, *json, kBytesAllowed);
  return bytes;
}

std::vector<MessageHeader> read_headers(FieldReader& fields) {
  const auto json = fields.present_json("headers");
  if (!json) return {};
  auto headers = decode_headers(*json);
  if (headers.ok()) return std::move(*headers);
  fields.fail("headers", *json, kHeadersAllowed);
  return {};
}

// One of "deadline" and "delay".
Instant read_deadline(FieldReader& fields, Instant now) {
  const auto deadline = fields.instant("deadline");
  const auto delay = fields.duration("delay");
  if (deadline.has_value() == delay.has_value()) {
    fields.fail(
        {ErrorCode::kMalformed,
         R"(give either "deadline", a time like "2026-12-01T11:09:01.123Z", or "delay", a duration like "90s")"});
    return now;
  }
  return deadline ? *deadline : now + std::chrono::floor<std::chrono::microseconds>(*delay);
}

void add_bytes(JsonObject& object, std::string_view name, const Bytes& bytes) {
  if (!bytes) return object.add_json(name, "null");
  if (is_text(*bytes)) return object.add(name, *bytes);
  JsonObject inner(object.key(name));
  inner.add("base64", to_base64(*bytes));
  inner.end();
}

std::string_view name_of(MessageState state) { return state == MessageState::kWaiting ? "waiting" : "ready"; }

template <typename Status>
void add_end(JsonObject& object, std::string_view name, const Status& status) {
  JsonObject end(object.key(name));
  end.add("connected", status.is_connected);
  if (status.problem.empty()) {
    end.add_json("problem", "null");
  } else {
    end.add("problem", status.problem);
  }
  if constexpr (requires { status.partitions; }) {
    end.add("partitions", status.partitions);
    end.add("lag", status.lag);
  }
  end.end();
}

void add_counts(JsonObject& object, const std::optional<MessageCounts>& counts) {
  if (!counts) return object.add_json("counts", "null");
  JsonObject inner(object.key("counts"));
  inner.add("waiting", counts->waiting);
  inner.add("ready", counts->ready);
  inner.add("overdue", counts->overdue);
  inner.add("oldest_overdue", counts->oldest_overdue);
  inner.add("more", counts->more);
  inner.add("as_of", counts->now);
  inner.end();
}

void add_totals(JsonObject& object, const RelayStatus& status) {
  JsonObject totals(object.key("totals"));
  totals.add("enqueued", status.enqueued);
  totals.add("repeated", status.repeated);
  totals.add("late", status.late);
  totals.add("fired", status.fired);
  totals.add("failed", status.failed);
  totals.add("dead_lettered", status.dead_lettered);
  totals.add("suspected_failures", status.suspected);
  totals.add("rows_gone", status.gone);
  append_json_array(totals.key("bad"), status.bad, [](std::string& out, const auto& bad) {
    JsonObject item(out);
    item.add("reason", bad.first);
    item.add("records", bad.second);
    item.end();
  });
  totals.end();
}

}  // namespace

Result<Message> read_new_message(std::string_view json, Instant now, std::string new_id) {
  FieldReader fields(json, {"id", "deadline", "delay", "key", "value", "headers"});
  Message message{.id = fields.text("id").value_or(std::move(new_id)), .deadline = read_deadline(fields, now)};
  message.key = read_bytes(fields, "key");
  message.value = read_bytes(fields, "value");
  message.headers = read_headers(fields);
  if (fields.fault()) return *fields.fault();
  if (auto checked = check_message_id(message.id); !checked.ok()) return checked.error();
  return message;
}

std::string message_id_in(std::string_view json) {
  if (kind_of(json) != JsonKind::kObject) return {};
  FieldReader fields(json, {"id"}, {}, FieldReader::Unknown::kIgnored);
  return fields.text("id").value_or("");
}

Result<Instant> read_message_change(std::string_view json, Instant now) {
  FieldReader fields(json, {"deadline", "delay"});
  const Instant deadline = read_deadline(fields, now);
  if (fields.fault()) return *fields.fault();
  return deadline;
}

std::string cursor_of(const MessagePosition& position) {
  return fmt::format("{}:{}", position.due.time_since_epoch().count(), position.id);
}

Result<MessagePosition> read_message_cursor(std::string_view text) {
  std::int64_t due = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), due);
  if (failure != std::errc() || end == text.data() + text.size() || *end != ':') {
    return Error{ErrorCode::kMalformed,
                 fmt::format("cursor {}: is not one of this list; begin again without a cursor", quote(text))};
  }
  return MessagePosition{Instant(std::chrono::microseconds(due)), std::string(end + 1, text.data() + text.size())};
}

void append_message(std::string& out, const StoredMessage& stored) {
  const Message& message = stored.message;
  JsonObject object(out);
  object.add("id", message.id);
  object.add("state", name_of(stored.state()));
  object.add("deadline", message.deadline);
  object.add("due", stored.due);
  add_bytes(object, "key", message.key);
  add_bytes(object, "value", message.value);
  object.add_json("headers", encode_headers(message.headers));
  object.add("readied_at", stored.readying ? std::optional(stored.readying->readied_at) : std::nullopt);
  object.add("readied_by", stored.readying ? std::optional(stored.readying->readied_by) : std::nullopt);
  if (stored.place) {
    object.add("partition", stored.place->partition);
    object.add("offset", stored.place->offset);
  }
  object.end();
}

void append_message_page(std::string& out, const MessagePage& page) {
  JsonObject object(out);
  append_json_array(object.key("messages"), page.messages, append_message);
  object.add("next", page.next ? std::optional(cursor_of(*page.next)) : std::nullopt);
  object.end();
}

void append_delay_queue(std::string& out, const RelayStatus& status) {
  JsonObject object(out);
  object.add("name", status.queue);
  add_counts(object, status.counts);
  object.add("node", status.node);
  add_totals(object, status);
  object.add("fired_per_second", status.fired_per_second);
  object.add("lateness_p50", status.lateness_p50);
  object.add("lateness_p99", status.lateness_p99);
  object.add("lateness_p999", status.lateness_p999);
  object.add("publish_p50", status.publish_p50);
  object.add("publish_p99", status.publish_p99);
  object.add("timing_advance", status.advance);
  object.add("held", status.held);
  object.add("pending", status.pending);
  object.add("behind", status.is_behind);
  object.add("stalled", status.is_stalled);
  object.add("clock_offset", status.clock_offset);
  if (status.source) {
    add_end(object, "input", *status.source);
  } else {
    object.add_json("input", "null");
  }
  add_end(object, "output", status.output);
  if (status.dead_letters) {
    add_end(object, "dead_letters", *status.dead_letters);
  } else {
    object.add_json("dead_letters", "null");
  }
  object.end();
}

}  // namespace horae
