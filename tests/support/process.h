// A child process under test: the real binary, its output and its exit status.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace horae::testing {

// How a process ended: by itself with a code, or by a signal.
struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
};

// Starts a program with its standard output and error in one pipe. The destructor kills it (SIGKILL) if it still runs.
//
// Not thread-safe: one thread at a time.
class Process {
 public:
  explicit Process(const std::vector<std::string>& argv);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  // Blocks for the next line of output and returns it without its end; nothing once the program has closed its output.
  std::optional<std::string> read_line();

  // Reads until a line contains `text`; false if the output ends first, or if nothing comes for two minutes.
  bool read_until(const std::string& text);

  // The rest of the output, up to its end.
  std::string read_rest();

  void send_signal(int signal) const;

  // True if it has ended, by itself or by a signal; does not block.
  bool has_ended();

  // Waits for the end. Idempotent.
  ProcessEnd wait();

 private:
  void note_end(int status);
  bool fill();  // reads more into buffer_; false at the end of output

  pid_t pid_ = -1;
  int output_ = -1;
  std::string buffer_;
  std::optional<ProcessEnd> end_;
};

}  // namespace horae::testing
