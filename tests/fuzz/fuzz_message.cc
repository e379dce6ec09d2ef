// Laws of message_from_record() for any headers. Each line of the input is a header, "name=value"; without "=" its value
// is null.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time_text.h"
#include "laws.h"
#include "model/message.h"

namespace horae {
namespace {

std::vector<MessageHeader> headers_of(std::string_view text) {
  std::vector<MessageHeader> headers;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    MessageHeader header{std::string(line.substr(0, equals)), std::nullopt};
    if (equals != std::string_view::npos) header.value = line.substr(equals + 1);
    headers.push_back(std::move(header));
  }
  return headers;
}

void require_laws_of_reading(const Message& message, const std::vector<MessageHeader>& headers) {
  HORAE_CHECK(check_message_id(message.id).ok(), "the id is one");
  HORAE_CHECK(parse_instant(format_instant(message.deadline)).value() == message.deadline, "the deadline can be written");
  std::vector<MessageHeader> others;
  for (const MessageHeader& header : headers) {
    if (header.name != kMessageIdHeader && header.name != kDeadlineHeader) others.push_back(header);
  }
  HORAE_CHECK(message.headers == others, "all other headers stay, in their order");
  HORAE_CHECK(others.size() + 2 == headers.size(), "each of the two is there once");
  HORAE_CHECK(message.key == "key" && message.value == std::nullopt, "key and value stay");
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto headers = horae::headers_of({reinterpret_cast<const char*>(data), size});
  const auto message = horae::message_from_record("key", std::nullopt, headers);
  if (message.ok()) {
    horae::require_laws_of_reading(*message, headers);
  } else {
    horae::require_good_refusal(message.error());
    HORAE_CHECK(horae::record_fault(headers).ends_with("_header"), "every refusal has a class");
  }
  // By other names.
  const horae::HeaderNames names{.id = "i", .deadline = "d"};
  const auto other = horae::message_from_record("key", std::nullopt, headers, names);
  if (!other.ok()) horae::require_good_refusal(other.error());
  return 0;
}
