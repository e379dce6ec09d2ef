// A shim: the small process between the agent and one run of a program. It owns all processes of the run.
//
// It is a subreaper, so whatever the program leaves behind (in the background, in its own session, forked twice) becomes
// the shim's child. It ends only when there is none left: because the program has ended (then what it left is killed), because
// main asks for it, because main is gone, or because the warden is gone.
#pragma once

#include <sys/types.h>

#include "agent/processes/descriptor.h"

namespace horae::agent {

struct ShimParts {
  Descriptor request;  // a file with a ProcessRequest
  Descriptor control;  // to main
  Descriptor input;    // of the program
  Descriptor output;   // of the program, both standard output and error
};

// Runs in a process that the warden has just forked: single-threaded, SIGCHLD and SIGTERM blocked. Returns when nothing
// of the run is left.
void run_shim(ShimParts parts, pid_t warden);

}  // namespace horae::agent
