// Laws of parse_duration() for any bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/duration.h"
#include "laws.h"

namespace horae {
namespace {

void require_laws_of_reading(std::string_view text, Duration value) {
  HORAE_CHECK(value >= Duration::zero(), "durations are not negative");

  const auto again = parse_duration(format_duration(value));
  HORAE_CHECK(again.ok() && *again == value, "what is written reads back to the same value");

  const bool has_unit = value != Duration::zero() || text.back() != '0';
  if (!has_unit) return;  // "0" cannot be continued
  const auto twice = parse_duration(std::string(text) + format_duration(value));
  const bool fits = value <= Duration::max() - value;
  HORAE_CHECK(twice.ok() == fits, "a sum is refused exactly if it does not fit");
  HORAE_CHECK(!fits || *twice == value + value, "texts that follow each other add up");
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = horae::parse_duration(text);
  if (value.ok()) {
    horae::require_laws_of_reading(text, *value);
  } else {
    horae::require_good_refusal(value.error());
  }
  return 0;
}
