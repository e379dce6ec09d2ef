#include "api/problems.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace horae {
namespace {

constexpr std::array kKinds = {
    ProblemKind{"stale_attempt", 409, "Another attempt holds the task"},
    ProblemKind{"cancelled", 409, "The task was cancelled"},
    ProblemKind{"wrong_state", 409, "The state of the task does not allow this"},
};

constexpr ProblemKind kFiring{"firing", 409, "A message with this id is being fired"};

}  // namespace

const ProblemKind& message_firing_kind() { return kFiring; }

const ProblemKind& problem_kind(Verdict verdict) {
  HORAE_CHECK(!is_success(verdict), "a success is not a problem");
  const auto* const found = std::ranges::find(kKinds, to_string(verdict), &ProblemKind::name);
  return found == kKinds.end() ? problem_kind(to_string(verdict)) : *found;
}

}  // namespace horae
