#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace horae {

void check_failed(std::string_view condition, std::string_view file, int line, std::string_view why) {
  std::fprintf(stderr, "horae: this is a bug: %.*s (%.*s failed at %.*s:%d)\n", static_cast<int>(why.size()),
               why.data(), static_cast<int>(condition.size()), condition.data(), static_cast<int>(file.size()),
               file.data(), line);
  std::abort();
}

}  // namespace horae
