// Assertions that also hold in release builds. They stop the program: use them for what can only be a bug of ours,
// never for anything that comes from outside.
#pragma once

#include <string_view>

namespace horae {

// Prints the condition, its place and the reason to standard error, then aborts.
[[noreturn]] void check_failed(std::string_view condition, std::string_view file, int line, std::string_view why);

}  // namespace horae

// HORAE_CHECK(lo <= hi, "a range is never empty")
#define HORAE_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::horae::check_failed(#condition, __FILE__, __LINE__, (why)))
