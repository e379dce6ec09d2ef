#include <libpq-fe.h>

#include <csignal>
#include <fstream>

#include "base/check.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

constexpr const char* kProgram = "/usr/sbin/pgbouncer";

// Every client is accepted and becomes the server's superuser. While the server is down, clients wait for 5 s before
// they are refused (default: 2 minutes), and PgBouncer reconnects within 100 ms (default: 15 s).
void write_settings(const std::string& path, int port, int server_port) {
  std::ofstream(path) << "[databases]\n"
                      << "* = host=127.0.0.1 port=" << server_port << " user=horae\n"
                      << "[pgbouncer]\n"
                      << "listen_addr = 127.0.0.1\n"
                      << "listen_port = " << port << "\n"
                      << "unix_socket_dir =\n"
                      << "auth_type = any\n"
                      << "pool_mode = transaction\n"
                      << "default_pool_size = 8\n"
                      << "max_client_conn = 200\n"
                      << "query_wait_timeout = 5\n"
                      << "server_login_retry = 0.1\n";
}

}  // namespace

struct PgBouncer::Parts {
  TemporaryFolder folder;
  ReservedPort port;
  std::unique_ptr<ServerProcess> process;
};

PgBouncer::PgBouncer(const PostgresServer& server) : parts_(std::make_unique<Parts>()) {
  const std::string settings = parts_->folder.path() + "/pgbouncer.ini";
  write_settings(settings, parts_->port.number(), server.port());
  give_to_servers(parts_->folder.path());
  parts_->process =
      std::make_unique<ServerProcess>(std::vector<std::string>{kProgram, settings}, parts_->folder.path() + "/log");
  const std::string url = url_of(server.url("postgres"));
  parts_->process->wait_until_ready([&] { return PQping(url.c_str()) == PQPING_OK; });
}

PgBouncer::~PgBouncer() { parts_->process->end_with(SIGTERM); }

std::string PgBouncer::url_of(const std::string& url) const {
  const std::size_t host = url.find('@') + 1;
  const std::size_t path = url.find('/', host);
  HORAE_CHECK(host != 0 && path != std::string::npos, "a URL of PostgresServer: " + url);
  return url.substr(0, host) + "127.0.0.1:" + std::to_string(parts_->port.number()) + url.substr(path);
}

}  // namespace horae::testing
