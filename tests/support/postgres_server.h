// A private PostgreSQL server with its own data folder and a free port on 127.0.0.1, removed at the end of the test.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace horae::testing {

struct PostgresOptions {
  bool durable = true;                // false: fsync, full_page_writes and synchronous_commit are off, for quick tests
  std::vector<std::string> settings;  // further lines of postgresql.conf, "max_connections = 200"
};

// Starts Debian's PostgreSQL (as an unprivileged user if the test runs as root, which PostgreSQL refuses) and waits
// until it accepts connections. Aborts with a clear message on standard error if it cannot be started. The destructor
// stops it and removes its data. If the test process itself is killed, the server ends as well, but its data stays in
// the temporary folder.
//
// Not thread-safe. The constructor, start() and make_standby() run on the main thread only, since the server ends with
// the thread that started it.
class PostgresServer {
 public:
  explicit PostgresServer(PostgresOptions options = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  int port() const;
  pid_t pid() const;  // of the postmaster, while it is started

  // "postgresql://horae@127.0.0.1:PORT/DATABASE"
  std::string url(const std::string& database = "horae") const;

  // Creates an empty database and returns its URL.
  std::string make_database();

  // Copies a database without open connections, including PgBouncer's: faster than migrating again. Returns the copy's
  // URL.
  std::string copy_database(const std::string& url);
  void drop_database(const std::string& url);  // closes open connections to it

  // Runs SQL as the superuser and returns the first column of the first row, or "" without rows. Aborts if it fails.
  std::string run_sql(const std::string& sql, const std::string& database = "horae");

  // The port and the URLs stay the same. A server that is down refuses connections.
  void stop();       // orderly; waits for its end
  void kill_hard();  // SIGKILL to all of its processes, like a power cut: no checkpoint, no closed connections
  void start();      // again, on the same data, after stop() or kill_hard()

  // A new server that replicates this one. With `synchronous`, this one waits for it at each commit, even while it is
  // down. Either may be destroyed first.
  std::unique_ptr<PostgresServer> make_standby(bool synchronous);
  void promote();  // of a standby: waits until it accepts writes

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  explicit PostgresServer(std::unique_ptr<Parts> parts);  // a folder and a port without a server
  void wait_at_commit_for(const std::string& standby);
};

// Debian's PgBouncer in transaction mode in front of a server.
class PgBouncer {
 public:
  explicit PgBouncer(const PostgresServer& server);
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  // The same database as `url`, through the pooler.
  std::string url_of(const std::string& url) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace horae::testing
