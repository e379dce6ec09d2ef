// The agent as a whole: what it is configured with, and main's part of it.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "agent/exec/exec_rules.h"
#include "agent/processes/warden.h"
#include "agent/worker/worker.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"

namespace horae::agent {

struct AgentOptions {
  std::string data = "horae-agent";  // a folder
  std::vector<std::string> nodes = {"http://127.0.0.1:3369"};
  std::string token_file = {};  // a file with the secret; empty: no token is sent
  std::string ca_file = {};
  WorkerOptions worker = {};
  bool stops_on_lost_contact = false;
  Duration contact_timeout = std::chrono::seconds(30);
  ExecOptions exec = {};
};

// What main is given.
struct AgentParts {
  const ProcessStarter& starter;
  const ExecRules& rules;
  std::string token;
  const Clock& clock;
  Random& random;
  Logger log;
  std::ostream& out;  // for the line that says that the agent runs
};

// The secret in a file without the last line break; kMalformed if it cannot be read or is empty.
Result<std::string> read_token(const std::string& path);

inline constexpr int kLostContact = 4;  // an exit code

// Runs main until SIGTERM or SIGINT, which are blocked. A second signal ends the process at once, and so does lost contact,
// if the options say so, with kLostContact: its programs end with it. Fails if the journal cannot be opened, or if a node lets callers without a token submit tasks although the agent
// runs programs with any arguments.
Result<void> run_main(const AgentOptions& options, const AgentParts& parts);

}  // namespace horae::agent
