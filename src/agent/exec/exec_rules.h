// What the operator of an agent lets tasks execute, as which user, and with which environment.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/exec/exec_spec.h"
#include "base/result.h"

namespace horae::agent {

struct ExecOptions {
  // Programs that may be run with any arguments: absolute paths, or names that are looked up in PATH at the start. A task
  // gives the path or the file's name as argv[0].
  std::vector<std::string> programs = {};

  // Commands that may be run exactly so: program and arguments with blanks between them.
  std::vector<std::string> commands = {};

  std::vector<std::string> environment = {};  // names of the agent's own variables that every program gets
  std::string secrets = {};                   // a folder with a file for each secret; empty: there are none
  std::string user = {};                      // a name; empty: that of the agent
  Duration grace = std::chrono::seconds(10);  // between SIGTERM and SIGKILL
};

inline constexpr std::size_t kMaxSecretBytes = 1 << 16;

// Immutable after it was made, so thread-safe.
class ExecRules {
 public:
  using Environment = std::map<std::string, std::string>;

  // Reads the options in the agent's own environment. kMalformed names the program, command or user that is wrong; also if
  // the agent is root and no user is named.
  static Result<ExecRules> make(const ExecOptions& options, const Environment& environment);

  // The absolute path of the program; kForbidden if the operator does not allow this argv.
  Result<std::string> program_of(const std::vector<std::string>& argv) const;

  // What every program gets: PATH, HOME, and of the agent's LANG, TZ and the variables that its operator names.
  const Environment& environment() const { return environment_; }

  // The content of the file of that name without the last line break. kForbidden if there are no secrets, or none of that
  // name.
  Result<std::string> secret(const std::string& name) const;

  const std::optional<UserIds>& user() const { return user_; }

  bool allows_anything() const { return !programs_.empty() || !commands_.empty(); }
  bool allows_free_arguments() const { return !programs_.empty(); }

 private:
  std::vector<std::string> programs_;               // absolute paths
  std::vector<std::vector<std::string>> commands_;  // argv, whose program is an absolute path
  std::string secrets_;
  Environment environment_;
  std::optional<UserIds> user_;
};

}  // namespace horae::agent
