// What a PostgreSQL server on this machine has spent, read from outside of the connections that are measured.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "bench/postgres_yardstick.h"

namespace horae::bench {

struct ServerSpent {
  double cpu_s = 0;  // user and system time of all of the server's processes, those that ended included
  double wal_bytes = 0;

  friend ServerSpent operator-(const ServerSpent& later, const ServerSpent& earlier) {
    return {later.cpu_s - earlier.cpu_s, later.wal_bytes - earlier.wal_bytes};
  }
};

// read() before and after; the difference is what the time between has cost, with whatever else the server did
// (autovacuum, checkpoints). CPU time comes in ticks of 10 ms for each process: measure for a second at least.
// Ends the program if the server cannot be asked or `postmaster` is no process here.
//
// Threads: one at a time.
class PostgresMeter {
 public:
  PostgresMeter(const std::string& url, pid_t postmaster);

  ServerSpent read();

 private:
  BareConnection connection_;
  pid_t postmaster_;
};

}  // namespace horae::bench
