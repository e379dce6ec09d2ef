#include "agent/processes/shim.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "agent/processes/descendants.h"
#include "agent/processes/process_request.h"

namespace horae::agent {
namespace {

using Kind = ProcessReport::Kind;
using Step = ProcessReport::Step;

constexpr std::size_t kMaxRequestBytes = 8 << 20;
constexpr int kRoundMs = 10;  // between two rounds of kills, unless a child ends before

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// ---- In the child, between fork and exec ----

struct Failure {
  Step step = Step::kExec;
  int error = 0;
};

std::optional<Failure> apply_limits(const ProcessRequest& request) {
  for (const ResourceLimit& limit : request.limits) {
    rlimit present{};
    const auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    if (::getrlimit(resource, &present) != 0) return Failure{Step::kLimit, errno};
    // Never more than the agent itself may have.
    const rlim_t value = std::min<rlim_t>(limit.value, present.rlim_max);
    const rlimit wanted{.rlim_cur = value, .rlim_max = value};
    if (::setrlimit(resource, &wanted) != 0) return Failure{Step::kLimit, errno};
  }
  return std::nullopt;
}

std::optional<Failure> become(const UserIds& user) {
  const bool done = ::setgroups(user.groups.size(), user.groups.data()) == 0 &&
                    ::setresgid(user.group, user.group, user.group) == 0 &&
                    ::setresuid(user.user, user.user, user.user) == 0;
  return done ? std::nullopt : std::optional(Failure{Step::kUser, errno});
}

// Returns only if it fails.
Failure become_program(ProcessRequest& request, const ShimParts& parts, pid_t shim) {
  ::setsid();
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  const sigset_t none = set_of({});
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(parts.input.number(), STDIN_FILENO);
  ::dup2(parts.output.number(), STDOUT_FILENO);
  ::dup2(parts.output.number(), STDERR_FILENO);
  ::umask(S_IWGRP | S_IWOTH);
  if (auto failed = apply_limits(request)) return *failed;
  if (request.user) {
    if (auto failed = become(*request.user)) return *failed;
  }
  if (::chdir(request.folder.c_str()) != 0) return {Step::kFolder, errno};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Last, because a change of the user clears it. If the shim died before, nothing would notice any more.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != shim) ::_exit(1);
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  const std::vector<char*> argv = pointers_to(request.argv);
  const std::vector<char*> environment = pointers_to(request.environment);
  ::execve(request.program.c_str(), argv.data(), environment.data());
  return {Step::kExec, errno};
}

// ---- In the shim ----

class Shim {
 public:
  Shim(ShimParts parts, pid_t warden) : parts_(std::move(parts)), warden_(warden) {}

  void run() {
    ::setsid();  // Ctrl-C in the agent's terminal is for the warden
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (::getppid() != warden_) return;
    const sigset_t watched = set_of({SIGCHLD, SIGTERM});
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
    signals_ = Descriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.is_open()) return not_started({Step::kFork, errno});
    if (!start()) return;
    while (leader_ > 0 && !is_over_) wait();
    finish();
  }

 private:
  void report(ProcessReport report) const {
    report.pid = started_;
    report.was_terminated = was_terminated_ ? 1 : 0;
    (void)send_message(parts_.control.number(), to_bytes(report));
  }

  void not_started(const Failure& failure) const {
    report({.kind = Kind::kNotStarted, .step = failure.step, .error = failure.error});
  }

  // True if the program runs.
  bool start() {
    const auto bytes = read_rest(parts_.request.number(), kMaxRequestBytes);
    auto request = bytes.ok() ? read_process_request(*bytes) : Result<ProcessRequest>(bytes.error());
    std::array<int, 2> ends{};
    if (!request.ok() || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
      not_started({Step::kFork, request.ok() ? errno : EINVAL});
      return false;
    }
    const Descriptor failed(ends[0]);
    Descriptor failing(ends[1]);
    const pid_t shim = ::getpid();
    leader_ = ::fork();
    if (leader_ == 0) {
      const Failure failure = become_program(*request, parts_, shim);
      (void)!::write(failing.number(), &failure, sizeof failure);
      ::_exit(127);
    }
    if (leader_ < 0) {
      not_started({Step::kFork, errno});
      return false;
    }
    failing.close();
    parts_.input.close();
    parts_.output.close();
    parts_.request.close();
    Failure failure;
    ssize_t got = 0;
    do {
      got = ::read(failed.number(), &failure, sizeof failure);  // ends when exec closes the other end
    } while (got < 0 && errno == EINTR);
    if (got == sizeof failure) {
      ::waitpid(leader_, nullptr, 0);
      not_started(failure);
      return false;
    }
    started_ = leader_;
    report({.kind = Kind::kStarted});
    return true;
  }

  void reap(pid_t pid, int status) {
    if (pid != leader_) return;
    leader_ = -1;
    report({.kind = Kind::kEnded, .status = status});
  }

  void reap_all() {
    int status = 0;
    while (true) {
      const pid_t ended = ::waitpid(-1, &status, WNOHANG | __WALL);
      if (ended <= 0) return;
      reap(ended, status);
    }
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.number(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGTERM) is_over_ = true;  // the warden is gone, or wants an end
    }
    reap_all();
  }

  void take_message() {
    const auto message = receive_message(parts_.control.number());
    if (!message.ok() && message.error().code == ErrorCode::kOverLimit) return;
    if (!message.ok() || message->text.empty()) {
      is_over_ = true;
    } else if (message->text[0] == kAskTerminate) {
      was_terminated_ = true;
      signal_descendants(SIGTERM);
      signal_descendants(SIGCONT);  // one that is stopped would not see it
    } else if (message->text[0] == kAskKill) {
      was_terminated_ = true;
      is_over_ = true;
    }
  }

  void wait() {
    std::array<pollfd, 2> events = {
        pollfd{.fd = signals_.number(), .events = POLLIN, .revents = 0},
        pollfd{.fd = parts_.control.number(), .events = POLLIN, .revents = 0},
    };
    if (::poll(events.data(), events.size(), -1) < 0) return;
    if (events[0].revents != 0) take_signals();
    if (events[1].revents != 0 && leader_ > 0) take_message();
  }

  void finish() {
    kill_descendants([this](pid_t pid, int status) { reap(pid, status); },
                     [this] {
                       pollfd event{.fd = signals_.number(), .events = POLLIN, .revents = 0};
                       (void)::poll(&event, 1, kRoundMs);
                       signalfd_siginfo info{};
                       while (::read(signals_.number(), &info, sizeof info) == sizeof info) continue;
                     });
  }

  ShimParts parts_;
  const pid_t warden_;
  Descriptor signals_;
  pid_t leader_ = -1;  // the program; -1 once it has ended
  pid_t started_ = 0;  // the same, kept
  bool is_over_ = false;
  bool was_terminated_ = false;
};

}  // namespace

void run_shim(ShimParts parts, pid_t warden) { Shim(std::move(parts), warden).run(); }

}  // namespace horae::agent
