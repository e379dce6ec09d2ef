#include "agent/processes/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/processes/descriptor.h"

namespace horae::agent {
namespace {

constexpr std::size_t kMaxStatusBytes = 1 << 20;

struct FolderCloser {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The entries of a folder of /proc whose names are numbers.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, FolderCloser> folder(::opendir(path.c_str()));
  while (folder != nullptr) {
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    pid_t number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  return numbers;
}

// Nothing if there is no such file.
std::optional<std::string> content_of(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  auto content = read_rest(file.number(), kMaxStatusBytes);
  if (!content.ok()) return std::nullopt;
  return std::move(*content);
}

// The children that the threads of a process have made. Nothing if the kernel has no such list.
std::optional<std::vector<pid_t>> listed_children(pid_t pid) {
  std::vector<pid_t> children;
  const std::string threads = "/proc/" + std::to_string(pid) + "/task";
  for (const pid_t thread : numbers_in(threads)) {
    const auto list = content_of(threads + "/" + std::to_string(thread) + "/children");
    if (!list) return std::nullopt;
    const char* at = list->data();
    const char* const end = at + list->size();
    while (at < end) {
      pid_t child = 0;
      const auto [next, failed] = std::from_chars(at, end, child);
      if (failed == std::errc()) children.push_back(child);
      at = next + 1;
    }
  }
  return children;
}

// From /proc/PID/stat: "1234 (any name) S 1 ...".
pid_t parent_of(pid_t pid) {
  const auto status = content_of("/proc/" + std::to_string(pid) + "/stat");
  if (!status) return -1;
  const std::size_t name_end = status->rfind(')');
  if (name_end == std::string::npos || status->size() < name_end + 5) return -1;
  pid_t parent = -1;
  const char* const begin = status->data() + name_end + 4;
  std::from_chars(begin, status->data() + status->size(), parent);
  return parent;
}

// All processes of the machine by their parents: for kernels without lists of children.
std::multimap<pid_t, pid_t> by_parent() {
  std::multimap<pid_t, pid_t> processes;
  for (const pid_t pid : numbers_in("/proc")) processes.emplace(parent_of(pid), pid);
  return processes;
}

void append_scanned(const std::multimap<pid_t, pid_t>& processes, pid_t parent, std::vector<Descendant>& found) {
  const auto [begin, end] = processes.equal_range(parent);
  for (auto child = begin; child != end; ++child) {
    found.push_back({child->second, parent});
    append_scanned(processes, child->second, found);
  }
}

void signal_one(const Descendant& process, int signal) {
  if (process.parent == ::getpid()) {  // not waited for yet, so its pid is its own
    ::kill(process.pid, signal);
    return;
  }
  const Descriptor held(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!held.is_open() || parent_of(process.pid) != process.parent) return;
  ::syscall(SYS_pidfd_send_signal, held.number(), signal, nullptr, 0);
}

}  // namespace

std::vector<pid_t> children_of_this_process() {
  if (auto listed = listed_children(::getpid())) return std::move(*listed);
  std::vector<pid_t> children;
  const auto processes = by_parent();
  const auto [begin, end] = processes.equal_range(::getpid());
  for (auto child = begin; child != end; ++child) children.push_back(child->second);
  return children;
}

std::vector<Descendant> descendants_of_this_process() {
  std::vector<Descendant> found;
  const pid_t self = ::getpid();
  const auto listed = listed_children(self);
  if (!listed) {
    append_scanned(by_parent(), self, found);
    return found;
  }
  for (const pid_t child : *listed) found.push_back({child, self});
  for (std::size_t i = 0; i < found.size(); ++i) {
    const pid_t parent = found[i].pid;
    for (const pid_t child : listed_children(parent).value_or(std::vector<pid_t>())) found.push_back({child, parent});
  }
  return found;
}

void signal_descendants(int signal) {
  for (const Descendant& process : descendants_of_this_process()) signal_one(process, signal);
}

void kill_descendants(const std::function<void(pid_t, int)>& reap, const std::function<void()>& pause) {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG | __WALL);
    if (ended > 0) {
      reap(ended, status);
      continue;
    }
    if (ended < 0 && errno == ECHILD) return;
    signal_descendants(SIGKILL);
    pause();
  }
}

}  // namespace horae::agent
