#include "engine/slots/spec.h"

#include <fmt/format.h>

#include "base/json_scan.h"

namespace horae {

Result<std::string> read_spec_text(std::string_view spec, std::string_view name) {
  const auto value = scan_json(spec);
  if (!value.ok()) return Error{ErrorCode::kMalformed, "the spec: " + value.error().message};
  if (kind_of(*value) != JsonKind::kObject) return Error{ErrorCode::kMalformed, "the spec is not a JSON object"};
  const auto members = scan_object(*value);
  if (!members.ok()) return members.error();
  const JsonMember* found = nullptr;
  for (const JsonMember& member : *members) {
    if (member.key == name) found = &member;
  }
  if (found == nullptr) return Error{ErrorCode::kMalformed, fmt::format("the spec has no \"{}\"", name)};
  if (kind_of(found->value) != JsonKind::kString) {
    return Error{ErrorCode::kMalformed, fmt::format("\"{}\" of the spec is not a text", name)};
  }
  return unescape_json(found->value);
}

}  // namespace horae
