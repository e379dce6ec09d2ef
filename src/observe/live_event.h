// What readers of /v1/events see, and how it travels between nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/state.h"
#include "model/task.h"
#include "store/change.h"

namespace horae {

// A task came into a state, as this node or another one observed it. That a scheduled task became due is not among
// them: only the store knows which tasks those were.
struct LiveEvent {
  TaskId task = {};
  State state = State::kReady;
  std::string queue = {};  // empty if unknown
  Change::Kind kind = Change::Kind::kTask;

  friend bool operator==(const LiveEvent&, const LiveEvent&) = default;
};

// Whether readers are interested: other changes are no events.
bool is_live_event(const Change& change);

// Of such a change, without allocating where the event has room for the name of the queue.
void assign(LiveEvent& event, const Change& change);

// "2 0190f7c2-0a1b-7c3d-8e4f-0123456789ab mail"
std::string format_event(const LiveEvent& event);

// Nothing for any other text: a newer version may send what this one does not understand.
std::optional<LiveEvent> parse_event(std::string_view text);

}  // namespace horae
