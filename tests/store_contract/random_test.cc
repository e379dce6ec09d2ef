// Random operations on the store under test and on the model. RapidCheck prints its seed, shrinks what fails, and
// repeats it with RC_PARAMS="seed=...".

#include <cstdlib>

#include "tests/store_contract/twin.h"

namespace horae::testing {
namespace {

constexpr std::size_t kStepsBetweenComparisons = 20;

// The same steps in every run, so that a failure is the fault of a change. `make soak` looks for new ones.
[[maybe_unused]] const int kSeeded = setenv("RC_PARAMS", "seed=20261116", 0);

bool agree_step_by_step(const BackendMaker& maker, const rc::Gen<Step>& any_step) {
  return rc::check("the store and the model agree step by step", [&] {
    const auto steps = *rc::gen::scale(2.0, rc::gen::container<std::vector<Step>>(any_step));
    Twin twin(maker.make_quick());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      twin.apply(steps[i]);
      if (i % kStepsBetweenComparisons == 0) twin.compare_all();
    }
    twin.compare_all();
  });
}

TEST_P(RandomOperations, OnTasksAgreeWithTheModel) {
  EXPECT_TRUE(agree_step_by_step(GetParam(), any_step_with_tasks()));
}

TEST_P(RandomOperations, OnMessagesAgreeWithTheModel) {
  EXPECT_TRUE(agree_step_by_step(GetParam(), any_step_with_messages()));
}

}  // namespace
}  // namespace horae::testing
