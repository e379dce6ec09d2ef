// The commands that a page of docs/ shows, so that tests can run them as they are printed.
#pragma once

#include <string>
#include <vector>

namespace horae::testing {

// The blocks of a page ("start/quickstart.md") in one language ("sh"), in order.
std::vector<std::string> blocks_of(const std::string& page, const std::string& language);

}  // namespace horae::testing
