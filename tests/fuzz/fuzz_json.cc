// Laws of the JSON scanner for any bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_scan.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "laws.h"

namespace horae {
namespace {

void require_is_value(std::string_view value) {
  const auto again = scan_json(value);
  HORAE_CHECK(again.ok() && *again == value, "a part of a JSON text is a JSON text, without white space around it");
}

void require_laws_of_strings(std::string_view value) {
  const std::string text = unescape_json(value);
  std::string written;
  append_json_string(written, text);
  HORAE_CHECK(scan_json(written).ok(), "what is written can be scanned");
  HORAE_CHECK(unescape_json(written) == text, "what is written reads back to the same text");
}

void require_laws_of_reading(std::string_view text, std::string_view value) {
  HORAE_CHECK(is_text(text), "JSON is UTF-8 without NUL");
  require_is_value(value);
  const JsonKind kind = kind_of(value);
  const auto members = scan_object(text);
  const auto elements = scan_array(text);
  HORAE_CHECK(members.ok() == (kind == JsonKind::kObject), "an object has members, and nothing else has");
  HORAE_CHECK(elements.ok() == (kind == JsonKind::kArray), "an array has elements, and nothing else has");
  if (kind == JsonKind::kString) require_laws_of_strings(value);
  if (members.ok()) {
    for (const JsonMember& member : *members) {
      require_is_value(member.value);
      require_laws_of_strings("\"" + std::string(member.key) + "\"");
    }
  }
  if (elements.ok()) {
    for (const std::string_view element : *elements) require_is_value(element);
  }
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = horae::scan_json(text);
  if (value.ok()) {
    horae::require_laws_of_reading(text, *value);
  } else {
    horae::require_good_refusal(value.error());
    HORAE_CHECK(!horae::scan_object(text).ok() && !horae::scan_array(text).ok(), "what is not JSON has no parts");
  }
  return 0;
}
