// A TCP relay on 127.0.0.1 that simulates network failures between two processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace horae::testing {

// Relays bytes both ways between clients of port() and the target.
//
// Not thread-safe: one thread at a time.
class Cable {
 public:
  explicit Cable(int target_port);
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  int port() const { return port_; }

  // Breaks all connections, like the restart of a router. New ones are accepted.
  void break_connections() { must_break_ = true; }

  // Nothing passes any more on the connections that exist now, and none of them is closed; new ones work. Returns when
  // that is so.
  void strand();

  // While it is cut, nothing passes and no connection is closed: bytes wait, new connections hang.
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
  std::atomic<bool> must_strand_ = false;
  std::atomic<bool> is_cut_ = false;
  std::atomic<bool> must_stop_ = false;

  struct End {
    int peer = -1;
    std::string waiting;  // read from this end and not yet written to the peer
  };
  std::map<int, End> ends_;    // used by thread_ only
  std::vector<int> stranded_;  // used by thread_ only; open, but nothing reads them
  std::thread thread_;
};

// A port that was free at the time of the call.
int free_port();

}  // namespace horae::testing
