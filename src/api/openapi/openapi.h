// The OpenAPI 3.1 document, made from the route table and the schemas beside it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace horae {

struct NamedSchema {
  std::string_view name;
  std::string_view json;  // JSON Schema
};

// The shapes that routes name.
std::span<const NamedSchema> openapi_schemas();

const std::string& openapi_document();

}  // namespace horae
