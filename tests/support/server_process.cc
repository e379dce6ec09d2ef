#include "tests/support/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/check.h"

namespace horae::testing {
namespace {

constexpr std::chrono::milliseconds kPause{10};
constexpr std::chrono::minutes kPatience{1};  // slow machines, crash recovery
constexpr const char* kServerUser = "postgres";

struct User {
  uid_t uid;
  gid_t gid;
};

// Nothing unless this process is root: then the servers run as the same user.
std::optional<User> server_user() {
  if (geteuid() != 0) return std::nullopt;
  const passwd* entry = getpwnam(kServerUser);
  if (entry == nullptr) {
    die(std::string("unknown user '") + kServerUser +
        "', which servers run as if the tests run as root: tools/setup.sh test");
  }
  return User{entry->pw_uid, entry->pw_gid};
}

// In the child, between fork and exec: only async-signal-safe functions and plain system calls.
[[noreturn]] void become(const std::vector<char*>& argv, const std::optional<User>& user, int log, pid_t parent,
                         int death_signal) {
  setsid();
  if (user && (setgroups(1, &user->gid) != 0 || setgid(user->gid) != 0 || setuid(user->uid) != 0)) _exit(126);
  // After setuid, which clears it. The parent may have died before that.
  if (prctl(PR_SET_PDEATHSIG, death_signal) != 0 || getppid() != parent) _exit(126);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  // A fixed environment, so that PGOPTIONS, locale and time zone of the shell do not affect the server.
  char path[] = "PATH=/usr/bin:/bin";
  char locale[] = "LC_ALL=C";
  char zone[] = "TZ=UTC";
  char* environment[] = {path, locale, zone, nullptr};
  execve(argv[0], argv.data(), environment);
  const char* why = strerrordesc_np(errno);
  static_cast<void>(!write(STDERR_FILENO, why, strlen(why)));
  _exit(127);
}

}  // namespace

void die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

bool wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

ReservedPort::ReservedPort() {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  HORAE_CHECK(socket_ >= 0, "cannot make a socket");
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  HORAE_CHECK(bind(socket_, raw, size) == 0 && getsockname(socket_, raw, &size) == 0, "cannot find a free port");
  number_ = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() { close(socket_); }

void give_to_servers(const std::string& path) {
  const auto user = server_user();
  if (user && chown(path.c_str(), user->uid, user->gid) != 0)
    die("cannot make the user of the servers the owner of " + path);
}

void run_tool(const std::vector<std::string>& argv, const std::string& log_path) {
  ServerProcess tool(argv, log_path);
  const int status = tool.end_with(0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) die(argv[0] + " failed. " + tool.log());
}

ServerProcess::ServerProcess(const std::vector<std::string>& argv, std::string log_path,
                             const ServerProcessOptions& options)
    : name_(argv[0]), log_path_(std::move(log_path)) {
  HORAE_CHECK(gettid() == getpid(),
              "only the main thread may start servers: they end with the thread that starts them");
  const auto user = options.may_be_root ? std::nullopt : server_user();
  const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) die("cannot write " + log_path_ + ", the log of " + name_);
  std::vector<char*> raw;
  for (const std::string& word : argv) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(raw, user, log, parent, options.death_signal);
  close(log);
  HORAE_CHECK(pid_ > 0, "cannot fork");
}

ServerProcess::~ServerProcess() {
  if (running()) end_with(SIGKILL);
}

bool ServerProcess::running() {
  if (status_) return false;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  HORAE_CHECK(ended >= 0, "waitpid() on a child of this process");
  if (ended == pid_) status_ = status;
  return !status_;
}

void ServerProcess::wait_until_ready(const std::function<bool()>& ready) {
  bool ended = false;
  const bool answered = wait_until([&] { return (ended = !running()) || ready(); });
  if (ended) die(name_ + " ended instead of starting. " + log());
  if (!answered) die(name_ + " did not become ready. " + log());
}

int ServerProcess::end_with(int signal) {
  if (!status_) kill(pid_, signal);
  if (!wait_until([this] { return !running(); })) die(name_ + " does not end. " + log());
  return *status_;
}

std::string ServerProcess::log() const {
  std::ostringstream text;
  text << "Its log, " << log_path_ << ":\n" << std::ifstream(log_path_).rdbuf();
  return text.str();
}

}  // namespace horae::testing
