// Assertions that are also checked in release builds. They abort the program: use them for conditions that only a bug
// in Horae can break, never for outside input.
#pragma once

#include <string_view>

namespace horae {

// Prints the condition, its source location and the reason to standard error, then aborts.
[[noreturn]] void check_failed(std::string_view condition, std::string_view file, int line, std::string_view why);

}  // namespace horae

// HORAE_CHECK(lo <= hi, "a range is never empty")
#define HORAE_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::horae::check_failed(#condition, __FILE__, __LINE__, (why)))
