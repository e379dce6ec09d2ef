// Laws of messages between nodes, for any bytes: anyone who may connect to the database can send such a message.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/event_stream.h"
#include "base/clock.h"
#include "base/json_scan.h"
#include "engine/cluster/peer_message.h"
#include "http/uri.h"
#include "laws.h"
#include "observe/live_event.h"

namespace horae {
namespace {

// A client of the node gets a well-formed stream, whatever the event says.
void require_laws_of_events(const LiveEvent& event) {
  EventRing ring(4);
  const SystemClock clock;
  EventStream stream(ring, clock, "worker-7", {}, 0);
  ring.add(std::span(&event, 1));
  const std::string piece = stream.next();
  for (const std::string_view line : split(piece, '\n')) {
    HORAE_CHECK(line.empty() || line.starts_with("id: ") || line.starts_with("event: ") || line.starts_with("data: ") ||
                    line.starts_with(":") || line.starts_with("retry: "),
                "a stream has lines of these kinds only");
    if (line.starts_with("data: ")) HORAE_CHECK(scan_json(line.substr(6)).ok(), "the data of an event is JSON");
  }
}

void require_laws_of_event_text(std::string_view text) {
  const auto event = parse_event(text);
  if (!event) return;
  const auto again = parse_event(format_event(*event));
  HORAE_CHECK(again && *again == *event, "an event reads back to the same");
  require_laws_of_events(*event);
}

void require_laws_of_messages(std::string_view text) {
  const auto message = parse_peer_message(text);
  if (!message) return;
  const std::string written = format_peer_message(*message);
  HORAE_CHECK(parse_peer_message(written) == message, "a message reads back to the same");
  std::size_t bytes = peer_frame_bytes(message->from);
  for (const std::string& queue : message->wake_ups.ready) bytes += peer_item_bytes(queue);
  for (const std::string& event : message->events) bytes += peer_item_bytes(event);
  HORAE_CHECK(written.size() <= bytes, "a message is no longer than was calculated");
  for (const std::string& event : message->events) require_laws_of_event_text(event);
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  horae::require_laws_of_messages(text);
  horae::require_laws_of_event_text(text);
  return 0;
}
