// Problem kinds of tasks, in addition to the general ones in http/problem.h.
#pragma once

#include "http/problem.h"
#include "model/settle.h"

namespace horae {

// The kind for a refused settlement or cancel. Requires that the verdict is not a success.
const ProblemKind& problem_kind(Verdict verdict);

// For a message that cannot be put because one with its id is being fired.
const ProblemKind& message_firing_kind();

}  // namespace horae
