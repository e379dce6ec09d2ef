// The warden: the process that the user starts, and the only one that forks. It survives what happens to the rest of the
// agent, and sees to it that no process of a task does.
//
//   warden ─┬─ main    the agent proper: threads, network, journal
//           ├─ shim ── program and all that it starts
//           └─ shim ── ...
//
//   main dies      the shims see the end of their sockets and kill; the warden ends when the last one is gone
//   warden dies    main gets SIGKILL, the shims get SIGTERM and kill
//   a shim dies    its program gets SIGKILL; what else it had becomes the warden's child, which the warden kills
#pragma once

#include <functional>

#include "agent/processes/descriptor.h"
#include "agent/processes/process_request.h"
#include "base/result.h"

namespace horae::agent {

// What main has of a run.
struct StartedProcess {
  Descriptor control;  // to the shim: kAskTerminate, kAskKill; gives reports, and ends when nothing of the run is left
  Descriptor output;   // to read
};

// Main's connection to the warden. Thread-safe.
class ProcessStarter {
 public:
  explicit ProcessStarter(Descriptor warden) : warden_(std::move(warden)) {}

  // Asks for a process with `input` as its standard input; whether it could be executed comes as a report. kUnavailable if
  // there are no descriptors or no warden.
  Result<StartedProcess> start(const ProcessRequest& request, const Descriptor& input) const;

 private:
  const Descriptor warden_;
};

// Forks main, which runs `main` and ends with its exit code (it does not return here), and is the warden meanwhile;
// returns main's exit code (128 and the signal that killed it) when no process of the agent is left. The caller has no
// threads yet.
//
// SIGTERM, SIGINT and SIGHUP are passed on to main, which has them blocked at its begin.
int run_with_warden(const std::function<int(ProcessStarter)>& main);

}  // namespace horae::agent
