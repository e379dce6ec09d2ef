#pragma once

#include <string_view>

namespace horae {

// The page at /docs: reads /openapi.json and lets a person try each route. It needs nothing from elsewhere.
std::string_view docs_page();

}  // namespace horae
