// One outcome for each item of a batch, in order, also for items that could not be parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/json/json_writer.h"
#include "api/json/task_json.h"
#include "base/result.h"

namespace horae {

// Not thread-safe.
class BatchAnswer {
 public:
  // The next item: why it was rejected, or nothing if it is passed to the store.
  void add(std::optional<Error> fault) { faults_.push_back(std::move(fault)); }

  // {"outcomes":[...]}. `append(out, index)` writes the outcome of the `index`-th item passed to the store.
  template <typename Append>
  std::string json(const Append& append) const {
    std::string out;
    JsonObject object(out);
    std::size_t taken = 0;
    append_json_array(object.key("outcomes"), faults_, [&](std::string& to, const std::optional<Error>& fault) {
      if (fault) return append_failed_item(to, "", problem_kind(fault->code), fault->message);
      append(to, taken++);
    });
    object.end();
    return out;
  }

 private:
  std::vector<std::optional<Error>> faults_;
};

// The failure of a batch as a whole: all items failed with the same retryable error. It becomes the answer to the
// batch, so that a client need not read the outcomes to see that the store is unavailable.
template <typename Outcome>
std::optional<Error> common_failure(const std::vector<Result<Outcome>>& outcomes) {
  if (outcomes.empty() || outcomes.front().ok() || !outcomes.front().error().retryable()) return std::nullopt;
  const Error& first = outcomes.front().error();
  for (const auto& outcome : outcomes) {
    if (outcome.ok() || outcome.error().code != first.code) return std::nullopt;
  }
  return first;
}

}  // namespace horae
