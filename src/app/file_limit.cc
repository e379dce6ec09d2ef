#include "app/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace horae {
namespace {

constexpr std::size_t kOtherFiles = 512;  // stores, logs, threads; connections to PostgreSQL above all

}  // namespace

std::size_t raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
  return limit.rlim_cur;
}

std::size_t connections_within(std::size_t files) {
  return std::max<std::size_t>(1, files > 2 * kOtherFiles ? files - kOtherFiles : files / 2);
}

}  // namespace horae
