// For tests: a warden with a main that runs programs, as real processes below the test.
#pragma once

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "agent/exec/exec_executor.h"
#include "agent/processes/warden.h"
#include "base/clock.h"
#include "base/json_text.h"
#include "tests/support/server_process.h"
#include "tests/support/temporary_folder.h"

namespace horae::agent::testing {

// The state of a process in /proc: 'R', 'S', 'T', 'Z', ...; 0 if there is none.
inline char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end = text.rfind(')');
  return end == std::string::npos ? '\0' : text[end + 2];
}

// Whether it has ended, reaped or not.
inline bool is_gone(pid_t pid) { return state_of(pid) == '\0' || state_of(pid) == 'Z' || state_of(pid) == 'X'; }

inline pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return std::stoi(text.substr(text.rfind(')') + 4));
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// Waits for a file to have a line with a number, which a program writes when it is ready.
inline pid_t pid_in(const std::string& path) {
  EXPECT_TRUE(horae::testing::wait_until([&] { return content_of(path).ends_with('\n'); })) << path;
  return std::stoi(content_of(path));
}

// A warden in a child process. Main runs `main` with two descriptors, to which the test has the other ends.
class TestAgent {
 public:
  using Main = std::function<int(const ProcessStarter& starter, int input, int output)>;

  explicit TestAgent(const Main& main) {
    int in[2];
    int out[2];
    EXPECT_EQ(::pipe(in), 0);
    EXPECT_EQ(::pipe(out), 0);
    input_ = Descriptor(in[1]);
    output_ = Descriptor(out[0]);
    warden_ = ::fork();
    if (warden_ == 0) {
      input_.close();
      output_.close();
      ::_exit(run_with_warden([&](const ProcessStarter& starter) { return main(starter, in[0], out[1]); }));
    }
    ::close(in[0]);
    ::close(out[1]);
  }
  ~TestAgent() {
    input_.close();
    if (!status_) ::kill(warden_, SIGKILL);
    (void)wait();
  }

  pid_t warden() const { return warden_; }

  void say(char what) const { EXPECT_EQ(::write(input_.number(), &what, 1), 1); }

  // What main has written, up to a line break.
  std::string read_line() const {
    std::string line;
    char byte = 0;
    while (::read(output_.number(), &byte, 1) == 1 && byte != '\n') line += byte;
    return line;
  }

  int wait() {
    int status = 0;
    if (!status_ && ::waitpid(warden_, &status, 0) == warden_) status_ = status;
    return *status_;
  }

 private:
  pid_t warden_ = -1;
  Descriptor input_;
  Descriptor output_;
  std::optional<int> status_;
};

inline void write_line(int file, const std::string& text) {
  const std::string line = text + "\n";
  (void)!::write(file, line.data(), line.size());
}

inline std::string describe(const RunEnd& end) {
  if (end.kind == RunEnd::Kind::kDone) return "done " + end.result.value_or("-");
  if (end.kind == RunEnd::Kind::kStopped) {
    return "stopped " + (end.last.progress ? std::to_string(*end.last.progress) : "-") + " " +
           end.last.checkpoint.value_or("-");
  }
  return "failed " + end.errors.front().code + " " + end.errors.front().description + " " + end.errors.front().args;
}

// An agent that runs one task and prints its end. Signs of the test: 's' stops the run, 'p' prints its progress, 'm' the agent's largest memory in KiB.
class OneRun {
 public:
  explicit OneRun(const std::string& spec, ExecOptions options = {}, std::optional<std::string> checkpoint = {})
      : agent_([=, this](const ProcessStarter& starter, int input, int output) {
          return run(spec, options, checkpoint, starter, input, output);
        }) {}

  std::string folder() const { return folder_.path(); }
  TestAgent& agent() { return agent_; }

  // Of the form of describe().
  std::string end() { return agent_.read_line(); }

 private:
  int run(const std::string& spec, ExecOptions options, const std::optional<std::string>& checkpoint,
          const ProcessStarter& starter, int input, int output) {
    if (options.programs.empty()) options.programs = {"sh"};
    options.user = ::geteuid() == 0 ? "root" : "";
    const auto rules = ExecRules::make(options, {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"SECRET", "x"}});
    if (!rules.ok()) {
      write_line(output, rules.error().message);
      return 2;
    }
    const SystemClock clock;
    ExecExecutor executor(*rules, options.grace, folder_.path(), starter, clock);
    std::mutex mutex;
    bool has_ended = false;
    LeasedTask task{.id = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value(),
                    .queue = "mail",
                    .spec = spec,
                    .attempt = 2,
                    .checkpoint = checkpoint};
    executor.start(1, task, clock.now(), [&](const RunEnd& end) {
      write_line(output, describe(end));
      const std::lock_guard lock(mutex);
      has_ended = true;
    });
    char sign = 0;
    while (::read(input, &sign, 1) == 1) {
      if (sign == 's') executor.stop(1, clock.now());
      if (sign == 'm') {
        rusage used{};
        ::getrusage(RUSAGE_SELF, &used);
        write_line(output, std::to_string(used.ru_maxrss));
      }
      if (sign == 'p') {
        const RunProgress progress = executor.progress(1, clock.now());
        write_line(output, (progress.progress ? std::to_string(*progress.progress) : "-") + " " +
                               progress.checkpoint.value_or("-"));
      }
    }
    return has_ended ? 0 : 3;
  }

  horae::testing::TemporaryFolder folder_;
  TestAgent agent_;
};

// {"run": "exec", "argv": ["sh", "-c", SCRIPT]} with more fields, each with a comma before it.
inline std::string shell(const std::string& script, const std::string& more = {}) {
  std::string spec = R"({"run":"exec","argv":["sh","-c",)";
  append_json_string(spec, script);
  return spec + "]" + more + "}";
}

// A shell command that leaves a process which has forked twice, is in its own session, has no environment and ignores
// SIGTERM; its pid is written to the file.
inline std::string stubborn(const std::string& pid_file) {
  return "( ( setsid env -i /bin/sh -c 'trap \"\" TERM HUP INT; echo $$ > " + pid_file +
         "; while :; do sleep 0.05; done' & ) & ) ; ";
}

}  // namespace horae::agent::testing
