// Laws of parse_instant() for any bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time_text.h"
#include "laws.h"

namespace horae {
namespace {

void require_laws_of_reading(Instant value) {
  HORAE_CHECK(value >= earliest_instant() && value <= latest_instant(), "what is read can be written");
  const auto again = parse_instant(format_instant(value));
  HORAE_CHECK(again.ok() && *again == value, "what is written reads back to the same value");
}

// The rule matters only where no zone is named.
void require_laws_of_zones(std::string_view text, const Result<Instant>& strict, const Result<Instant>& lenient) {
  if (strict.ok()) {
    HORAE_CHECK(lenient.ok() && *lenient == *strict, "a named zone counts under either rule");
  } else if (lenient.ok()) {
    const auto named = parse_instant(std::string(text) + "Z");
    HORAE_CHECK(named.ok() && *named == *lenient, "no zone means UTC");
  }
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto strict = horae::parse_instant(text, horae::ZoneRule::kRequired);
  const auto lenient = horae::parse_instant(text, horae::ZoneRule::kUtcWhenNotNamed);
  horae::require_laws_of_zones(text, strict, lenient);
  for (const auto& read : {strict, lenient}) {
    if (read.ok()) {
      horae::require_laws_of_reading(*read);
    } else {
      horae::require_good_refusal(read.error());
    }
  }
  return 0;
}
