// Which queues somebody may see and use.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace horae {

inline constexpr std::size_t kMaxPatterns = 16;

// Patterns over names of queues, in which * stands for any characters, also none: "mail", "mail.*", "*".
class QueueScope {
 public:
  // kRefused for none, too many, or a pattern that is longer than a name or has characters that no name has. The error
  // names the pattern.
  static Result<QueueScope> of(std::vector<std::string> patterns);

  bool allows(std::string_view queue) const;
  bool allows_all() const;  // one of the patterns is * alone

  const std::vector<std::string>& patterns() const { return patterns_; }

  friend bool operator==(const QueueScope&, const QueueScope&) = default;

 private:
  explicit QueueScope(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  std::vector<std::string> patterns_;
};

// As it goes along with a wish: nothing means all queues. What lies outside a scope does not exist for its holder.
using Scope = std::shared_ptr<const QueueScope>;

inline bool allows(const Scope& scope, std::string_view queue) { return scope == nullptr || scope->allows(queue); }

}  // namespace horae
