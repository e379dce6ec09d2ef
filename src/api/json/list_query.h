// Parses the query parameters of a list of tasks.
#pragma once

#include <vector>

#include "api/route.h"
#include "base/result.h"
#include "store/list.h"

namespace horae {

// The parameters, for the route table.
const std::vector<Parameter>& list_parameters();

// kMalformed for a value that cannot be parsed, kRefused for one that check_list_query() does not allow.
Result<ListQuery> read_list_query(const Call& call);

}  // namespace horae
