// The wire between two processes, which can be cut: a TCP relay on 127.0.0.1.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace horae::testing {

// Passes bytes both ways between whoever connects to port() and the target.
//
// Threads: the members by one at a time.
class Cable {
 public:
  explicit Cable(int target_port);
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  int port() const { return port_; }

  // All connections break, as if a router had restarted. New ones are taken.
  void break_connections() { must_break_ = true; }

  // While it is cut, nothing passes and nobody is told: bytes wait, new connections hang.
  void cut() { is_cut_ = true; }
  void mend() { is_cut_ = false; }

 private:
  void run();
  void accept_one();
  bool pass(int from);  // false at the end of the connection
  void close_pair(int socket);
  void close_all();

  const int target_port_;
  int port_ = 0;
  int listener_ = -1;
  std::atomic<bool> must_break_ = false;
  std::atomic<bool> is_cut_ = false;
  std::atomic<bool> must_stop_ = false;

  struct End {
    int peer = -1;
    std::string waiting;  // read from here and not yet taken by the peer
  };
  std::map<int, End> ends_;  // of the relay's thread
  std::thread thread_;
};

// A port that nobody used a moment ago.
int free_port();

}  // namespace horae::testing
