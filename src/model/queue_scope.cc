#include "model/queue_scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "model/task.h"

namespace horae {
namespace {

constexpr char kAny = '*';

Error refused(std::string message) { return {ErrorCode::kRefused, std::move(message)}; }

Result<void> check_pattern(std::string_view pattern) {
  std::string name(pattern);
  std::ranges::replace(name, kAny, '.');
  if (check_queue_name(name).ok()) return {};
  return refused(fmt::format("queue pattern {}: give 1 to {} letters, digits, '.', '_', '-' or '*'", quote(pattern),
                             kMaxQueueNameLength));
}

// Takes each piece between two stars where it first occurs: what follows a star has the most room then, so no choice is
// ever taken back.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t first = pattern.find(kAny);
  if (first == std::string_view::npos) return pattern == name;
  const std::string_view begin = pattern.substr(0, first);
  const std::size_t last = pattern.rfind(kAny);
  const std::string_view end = pattern.substr(last + 1);
  if (name.size() < begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end)) return false;
  name.remove_prefix(begin.size());
  name.remove_suffix(end.size());
  for (std::size_t star = first; star != last;) {
    const std::size_t next = pattern.find(kAny, star + 1);
    const std::string_view piece = pattern.substr(star + 1, next - star - 1);
    const std::size_t found = name.find(piece);
    if (found == std::string_view::npos) return false;
    name.remove_prefix(found + piece.size());
    star = next;
  }
  return true;
}

}  // namespace

Result<QueueScope> QueueScope::of(std::vector<std::string> patterns) {
  if (patterns.empty() || patterns.size() > kMaxPatterns) {
    return refused(fmt::format("queue patterns: {} of them, give 1 to {}", patterns.size(), kMaxPatterns));
  }
  for (const std::string& pattern : patterns) {
    if (auto checked = check_pattern(pattern); !checked.ok()) return checked.error();
  }
  return QueueScope(std::move(patterns));
}

bool QueueScope::allows(std::string_view queue) const {
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) { return matches(pattern, queue); });
}

bool QueueScope::allows_all() const {
  return std::ranges::any_of(
      patterns_, [](const std::string& pattern) { return pattern.find_first_not_of(kAny) == std::string::npos; });
}

}  // namespace horae
