#include "bench/postgres_meter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/check.h"

namespace horae::bench {
namespace {

// Of /proc/PID/stat, in ticks; proc(5).
struct ProcessTimes {
  pid_t parent = 0;
  std::int64_t own = 0;       // utime + stime
  std::int64_t children = 0;  // cutime + cstime: of children that ended and were waited for
};

// Nothing if the process does not exist (any more).
std::optional<ProcessTimes> times_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end_of_name = line.rfind(')');  // a name may hold blanks and brackets
  if (end_of_name == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(end_of_name + 1));
  ProcessTimes times;
  std::string skipped;
  fields >> skipped >> times.parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;  // pgrp to cmajflt
  std::int64_t utime = 0, stime = 0, cutime = 0, cstime = 0;
  fields >> utime >> stime >> cutime >> cstime;
  if (fields.fail()) return std::nullopt;
  times.own = utime + stime;
  times.children = cutime + cstime;
  return times;
}

bool is_number(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// All processes of a server are children of its postmaster and have no children themselves.
double cpu_seconds(pid_t postmaster) {
  const auto top = times_of(std::to_string(postmaster));
  HORAE_CHECK(top.has_value(), fmt::format("/proc/{}/stat must exist for the postmaster", postmaster));
  std::int64_t ticks = top->own + top->children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!is_number(name)) continue;
    const auto times = times_of(name);
    if (times && times->parent == postmaster) ticks += times->own;
  }
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

PostgresMeter::PostgresMeter(const std::string& url, pid_t postmaster)
    : connection_(url, "public"), postmaster_(postmaster) {
  connection_.prepare("wal", "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint");
}

ServerSpent PostgresMeter::read() {
  return {.cpu_s = cpu_seconds(postmaster_), .wal_bytes = static_cast<double>(connection_.run("wal").int64(0, 0))};
}

}  // namespace horae::bench
