#include "agent/processes/warden.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <set>

#include "agent/processes/descendants.h"
#include "agent/processes/shim.h"
#include "base/check.h"

namespace horae::agent {
namespace {

constexpr int kPatienceMs = 500;  // for shims after the end of main; they need milliseconds
constexpr int kRoundMs = 10;
constexpr std::size_t kDescriptorsOfAShim = 4;

constexpr std::array kWatched = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kWatched) sigaddset(&set, signal);
  return set;
}

class Warden {
 public:
  Warden(Descriptor socket, Descriptor signals, pid_t main)
      : socket_(std::move(socket)), signals_(std::move(signals)), main_(main) {}

  int run() {
    while (main_ > 0) wait(-1);
    socket_.close();
    // The shims have seen the end of main, and take down their runs. One that does not is stuck or stopped.
    for (int rounds = kPatienceMs / kRoundMs; !shims_.empty() && rounds > 0; --rounds) wait(kRoundMs);
    kill_descendants([](pid_t, int) {}, [this] { wait_for_signal(kRoundMs); });
    return exit_code_;
  }

 private:
  void wait_for_signal(int timeout_ms) {
    pollfd event{.fd = signals_.number(), .events = POLLIN, .revents = 0};
    (void)::poll(&event, 1, timeout_ms);
    signalfd_siginfo info{};
    while (::read(signals_.number(), &info, sizeof info) == sizeof info) continue;
  }

  void wait(int timeout_ms) {
    std::array<pollfd, 2> events = {
        pollfd{.fd = signals_.number(), .events = POLLIN, .revents = 0},
        pollfd{.fd = socket_.number(), .events = POLLIN, .revents = 0},  // ignored once it is closed
    };
    if (::poll(events.data(), events.size(), timeout_ms) <= 0) return;
    if (events[0].revents != 0) take_signals();
    if (events[1].revents != 0) take_requests();
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.number(), &info, sizeof info) == sizeof info) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal != SIGCHLD && main_ > 0) ::kill(main_, signal);
    }
    bool has_orphans = false;
    int status = 0;
    while (true) {
      const pid_t ended = ::waitpid(-1, &status, WNOHANG | __WALL);
      if (ended <= 0) break;
      has_orphans = note_end(ended, status) || has_orphans;
    }
    if (has_orphans) kill_orphans();
  }

  // True if that process may have left children, which are the warden's now.
  bool note_end(pid_t pid, int status) {
    if (pid == main_) {
      main_ = -1;
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return false;
    }
    return shims_.erase(pid) == 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }

  // Each of them causes another SIGCHLD, after which its own children are found.
  void kill_orphans() const {
    for (const pid_t child : children_of_this_process()) {
      if (child != main_ && !shims_.contains(child)) ::kill(child, SIGKILL);
    }
  }

  void take_requests() {
    while (true) {
      auto message = receive_message(socket_.number());
      if (!message.ok()) return;
      if (message->text.empty()) return socket_.close();
      if (message->descriptors.size() == kDescriptorsOfAShim) fork_shim(std::move(message->descriptors));
    }
  }

  void fork_shim(std::vector<Descriptor> descriptors) {
    ShimParts parts{.request = std::move(descriptors[0]),
                    .control = std::move(descriptors[1]),
                    .input = std::move(descriptors[2]),
                    .output = std::move(descriptors[3])};
    const pid_t warden = ::getpid();
    const pid_t shim = ::fork();
    if (shim == 0) {
      socket_.close();
      signals_.close();
      run_shim(std::move(parts), warden);
      ::_exit(0);
    }
    if (shim > 0) {
      shims_.insert(shim);
    } else {
      const ProcessReport report{
          .kind = ProcessReport::Kind::kNotStarted, .step = ProcessReport::Step::kFork, .error = errno};
      (void)send_message(parts.control.number(), to_bytes(report));
    }
  }

  Descriptor socket_;
  Descriptor signals_;
  pid_t main_;
  std::set<pid_t> shims_;
  int exit_code_ = 0;
};

// In the process that becomes main.
[[noreturn]] void become_main(const std::function<int(ProcessStarter)>& main, Descriptor warden, pid_t parent) {
  ::setpgid(0, 0);  // Ctrl-C is for the warden, which passes it on once
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(1);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // programs of the same user cannot read its memory, in which the token is
  const int code = main(ProcessStarter(std::move(warden)));
  std::cout.flush();
  std::cerr.flush();
  ::_exit(code);
}

}  // namespace

Result<StartedProcess> ProcessStarter::start(const ProcessRequest& request, const Descriptor& input) const {
  auto control = make_socket_pair();
  if (!control.ok()) return control.error();
  auto output = make_pipe();
  if (!output.ok()) return output.error();
  const auto file = make_memory_file(to_bytes(request));
  if (!file.ok()) return file.error();
  const bool sent = send_message(warden_.number(), "start",
                                 {file->number(), control->second.number(), input.number(), output->second.number()});
  if (!sent) return Error{ErrorCode::kUnavailable, "the process that starts programs does not answer"};
  return StartedProcess{.control = std::move(control->first), .output = std::move(output->first)};
}

int run_with_warden(const std::function<int(ProcessStarter)>& main) {
  auto sockets = make_socket_pair();
  HORAE_CHECK(sockets.ok(), "an agent has descriptors at its begin");
  const sigset_t watched = watched_signals();
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  Descriptor signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  HORAE_CHECK(signals.is_open(), "an agent has descriptors at its begin");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const pid_t warden = ::getpid();
  const pid_t child = ::fork();
  HORAE_CHECK(child >= 0, "an agent must be allowed to fork");
  if (child == 0) {
    signals.close();
    sockets->first.close();
    become_main(main, std::move(sockets->second), warden);
  }
  sockets->second.close();
  return Warden(std::move(sockets->first), std::move(signals), child).run();
}

}  // namespace horae::agent
