// What one process of a task is started with, and what is reported of it: the words between main, warden and shim.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace horae::agent {

struct ResourceLimit {
  int resource = 0;  // RLIMIT_...
  std::uint64_t value = 0;

  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};

struct UserIds {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // the supplementary ones

  friend bool operator==(const UserIds&, const UserIds&) = default;
};

struct ProcessRequest {
  std::string program;  // an absolute path
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // all of it, as NAME=value
  std::string folder;                    // the working directory
  std::optional<UserIds> user;           // nothing: that of the agent
  std::vector<ResourceLimit> limits;

  friend bool operator==(const ProcessRequest&, const ProcessRequest&) = default;
};

// Bytes that read_process_request() reads back: for processes of one program, so they have no version.
std::string to_bytes(const ProcessRequest& request);
Result<ProcessRequest> read_process_request(std::string_view bytes);

// How the process that a shim has started went on.
struct ProcessReport {
  enum class Kind : std::int32_t {
    kStarted,
    kNotStarted,  // the program could not be executed: `error`
    kEnded,       // by itself or by a signal: `status`
  };

  // What failed before the program ran.
  enum class Step : std::int32_t { kFork, kFolder, kLimit, kUser, kExec };

  Kind kind = Kind::kStarted;
  pid_t pid = 0;
  Step step = Step::kExec;
  std::int32_t error = 0;           // an errno
  std::int32_t status = 0;          // of waitpid
  std::int32_t was_terminated = 0;  // whether the shim was asked to end it while it still ran
};

std::string to_bytes(const ProcessReport& report);
Result<ProcessReport> read_process_report(std::string_view bytes);

// What main asks of a shim, one byte each. A shim whose socket to main is closed kills at once.
inline constexpr char kAskTerminate = 'T';  // SIGTERM to all descendants
inline constexpr char kAskKill = 'K';       // SIGKILL to all descendants

}  // namespace horae::agent
