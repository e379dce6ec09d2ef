#include "tests/support/postgres_server.h"

#include <libpq-fe.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "tests/support/server_process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersions = "/usr/lib/postgresql";  // Debian's: a folder for each major version
constexpr const char* kMaintenance = "postgres";  // connected to while other databases are made, copied and dropped

// For all servers. Replication is always enabled, since a standby may be added later. Two settings save time: a standby
// retries its primary ten times a second (default: every 5 s), and recovery syncs the file system once instead of each
// file (which takes 2 s). Shared memory for parallel workers is in the data folder, so that kill_hard() leaks none.
constexpr const char* kSettings =
    "listen_addresses = '127.0.0.1'\n"
    "unix_socket_directories = ''\n"
    "max_connections = 100\n"
    "shared_buffers = 128MB\n"
    "log_min_messages = warning\n"
    "autovacuum = on\n"
    "wal_level = replica\n"
    "max_wal_senders = 4\n"
    "hot_standby = on\n"
    "wal_retrieve_retry_interval = 100ms\n"
    "recovery_init_sync_method = syncfs\n"
    "dynamic_shared_memory_type = mmap\n";
constexpr const char* kQuickSettings =
    "fsync = off\n"
    "full_page_writes = off\n"
    "synchronous_commit = off\n";

// The path of one of PostgreSQL's programs, of the newest version that is installed.
std::string program(const std::string& name) {
  int newest = 0;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(kVersions, absent)) {
    if (!fs::exists(entry.path() / "bin" / name)) continue;
    newest = std::max(newest, std::atoi(entry.path().filename().c_str()));
  }
  if (newest == 0) die(name + " not found below " + kVersions + ": tools/setup.sh test");
  return std::string(kVersions) + "/" + std::to_string(newest) + "/bin/" + name;
}

std::string database_of(const std::string& url) {
  const std::string name = url.substr(url.rfind('/') + 1);
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  HORAE_CHECK(plain && !name.empty(), "a URL of PostgresServer: " + url);
  return name;
}

// The state (R, S, Z, ...) and the parent of a process. Nothing if the process does not exist.
struct Stat {
  char state = 0;
  pid_t parent = 0;
};

std::optional<Stat> stat_of(const std::string& pid) {
  std::string line;
  if (!std::getline(std::ifstream("/proc/" + pid + "/stat"), line)) return std::nullopt;
  // "12 (any name) S 1 ...": the name may hold anything, even ')'.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  Stat stat;
  fields >> stat.state >> stat.parent;
  return stat;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    const auto stat = stat_of(name);
    if (stat && stat->parent == parent) children.push_back(std::atoi(name.c_str()));
  }
  return children;
}

// A zombie that has not been waited for counts as gone: it holds no resources.
bool is_gone(pid_t pid) {
  const auto stat = stat_of(std::to_string(pid));
  return !stat || stat->state == 'Z' || stat->state == 'X';
}

// Removes the shared memory that a killed server leaves behind, and its pid file: a new process may get the same
// number, and then PostgreSQL would refuse to start. Only for a server whose processes are all gone.
void forget_process(const std::string& pid_file) {
  // The seventh line is "key id" of the System V shared memory that blocks a second server.
  std::ifstream file(pid_file);
  std::string line;
  for (int number = 1; number <= 7; ++number) std::getline(file, line);
  std::istringstream fields(line);
  long key = 0;
  int id = -1;
  if (fields >> key >> id) shmctl(id, IPC_RMID, nullptr);
  fs::remove(pid_file);
}

// A new folder in memory; empty if there is no such file system, too little room in it, or TMPDIR is set, which wins.
std::string make_folder_in_memory() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr std::uintmax_t kEnough = std::uintmax_t{1} << 30U;
  std::error_code absent;
  const auto space = fs::space(kMemory, absent);
  if (std::getenv("TMPDIR") != nullptr || absent || space.available < kEnough) return "";
  std::string path = std::string(kMemory) + "/horae-XXXXXX";
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

// A folder that is removed with the server. For a quick server it is in memory if possible, where a suite that copies a
// database for each test takes a third of the time.
class ServerFolder {
 public:
  explicit ServerFolder(bool quick) : in_memory_(quick ? make_folder_in_memory() : "") {
    if (in_memory_.empty()) on_disk_.emplace();
  }
  ~ServerFolder() {
    std::error_code ignored;
    if (!in_memory_.empty()) fs::remove_all(in_memory_, ignored);
  }
  ServerFolder(const ServerFolder&) = delete;
  ServerFolder& operator=(const ServerFolder&) = delete;

  const std::string& path() const { return on_disk_ ? on_disk_->path() : in_memory_; }

 private:
  const std::string in_memory_;  // or empty
  std::optional<TemporaryFolder> on_disk_;
};

}  // namespace

struct PostgresServer::Parts {
  explicit Parts(bool is_durable) : durable(is_durable), folder(!is_durable) {}

  const bool durable;
  ServerFolder folder;
  ReservedPort port;
  std::unique_ptr<ServerProcess> process;  // while it is started; ends before its folder does
  int databases_made = 0;
  std::vector<std::string> synchronous_standbys;

  std::string data() const { return folder.path() + "/data"; }
  std::string log() const { return folder.path() + "/log"; }
};

PostgresServer::PostgresServer(PostgresOptions options) : PostgresServer(std::make_unique<Parts>(options.durable)) {
  run_tool({program("initdb"), "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username=horae",
            "--no-instructions", "--pgdata=" + parts_->data()},
           parts_->log());
  std::ofstream settings(parts_->data() + "/postgresql.conf", std::ios::app);
  settings << kSettings << (options.durable ? "" : kQuickSettings);
  for (const std::string& line : options.settings) settings << line << "\n";
  settings.close();
  start();
  run_sql("CREATE DATABASE horae", kMaintenance);
}

PostgresServer::PostgresServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {
  give_to_servers(parts_->folder.path());
}

PostgresServer::~PostgresServer() {
  // Immediate, without a checkpoint: the data is deleted anyway. Unlike SIGKILL, this leaks nothing in the kernel.
  if (parts_->process) parts_->process->end_with(SIGQUIT);
}

int PostgresServer::port() const { return parts_->port.number(); }

pid_t PostgresServer::pid() const { return parts_->process->pid(); }

std::string PostgresServer::url(const std::string& database) const {
  return "postgresql://horae@127.0.0.1:" + std::to_string(port()) + "/" + database;
}

std::string PostgresServer::make_database() {
  // Includes the port, since a standby inherits the databases of its primary.
  const std::string name = "test_" + std::to_string(port()) + "_" + std::to_string(++parts_->databases_made);
  run_sql("CREATE DATABASE " + name, kMaintenance);
  return url(name);
}

std::string PostgresServer::copy_database(const std::string& url) {
  const std::string name = "copy_" + std::to_string(port()) + "_" + std::to_string(++parts_->databases_made);
  run_sql("CREATE DATABASE " + name + " TEMPLATE " + database_of(url), kMaintenance);
  return this->url(name);
}

void PostgresServer::drop_database(const std::string& url) {
  run_sql("DROP DATABASE " + database_of(url) + " WITH (FORCE)", kMaintenance);
}

std::string PostgresServer::run_sql(const std::string& sql, const std::string& database) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url(database).c_str()), &PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    die("cannot run \"" + sql + "\": " + PQerrorMessage(connection.get()));
  }
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), sql.c_str()), &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    die("cannot run \"" + sql + "\": " + PQerrorMessage(connection.get()));
  }
  return PQntuples(result.get()) > 0 && PQnfields(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

void PostgresServer::stop() {
  if (!parts_->process) return;
  const int status = parts_->process->end_with(SIGINT);  // "fast": disconnects clients
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    die("PostgreSQL did not stop in order. " + parts_->process->log());
  parts_->process.reset();
}

void PostgresServer::kill_hard() {
  if (!parts_->process) return;
  const pid_t postmaster = parts_->process->pid();
  // Each of its processes leads its own session, so there is no group to kill. The postmaster is stopped first, so that
  // it neither starts another process nor notices that they die.
  int status = 0;
  kill(postmaster, SIGSTOP);
  HORAE_CHECK(waitpid(postmaster, &status, WUNTRACED) == postmaster && WIFSTOPPED(status),
              "the postmaster must still be running");
  const std::vector<pid_t> children = children_of(postmaster);
  for (const pid_t child : children) kill(child, SIGKILL);
  parts_->process->end_with(SIGKILL);
  const bool gone = wait_until([&] { return std::all_of(children.begin(), children.end(), is_gone); });
  HORAE_CHECK(gone, "SIGKILL must end every process");
  parts_->process.reset();
  forget_process(parts_->data() + "/postmaster.pid");
}

void PostgresServer::start() {
  HORAE_CHECK(!parts_->process, "start() needs stop() or kill_hard() first");
  const std::vector<std::string> command = {program("postgres"), "-D", parts_->data(), "-p", std::to_string(port())};
  parts_->process = std::make_unique<ServerProcess>(command, parts_->log());
  const std::string any = url(kMaintenance);
  parts_->process->wait_until_ready([&] { return PQping(any.c_str()) == PQPING_OK; });
}

std::unique_ptr<PostgresServer> PostgresServer::make_standby(bool synchronous) {
  std::unique_ptr<PostgresServer> standby(new PostgresServer(std::make_unique<Parts>(parts_->durable)));
  const std::string name = "standby_" + std::to_string(standby->port());
  run_tool(
      {program("pg_basebackup"), "--pgdata=" + standby->parts_->data(), "--write-recovery-conf", "--wal-method=stream",
       "--checkpoint=fast", "--no-sync", "--dbname=" + url("") + "?application_name=" + name},
      standby->parts_->log());
  standby->start();
  // Inherited from the primary. Those standbys do not follow this one, so once promoted it would wait forever.
  standby->run_sql("ALTER SYSTEM RESET synchronous_standby_names", kMaintenance);
  standby->run_sql("SELECT pg_reload_conf()", kMaintenance);

  if (synchronous) wait_at_commit_for(name);
  const std::string expected = synchronous ? "sync" : "async";
  const std::string follows = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '" +
                              expected + "' AND application_name = '" + name + "'";
  if (!wait_until([&] { return run_sql(follows, kMaintenance) == "1"; })) {
    die(name + " does not follow its primary. " + standby->parts_->process->log());
  }
  // Commits wait only after the checkpointer has read the setting as well, which it does before each checkpoint.
  if (synchronous) run_sql("CHECKPOINT", kMaintenance);
  return standby;
}

void PostgresServer::wait_at_commit_for(const std::string& standby) {
  std::vector<std::string>& all = parts_->synchronous_standbys;
  all.push_back(standby);
  std::string names = "FIRST " + std::to_string(all.size()) + " (";
  for (const std::string& name : all) names += (name == all.front() ? "" : ", ") + name;
  run_sql("ALTER SYSTEM SET synchronous_standby_names = '" + names + ")'", kMaintenance);
  // Off without `durable`; then no commit would wait.
  run_sql("ALTER SYSTEM SET synchronous_commit = on", kMaintenance);
  run_sql("SELECT pg_reload_conf()", kMaintenance);
}

void PostgresServer::promote() {
  if (run_sql("SELECT pg_promote(wait => true, wait_seconds => 60)", kMaintenance) != "t") {
    die("the standby was not promoted. " + parts_->process->log());
  }
}

}  // namespace horae::testing
