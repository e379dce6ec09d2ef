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
  // The next item is passed to the store.
  void add_taken() { rejected_.emplace_back(); }

  // The next item is not. `id` is the one that it names; empty if it names none.
  void add_rejected(Error fault, std::string id) {
    rejected_.push_back(Rejected{.fault = std::move(fault), .id = std::move(id)});
  }

  bool empty() const { return rejected_.empty(); }

  // {"outcomes":[...]}. `append(out, index)` writes the outcome of the `index`-th item passed to the store.
  template <typename Append>
  std::string json(const Append& append) const {
    std::string out;
    JsonObject object(out);
    write(object, append);
    object.end();
    return out;
  }

  // The same as a member of a larger answer.
  template <typename Append>
  void write(JsonObject& object, const Append& append) const {
    std::size_t taken = 0;
    append_json_array(object.key("outcomes"), rejected_, [&](std::string& to, const std::optional<Rejected>& rejected) {
      if (!rejected) return append(to, taken++);
      append_failed_item(to, rejected->id, problem_kind(rejected->fault.code), rejected->fault.message);
    });
  }

 private:
  struct Rejected {
    Error fault;
    std::string id;
  };

  std::vector<std::optional<Rejected>> rejected_;  // nothing for an item that was passed to the store
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
