// The spec of a task that runs a program:
//
//   {"run": "exec", "argv": ["backup", "--all"], "cwd": "/srv", "env": {"LEVEL": "9"}, "stdin": "text",
//    "secrets": {"API_KEY": "backup-key"}, "timeout": "1h", "progress_timeout": "5m", "grace": "30s",
//    "success_codes": [0, 3], "limits": {"cpu_seconds": 60, "memory_bytes": 1073741824, "open_files": 64,
//    "file_bytes": 1048576}}
//
// Only "run" and "argv" are required.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/processes/process_request.h"
#include "base/clock.h"
#include "base/result.h"

namespace horae::agent {

inline constexpr std::size_t kMaxArguments = 1000;
inline constexpr Duration kMaxRunTime = std::chrono::hours(24 * 366);

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ExecSpec {
  std::vector<std::string> argv;
  std::string folder = {};     // absolute; empty: the private folder of the run
  Variables environment = {};  // name and value
  std::string input = {};      // standard input
  Variables secrets = {};      // variable and name of the secret
  std::optional<Duration> timeout = {};
  std::optional<Duration> progress_timeout = {};  // without a line of progress
  std::optional<Duration> grace = {};             // between SIGTERM and SIGKILL; nothing: that of the agent
  std::vector<int> success_codes = {0};
  std::vector<ResourceLimit> limits = {};
};

// kMalformed names the field that is wrong. Unknown fields are wrong: one that is misspelled must not be ignored.
Result<ExecSpec> read_exec_spec(std::string_view spec);

}  // namespace horae::agent
