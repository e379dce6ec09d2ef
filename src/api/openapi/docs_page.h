#pragma once

#include <string>
#include <string_view>

namespace horae {

// The page at /docs: reads /openapi.json and lets a person try each route. It needs nothing from elsewhere.
std::string_view docs_page();

// Its Content-Security-Policy: it runs the script and the style that are in it, by their hashes, and no other.
const std::string& docs_policy();

}  // namespace horae
