// Laws of the parts of a request's target for any bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "http/uri.h"
#include "laws.h"

namespace horae {
namespace {

void require_laws(std::string_view text) {
  std::string joined;
  for (const std::string_view part : split(text, '/')) {
    HORAE_CHECK(part.find('/') == std::string_view::npos, "a part has no separator in it");
    joined += '/';
    joined += part;
  }
  HORAE_CHECK(joined.substr(1) == text, "parts make the whole again");
  const auto decoded = decode_percent(text, false);
  if (!decoded) return;
  HORAE_CHECK(is_text(*decoded), "what is decoded is text");
  HORAE_CHECK(decoded->size() <= text.size(), "decoding does not grow");
  if (text.find('%') == std::string_view::npos) HORAE_CHECK(*decoded == text, "without escapes nothing changes");
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  horae::require_laws(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
