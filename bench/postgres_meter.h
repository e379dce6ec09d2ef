// The resources that a PostgreSQL server on this machine has used, read without the measured connections.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "bench/postgres_yardstick.h"

namespace horae::bench {

struct ServerSpent {
  double cpu_s = 0;  // user and system time of all processes of the server, including those that have ended
  double wal_bytes = 0;

  friend ServerSpent operator-(const ServerSpent& later, const ServerSpent& earlier) {
    return {later.cpu_s - earlier.cpu_s, later.wal_bytes - earlier.wal_bytes};
  }
};

// The difference of two read() calls is the cost of the time in between, including other work of the server (autovacuum,
// checkpoints). CPU time has a resolution of 10 ms for each process: measure for a second at least. Aborts if the server
// cannot be queried or `postmaster` is not a process on this machine.
//
// Not thread-safe: one thread at a time.
class PostgresMeter {
 public:
  PostgresMeter(const std::string& url, pid_t postmaster);

  ServerSpent read();

 private:
  BareConnection connection_;
  pid_t postmaster_;
};

}  // namespace horae::bench
