// The commands in a page of docs/, so that tests can run them as printed.
#pragma once

#include <string>
#include <vector>

namespace horae::testing {

// The code blocks of a page ("start/quickstart.md") in one language ("sh"), in order.
std::vector<std::string> blocks_of(const std::string& page, const std::string& language);

}  // namespace horae::testing
