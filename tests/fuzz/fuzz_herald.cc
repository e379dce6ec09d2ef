// Laws of what nodes tell each other, for any bytes: whoever may connect to the database can send such a message.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/event_stream.h"
#include "base/clock.h"
#include "base/json_scan.h"
#include "engine/cluster/herald_message.h"
#include "http/uri.h"
#include "laws.h"
#include "observe/hint_text.h"

namespace horae {
namespace {

// What a client of the node hears of it is as it is with a good hint.
void require_laws_of_events(const Hint& hint) {
  EventRing ring(4);
  const SystemClock clock;
  EventStream stream(ring, clock, "worker-7", {}, 0);
  ring.add(std::span(&hint, 1));
  const std::string piece = stream.next();
  for (const std::string_view line : split(piece, '\n')) {
    HORAE_CHECK(line.empty() || line.starts_with("id: ") || line.starts_with("event: ") || line.starts_with("data: ") ||
                    line.starts_with(":") || line.starts_with("retry: "),
                "a stream has lines of these kinds only");
    if (line.starts_with("data: ")) HORAE_CHECK(scan_json(line.substr(6)).ok(), "the data of an event is JSON");
  }
}

void require_laws_of_hints(std::string_view text) {
  const auto hint = parse_hint(text);
  if (!hint) return;
  const auto again = parse_hint(format_hint(*hint));
  HORAE_CHECK(again && *again == *hint, "a hint reads back to the same");
  require_laws_of_events(*hint);
}

void require_laws_of_messages(std::string_view text) {
  const auto message = parse_herald_message(text);
  if (!message) return;
  const std::string written = format_herald_message(*message);
  HORAE_CHECK(parse_herald_message(written) == message, "a message reads back to the same");
  std::size_t bytes = herald_frame_bytes(message->from);
  for (const std::string& queue : message->ready) bytes += herald_item_bytes(queue);
  for (const std::string& hint : message->hints) bytes += herald_item_bytes(hint);
  HORAE_CHECK(written.size() <= bytes, "a message is no longer than was reckoned");
  for (const std::string& hint : message->hints) require_laws_of_hints(hint);
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  horae::require_laws_of_messages(text);
  horae::require_laws_of_hints(text);
  return 0;
}
