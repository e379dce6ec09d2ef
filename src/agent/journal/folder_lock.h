// One agent at a time has a folder.
#pragma once

#include <functional>
#include <string>

#include "agent/processes/descriptor.h"
#include "base/result.h"

namespace horae::agent {

// Makes the folder if it does not exist, and takes its lock (flock). If it is taken, calls `on_wait` with the pid that took
// it, and waits. The lock is held until all copies of the descriptor are closed: a process that is forked inherits it. So
// the lock is free only when all shims of the former agent have ended.
//
// kUnavailable if the folder or its lock cannot be made.
Result<Descriptor> lock_folder(const std::string& folder, const std::function<void(const std::string& pid)>& on_wait);

}  // namespace horae::agent
