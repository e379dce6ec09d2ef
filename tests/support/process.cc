#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"

extern char** environ;

namespace horae::testing {

namespace {

constexpr int kPatienceMs = 120'000;

}  // namespace

Process::Process(const std::vector<std::string>& argv) {
  std::array<int, 2> pipe_ends{};
  HORAE_CHECK(pipe2(pipe_ends.data(), O_CLOEXEC) == 0, "cannot make a pipe");
  output_ = pipe_ends[0];

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);

  std::vector<char*> raw;
  for (const std::string& word : argv) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  const int failed = posix_spawnp(&pid_, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  HORAE_CHECK(failed == 0, "the program under test cannot be started: " + argv[0]);
}

Process::~Process() {
  if (!end_) {
    send_signal(SIGKILL);
    wait();
  }
  close(output_);
}

bool Process::fill() {
  // A text that never comes fails the test instead of hanging the suite.
  pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
  int count = 0;
  while ((count = poll(&ready, 1, kPatienceMs)) < 0) HORAE_CHECK(errno == EINTR, "poll() on a pipe of this process");
  if (count == 0) return false;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  do {
    got = read(output_, chunk.data(), chunk.size());
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  buffer_.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

std::optional<std::string> Process::read_line() {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

bool Process::read_until(const std::string& text) {
  while (const auto line = read_line()) {
    if (line->find(text) != std::string::npos) return true;
  }
  return false;
}

std::string Process::read_rest() {
  while (fill()) {
  }
  return std::exchange(buffer_, "");
}

void Process::send_signal(int signal) const {
  if (!end_) kill(pid_, signal);  // once it has ended, another process may have its number
}

ProcessEnd Process::wait() {
  if (end_) return *end_;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) HORAE_CHECK(errno == EINTR, "waitpid() on a child of this process");
  note_end(status);
  return *end_;
}

bool Process::has_ended() {
  int status = 0;
  if (!end_ && waitpid(pid_, &status, WNOHANG) == pid_) note_end(status);
  return end_.has_value();
}

void Process::note_end(int status) {
  end_ = ProcessEnd{};
  if (WIFEXITED(status)) end_->exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end_->signal = WTERMSIG(status);
}

}  // namespace horae::testing
