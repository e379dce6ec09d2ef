#include "engine/spec.h"

#include <fmt/format.h>

// Debian's package has no compiled Boost.JSON for this version; this is its source, in the one file that uses it.
#include <boost/json/src.hpp>

namespace horae {

Result<std::string> read_spec_text(std::string_view spec, std::string_view name) {
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse({spec.data(), spec.size()}, failed);
  if (failed) return Error{ErrorCode::kMalformed, fmt::format("the spec is not JSON: {}", failed.message())};
  const boost::json::object* object = value.if_object();
  if (object == nullptr) return Error{ErrorCode::kMalformed, "the spec is not a JSON object"};
  const boost::json::value* member = object->if_contains({name.data(), name.size()});
  if (member == nullptr) return Error{ErrorCode::kMalformed, fmt::format("the spec has no \"{}\"", name)};
  const boost::json::string* text = member->if_string();
  if (text == nullptr) return Error{ErrorCode::kMalformed, fmt::format("\"{}\" of the spec is not a text", name)};
  return std::string(text->data(), text->size());
}

}  // namespace horae
