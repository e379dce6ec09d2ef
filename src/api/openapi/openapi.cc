#include "api/openapi/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "api/json/fields.h"
#include "api/json/json_writer.h"
#include "api/route.h"
#include "base/version.h"

namespace horae {
namespace {

constexpr std::string_view kAbout =
    "A persistent, distributed task scheduler. Errors are problem details (RFC 9457); decide by `type`. In addition to "
    "the statuses of each route, a request that is not HTTP, too slow or too large gets 400, 408, 413, 414 or 431, one "
    "from a page of another site 403, and a bug 500. In "
    "bodies, null stands for an optional field that is left out. Times are RFC 3339; durations are text such as 5s, "
    "10ms or 1h30m.";

std::string reference(std::string_view schema) {
  return fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", schema);
}

std::string content(std::string_view type, std::string_view schema) {
  return fmt::format(R"({{"{}":{{"schema":{}}}}})", type, schema);
}

bool is_content_type(std::string_view shape) { return shape.find('/') != std::string_view::npos; }

std::string content_of(const Answer& answer) {
  if (is_content_type(answer.shape)) return content(answer.shape, "{}");
  if (!answer.shape.empty()) return content(kJsonType, reference(answer.shape));
  return content(kProblemType, reference("Problem"));
}

void append_responses(std::string& out, const Route& route) {
  JsonObject object(out);
  for (const Answer& answer : documented_answers(route)) {
    JsonObject response(object.key(std::to_string(answer.status)));
    response.add("description", answer.description);
    if (answer.status != 204) response.add_json("content", content_of(answer));
    response.end();
  }
  object.end();
}

struct Place {
  std::string_view in;
  std::string name;
  std::string_view schema;
  std::string_view description;
};

std::string_view schema_in_path(std::string_view name) {
  if (name == "id") return schema::kUuid;
  if (name == "queue" || name == "schedule") return schema::kQueueName;
  if (name == "key") return schema::kName;
  return schema::kText;
}

// {id} and the like.
std::vector<Place> places_in_path(std::string_view pattern) {
  std::vector<Place> places;
  for (std::size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at + 1)) {
    const std::string name(pattern.substr(at + 1, pattern.find('}', at) - at - 1));
    places.push_back({"path", name, schema_in_path(name), ""});
  }
  return places;
}

void append_parameters(std::string& out, const Route& route) {
  std::vector<Place> places = places_in_path(route.pattern);
  for (const Parameter& parameter : route.parameters) {
    places.push_back({"query", std::string(parameter.name), parameter.schema, parameter.description});
  }
  append_json_array(out, places, [](std::string& to, const Place& place) {
    JsonObject object(to);
    object.add("name", place.name);
    object.add("in", place.in);
    object.add("required", place.in == "path");
    if (!place.description.empty()) object.add("description", place.description);
    object.add_json("schema", place.schema);
    object.end();
  });
}

void append_operation(std::string& out, const Route& route) {
  JsonObject object(out);
  object.add("operationId", route.name);
  object.add_json("tags", fmt::format(R"(["{}"])", route.tag));
  object.add("summary", route.summary);
  append_parameters(object.key("parameters"), route);
  if (!route.body.empty()) {
    JsonObject body(object.key("requestBody"));
    body.add("required", !route.body_is_optional);
    body.add_json("content", content(kJsonType, reference(route.body)));
    body.end();
  }
  append_responses(object.key("responses"), route);
  if (route.access != Access::kOpen) object.add_json("security", R"([{"token":[]},{}])");
  object.end();
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return static_cast<char>(c | 0x20); });
  return out;
}

void append_paths(std::string& out) {
  std::vector<std::string_view> patterns;
  for (const Route& route : routes()) {
    if (std::ranges::find(patterns, route.pattern) == patterns.end()) patterns.push_back(route.pattern);
  }
  JsonObject object(out);
  for (const std::string_view pattern : patterns) {
    JsonObject path(object.key(pattern));
    for (const Route& route : routes()) {
      if (route.pattern == pattern) append_operation(path.key(lower(route.method)), route);
    }
    path.end();
  }
  object.end();
}

std::string make_document() {
  std::string out;
  JsonObject object(out);
  object.add("openapi", "3.1.0");
  JsonObject info(object.key("info"));
  info.add("title", "Horae");
  info.add("version", version());
  info.add("description", kAbout);
  info.end();
  append_paths(object.key("paths"));
  JsonObject components(object.key("components"));
  JsonObject schemas(components.key("schemas"));
  for (const NamedSchema& schema : openapi_schemas()) schemas.add_json(schema.name, schema.json);
  schemas.end();
  components.add_json("securitySchemes", R"({"token":{"type":"http","scheme":"bearer",
      "description":"Not required from callers on the node's own machine, unless the setting http.require_token says so, or they come through a proxy"}})");
  components.end();
  object.end();
  return out;
}

}  // namespace

const std::string& openapi_document() {
  static const std::string kDocument = make_document();
  return kDocument;
}

}  // namespace horae
