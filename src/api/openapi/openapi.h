// The OpenAPI 3.1 document, made from the route table and the schemas beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace horae {

struct NamedSchema {
  std::string_view name;
  std::string json;  // JSON Schema
};

// The shapes that routes name.
const std::vector<NamedSchema>& openapi_schemas();

const std::string& openapi_document();

}  // namespace horae
