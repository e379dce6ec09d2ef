// The messages between nodes, as text.
//
//   "horae1 8:worker-7 q4:mail q5:other a c x l e13:something new"
//
// The sender comes first; then, in any order: queues with ready tasks (q), tasks are ready in any queue (a), tasks were
// cancelled (c), owners of running tasks that were cancelled (w), a queue or the scheduler was stopped or started (x), events were lost (l), events (e). Numbers count
// bytes. Items of unknown kinds are skipped, so that a newer node can send more.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wake_ups.h"

namespace horae {

struct PeerMessage {
  std::string from;  // the id of the node
  WakeUps wake_ups;  // without counts and `scheduled`
  bool events_lost = false;
  std::vector<std::string> events;

  friend bool operator==(const PeerMessage&, const PeerMessage&) = default;
};

std::string format_peer_message(const PeerMessage& message);

// How many bytes a queue, an owner or an event takes in a message, and how many everything else takes at most.
std::size_t peer_item_bytes(std::string_view text);
std::size_t peer_frame_bytes(std::string_view from);

// Nothing for text of another form: anyone who may connect to the database can send it.
std::optional<PeerMessage> parse_peer_message(std::string_view text);

}  // namespace horae
