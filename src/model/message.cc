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

// Takes the only header called `name` out of `headers`.
Result<std::string> take_header(std::vector<MessageHeader>& headers, std::string_view name) {
  const auto is_named = [name](const MessageHeader& header) { return header.name == name; };
  const auto found = std::ranges::find_if(headers, is_named);
  if (found == headers.end()) return malformed(fmt::format("header {} is missing", name));
  if (std::any_of(found + 1, headers.end(), is_named)) return malformed(fmt::format("header {} is there twice", name));
  if (!found->value) return malformed(fmt::format("header {} has no value", name));
  std::string value = std::move(*found->value);
  headers.erase(found);
  return value;
}

}  // namespace

Result<Message> message_from_record(Bytes key, Bytes value, std::vector<MessageHeader> headers,
                                    const HeaderNames& names) {
  auto id = take_header(headers, names.id);
  if (!id.ok()) return id.error();
  if (auto checked = check_message_id(*id); !checked.ok()) {
    return malformed(fmt::format("header {}: {}", names.id, checked.error().message));
  }
  const auto deadline_text = take_header(headers, names.deadline);
  if (!deadline_text.ok()) return deadline_text.error();
  const auto deadline = parse_instant(*deadline_text, ZoneRule::kUtcWhenNotNamed);
  if (!deadline.ok()) return malformed(fmt::format("header {}: {}", names.deadline, deadline.error().message));

  return Message{.id = std::move(*id),
                 .deadline = *deadline,
                 .key = std::move(key),
                 .value = std::move(value),
                 .headers = std::move(headers)};
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
