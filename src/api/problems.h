// The problems that only a scheduler has, beside those of http/problem.h.
#pragma once

#include "http/problem.h"
#include "model/settle.h"

namespace horae {

// The kind of a refused settlement or cancel. The verdict is no success.
const ProblemKind& problem_kind(Verdict verdict);

}  // namespace horae
