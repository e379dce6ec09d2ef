#include "observe/hint_text.h"

#include <fmt/format.h>

#include "base/uuid.h"

namespace horae {
namespace {

constexpr std::size_t kIdAt = 2;
constexpr std::size_t kIdLength = 36;
constexpr std::size_t kQueueAt = kIdAt + kIdLength + 1;
constexpr int kStates = 6;

}  // namespace

std::string format_hint(const Hint& hint) {
  return fmt::format("{} {} {}", static_cast<int>(hint.state), to_string(hint.task), hint.queue);
}

std::optional<Hint> parse_hint(std::string_view text) {
  if (text.size() < kQueueAt || text[1] != ' ' || text[kQueueAt - 1] != ' ') return std::nullopt;
  const int state = text[0] - '0';
  const auto task = parse_uuid(text.substr(kIdAt, kIdLength));
  if (state < 0 || state >= kStates || !task.ok()) return std::nullopt;
  return Hint{.task = *task, .state = static_cast<State>(state), .queue = std::string(text.substr(kQueueAt))};
}

}  // namespace horae
