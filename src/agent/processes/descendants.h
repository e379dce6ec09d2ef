// The processes below this one, found and ended. For a single-threaded process that is a subreaper: its descendants
// cannot leave it, because what loses its parent becomes its child.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace horae::agent {

struct Descendant {
  pid_t pid = 0;
  pid_t parent = 0;
};

// The children of this process, also dead ones that nobody has waited for.
std::vector<pid_t> children_of_this_process();

// All descendants, parents before their children. A snapshot: processes come and go meanwhile.
std::vector<Descendant> descendants_of_this_process();

// Sends a signal to all descendants of this moment. A pid is checked before it is used, because one that is not a direct
// child may have ended and belong to a foreign process by now.
void signal_descendants(int signal);

// Kills until there is no child left. `reap` is called with the pid and status of each child that ended, and `pause`
// between two rounds, which waits a moment or until a child ends. A process that the kernel does not let go (it hangs in a
// system call) is waited for.
void kill_descendants(const std::function<void(pid_t, int)>& reap, const std::function<void()>& pause);

}  // namespace horae::agent
