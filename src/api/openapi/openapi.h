// The OpenAPI 3.1 document, generated from the route table and the schemas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace horae {

struct NamedSchema {
  std::string_view name;
  std::string json;  // JSON Schema
};

// The schemas that routes refer to.
const std::vector<NamedSchema>& openapi_schemas();

const std::string& openapi_document();

}  // namespace horae
