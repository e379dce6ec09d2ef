// Between effect_of() and the ranges: the facts of a range, and what an effect makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/effect.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/layout/trail.h"

namespace horae::postgres {

// The facts of each task of a running range, but the retry policy and the progress, which it does not hold.
TaskFacts facts_of(const RunningRange& lease);

// What the range keeps after the effect; `owner` held the attempt that it ended, if any.
Life life_after(const Life& life, const Effect& effect, const std::string& owner);

// A range of finished tasks that was running until now, without results.
FinishedRange finished_after(const RunningRange& lease, const Effect& effect, const std::vector<TaskError>& brought);

// Notes what the effect on a task of the range adds to its history, or takes out. `brought`: the errors of an abort.
void note_effect(Trail& trail, std::int64_t number, const RunningRange& lease, const Effect& effect,
                 const std::vector<TaskError>& brought);

}  // namespace horae::postgres
