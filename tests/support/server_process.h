// What third-party servers need in tests: a port that stays reserved, a user other than root, an end with the test.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace horae::testing {

// Prints the message to standard error and aborts: the test cannot continue, and its environment needs attention.
[[noreturn]] void die(const std::string& message);

// Polls until `condition` is true, for a minute at most; false if it never was.
bool wait_until(const std::function<bool()>& condition);

// A free port of 127.0.0.1 that stays reserved, even while the server is down between two starts: a bound socket that
// never listens blocks the port for other programs, but not for a server that sets SO_REUSEADDR, as PostgreSQL and
// PgBouncer do. Without a server the port refuses connections.
class ReservedPort {
 public:
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  int number() const { return number_; }

 private:
  int socket_ = -1;
  int number_ = 0;
};

// Makes the user that the programs below run as the owner of a file or folder.
void give_to_servers(const std::string& path);

// Runs a program to its end, as ServerProcess does; aborts with its output if it fails.
void run_tool(const std::vector<std::string>& argv, const std::string& log_path);

struct ServerProcessOptions {
  bool may_be_root = false;    // false: it runs as `postgres` if the test runs as root
  int death_signal = SIGQUIT;  // what the kernel sends it when the test process dies, for any reason
};

// A program that runs in its own session, with its output appended to a file and almost no environment.
//
// Main thread only: the kernel sends the signal when the thread that started the program ends.
class ServerProcess {
 public:
  ServerProcess(const std::vector<std::string>& argv, std::string log_path, const ServerProcessOptions& options = {});
  ~ServerProcess();  // SIGKILL, if it still runs
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running();

  // Waits until `ready`. Aborts with the log if the program ends first, or if it takes too long.
  void wait_until_ready(const std::function<bool()>& ready);

  // Sends a signal, waits for the end and returns the status of waitpid. Aborts with the log if it does not end.
  int end_with(int signal);

  // The log under a title, for messages.
  std::string log() const;

 private:
  std::string name_;
  std::string log_path_;
  pid_t pid_ = -1;
  std::optional<int> status_;  // of waitpid, once it has ended
};

}  // namespace horae::testing
