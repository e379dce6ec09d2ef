// What to list, from the query of a request.
#pragma once

#include <vector>

#include "api/route.h"
#include "base/result.h"
#include "store/list.h"

namespace horae {

// The parts of the query that a list of tasks knows.
const std::vector<Parameter>& list_parameters();

// kMalformed for what cannot be read, kRefused for what check_list_query() does not allow.
Result<ListQuery> read_list_query(const Call& call);

}  // namespace horae
