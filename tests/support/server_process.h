// What the servers of others need in tests: a port that stays theirs, a user that is not root, an end with the test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace horae::testing {

// Prints the message to standard error and aborts: the test cannot go on, and its machine needs a look.
[[noreturn]] void die(const std::string& message);

// Asks until the answer is yes, at most for a minute; false when it never was.
bool wait_until(const std::function<bool()>& answer);

// A free port of 127.0.0.1 that stays ours: a bound socket which never listens keeps all others away, also while our
// server is down between two starts, and lets in a server that sets SO_REUSEADDR, as PostgreSQL and PgBouncer do.
// Without a server the port refuses connections.
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

// Makes a file or folder the property of the user whom the programs below run as.
void give_to_servers(const std::string& path);

// Runs a program to its end, as ServerProcess does; dies with its output if it fails.
void run_tool(const std::vector<std::string>& argv, const std::string& log_path);

// A program that runs as `postgres` where we are root and else as ourselves, in its own session, with its output
// appended to a file and almost no environment. The kernel sends it SIGQUIT when we die, however we do.
//
// Threads: the main thread only, for the kernel takes the end of the thread that started it for the end of us all.
class ServerProcess {
 public:
  ServerProcess(const std::vector<std::string>& argv, std::string log_path);
  ~ServerProcess();  // SIGKILL, if it still runs
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running();

  // Waits until `ready`. Dies with the log if the program ends before that, or if it takes too long.
  void wait_until_ready(const std::function<bool()>& ready);

  // Sends a signal and waits for the end; answers the status of waitpid. Dies with the log if the program does not end.
  int end_with(int signal);

  // The log with a title, for messages.
  std::string log() const;

 private:
  std::string name_;
  std::string log_path_;
  pid_t pid_ = -1;
  std::optional<int> status_;  // of waitpid, once it has ended
};

}  // namespace horae::testing
