#include "api/json/fields.h"

#include <fmt/format.h>

namespace horae {

// `"type":"string"` becomes `"type":["string","null"]`; a reference becomes a choice.
std::string schema::or_null(std::string_view schema) {
  constexpr std::string_view kType = R"({"type":")";
  if (schema.starts_with(R"({"$ref")")) return fmt::format(R"({{"anyOf":[{},{{"type":"null"}}]}})", schema);
  if (!schema.starts_with(kType)) return std::string(schema);
  const std::string_view rest = schema.substr(kType.size());
  const std::size_t end = rest.find('"');
  return fmt::format(R"({{"type":["{}","null"]{})", rest.substr(0, end), rest.substr(end + 1));
}

std::string object_schema(const std::vector<Property>& properties, std::string_view more) {
  std::vector<std::string_view> required;
  for (const Property& property : properties) {
    if (property.is_required) required.push_back(property.name);
  }
  std::string json;
  JsonObject object(json);
  object.add("type", "object");
  if (!required.empty()) append_json_array(object.key("required"), required, append_json_string);
  JsonObject all(object.key("properties"));
  for (const Property& property : properties) all.add_json(property.name, property.schema);
  all.end();
  if (!more.empty()) json.append(",").append(more);
  object.end();
  return json;
}

}  // namespace horae
