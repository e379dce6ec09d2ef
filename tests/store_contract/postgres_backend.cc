#include "tests/store_contract/postgres_backend.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/time_text.h"
#include "stores/postgres/postgres_store.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

// Nothing here outlives the process, so it may stay in memory if there is enough: copying a database is ten times as
// fast there. Whoever sets TMPDIR decides.
PostgresOptions quick_options() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr std::uintmax_t kEnough = 2U << 30U;
  std::error_code absent;
  const auto space = std::filesystem::space(kMemory, absent);
  if (!absent && space.available >= kEnough) setenv("TMPDIR", kMemory, 0);
  return {.durable = false, .settings = {}};
}

// The server and, in it, an empty database of the newest version whose clock is a table: what each test gets a copy of.
struct World {
  PostgresServer server{quick_options()};
  std::string original = server.make_database();

  World() {
    HORAE_CHECK(migrate_postgres(original, false).ok(), "an empty database can be migrated");
    const std::string start = format_instant(ManualClock().wall_now());
    server.run_sql("CREATE TABLE test_clock AS SELECT timestamptz '" + start +
                       "' AS at;"
                       "CREATE OR REPLACE FUNCTION horae_now() RETURNS timestamptz LANGUAGE sql STABLE AS"
                       " 'SELECT at FROM test_clock'",
                   original.substr(original.rfind('/') + 1));
  }
};

World& world() {
  static World world;
  return world;
}

class PostgresBackend final : public Backend {
 public:
  PostgresBackend() : url_(world().server.copy_database(world().original)), clock_(PQconnectdb(url_.c_str())) {
    open();
  }

  ~PostgresBackend() override {
    store_.reset();
    PQfinish(clock_);
    world().server.drop_database(url_);
  }

  Store& store() override { return *store_; }
  void advance(Duration by) override { step_clock(by); }

  void step_clock(Duration by) override {
    const auto exact = std::chrono::floor<std::chrono::microseconds>(by).count();
    const std::string sql = "UPDATE test_clock SET at = at + " + std::to_string(exact) + " * interval '1 microsecond'";
    PGresult* result = PQexec(clock_, sql.c_str());
    HORAE_CHECK(PQresultStatus(result) == PGRES_COMMAND_OK, PQerrorMessage(clock_));
    PQclear(result);
  }

  bool reopen() override {
    store_.reset();
    open();
    return true;
  }

 private:
  void open() {
    const PostgresStoreOptions options{.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"},
                                       .purge_delay = Duration::zero()};
    store_ = std::move(open_postgres_store(url_, options)).value();
  }

  const std::string url_;
  PGconn* const clock_;  // moves the store's clock
  std::unique_ptr<Store> store_;
};

}  // namespace

std::unique_ptr<Backend> make_postgres_backend() { return std::make_unique<PostgresBackend>(); }

}  // namespace horae::testing
