#include "api/json/fields.h"

namespace horae {

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
