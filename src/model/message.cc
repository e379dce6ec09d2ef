#include "model/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "base/time_text.h"
#include "model/names.h"

namespace horae {
namespace {

Error malformed(std::string message) { return {ErrorCode::kMalformed, std::move(message)}; }

// The value of the only header called `name`.
Result<std::string_view> only_value(const std::vector<MessageHeader>& headers, std::string_view name) {
  const auto is_named = [name](const MessageHeader& header) { return header.name == name; };
  const auto found = std::ranges::find_if(headers, is_named);
  if (found == headers.end()) return malformed(fmt::format("header {} is missing", name));
  if (std::any_of(found + 1, headers.end(), is_named)) return malformed(fmt::format("header {} is there twice", name));
  if (!found->value) return malformed(fmt::format("header {} has no value", name));
  return std::string_view(*found->value);
}

}  // namespace

Result<MessageHead> read_head(const std::vector<MessageHeader>& headers, const HeaderNames& names) {
  const auto id = only_value(headers, names.id);
  if (!id.ok()) return id.error();
  if (auto checked = check_message_id(*id); !checked.ok()) {
    return malformed(fmt::format("header {}: {}", names.id, checked.error().message));
  }
  const auto text = only_value(headers, names.deadline);
  if (!text.ok()) return text.error();
  const auto deadline = parse_instant(*text, ZoneRule::kUtcWhenNotNamed);
  if (!deadline.ok()) return malformed(fmt::format("header {}: {}", names.deadline, deadline.error().message));
  return MessageHead{.id = std::string(*id), .deadline = *deadline};
}

Result<Message> message_from_record(Bytes key, Bytes value, std::vector<MessageHeader> headers,
                                    const HeaderNames& names) {
  auto head = read_head(headers, names);
  if (!head.ok()) return head.error();
  std::erase_if(headers,
                [&](const MessageHeader& header) { return header.name == names.id || header.name == names.deadline; });
  return Message{.id = std::move(head->id),
                 .deadline = head->deadline,
                 .key = std::move(key),
                 .value = std::move(value),
                 .headers = std::move(headers)};
}

std::string_view record_fault(const std::vector<MessageHeader>& headers, const HeaderNames& names) {
  const auto ids = std::ranges::count(headers, names.id, &MessageHeader::name);
  const auto deadlines = std::ranges::count(headers, names.deadline, &MessageHeader::name);
  if (ids == 0 || deadlines == 0) return "missing_header";
  return ids > 1 || deadlines > 1 ? "repeated_header" : "malformed_header";
}

Result<void> check_message_id(std::string_view id) {
  if (is_free_form_name(id, kMaxMessageIdCharacters)) return {};
  return malformed(fmt::format("message id {}: give 1 to {} characters of UTF-8 without control characters", quote(id),
                               kMaxMessageIdCharacters));
}

bool is_due(Instant deadline, Instant now, Duration advance) {
  // Whole microseconds on both sides: in nanoseconds, a distant deadline would overflow.
  return deadline - now <= std::chrono::floor<std::chrono::microseconds>(advance);
}

}  // namespace horae
