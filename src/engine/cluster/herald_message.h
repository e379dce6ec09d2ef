// What nodes tell each other, as text.
//
//   "horae1 8:worker-7 q4:mail q5:other a c x l h13:something new"
//
// The sender comes first; then, in any order: queues with ready tasks (q), tasks are ready anywhere (a), tasks were
// cancelled (c), a queue or the scheduler was closed or opened (x), hints were lost (l), hints (h). Numbers are those
// of bytes. Items of kinds that a node does not know are passed over, so that a newer node can say more.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace horae {

struct HeraldMessage {
  std::string from;  // the id of the node
  std::vector<std::string> ready;
  bool ready_anywhere = false;
  bool cancelled = false;
  bool control = false;
  bool hints_lost = false;
  std::vector<std::string> hints;

  friend bool operator==(const HeraldMessage&, const HeraldMessage&) = default;
};

std::string format_herald_message(const HeraldMessage& message);

// How many bytes a queue or a hint takes in a message, and how many all else takes at most.
std::size_t herald_item_bytes(std::string_view text);
std::size_t herald_frame_bytes(std::string_view from);

// Nothing if it is no such message: it may come from anywhere.
std::optional<HeraldMessage> parse_herald_message(std::string_view text);

}  // namespace horae
