// Which queues a caller may see and use.
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

// Patterns over names of queues, in which * matches any characters, or none: "mail", "mail.*", "*".
class QueueScope {
 public:
  // kRefused if there are no patterns or too many, or if one is longer than a queue name or has characters that queue
  // names do not have. The error names the pattern.
  static Result<QueueScope> of(std::vector<std::string> patterns);

  bool allows(std::string_view queue) const;
  bool allows_all() const;  // one of the patterns is * alone

  const std::vector<std::string>& patterns() const { return patterns_; }

  friend bool operator==(const QueueScope&, const QueueScope&) = default;

 private:
  explicit QueueScope(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  std::vector<std::string> patterns_;
};

// The scope of the caller of a request; null allows all queues. A task outside the scope is reported as not found.
using Scope = std::shared_ptr<const QueueScope>;

inline bool allows(const Scope& scope, std::string_view queue) { return scope == nullptr || scope->allows(queue); }

}  // namespace horae
