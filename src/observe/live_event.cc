#include "observe/live_event.h"

#include <fmt/format.h>

#include "base/uuid.h"

namespace horae {
namespace {

constexpr std::size_t kIdAt = 2;
constexpr std::size_t kIdLength = 36;
constexpr std::size_t kQueueAt = kIdAt + kIdLength + 1;
constexpr int kStates = 6;

}  // namespace

bool is_live_event(const Change& change) {
  return change.kind == Change::Kind::kTask && change.is_new && change.state.has_value();
}

void assign(LiveEvent& event, const Change& change) {
  event.kind = change.kind;
  event.task = change.task;
  event.state = *change.state;
  event.queue = change.queue;
}

std::string format_event(const LiveEvent& event) {
  return fmt::format("{} {} {}", static_cast<int>(event.state), to_string(event.task), event.queue);
}

std::optional<LiveEvent> parse_event(std::string_view text) {
  if (text.size() < kQueueAt || text[1] != ' ' || text[kQueueAt - 1] != ' ') return std::nullopt;
  const int state = text[0] - '0';
  const auto task = parse_uuid(text.substr(kIdAt, kIdLength));
  if (state < 0 || state >= kStates || !task.ok()) return std::nullopt;
  return LiveEvent{.task = *task, .state = static_cast<State>(state), .queue = std::string(text.substr(kQueueAt))};
}

}  // namespace horae
