#include "tests/store_contract/postgres_backend.h"

#include <libpq-fe.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/time_text.h"
#include "stores/postgres/postgres_store.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

// The server and, in it, an empty database of the newest version whose clock is a table: what each test gets a copy of.
struct World {
  PostgresServer server{{.durable = false, .settings = {}}};
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

// Ends before the server does. Dropping a test's database also ends the pooler's connections to it.
PgBouncer& pooler() {
  static PgBouncer pooler(world().server);
  return pooler;
}

class PostgresBackend final : public Backend {
 public:
  explicit PostgresBackend(bool pooled)
      : url_(world().server.copy_database(world().original)),
        store_url_(pooled ? pooler().url_of(url_) : url_),
        clock_(PQconnectdb(url_.c_str())) {
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
    store_ = std::move(open_postgres_store(store_url_, options)).value();
  }

  const std::string url_;
  const std::string store_url_;
  PGconn* const clock_;  // moves the store's clock
  std::unique_ptr<Store> store_;
};

}  // namespace

std::unique_ptr<Backend> make_postgres_backend() { return std::make_unique<PostgresBackend>(false); }
std::unique_ptr<Backend> make_pgbouncer_backend() { return std::make_unique<PostgresBackend>(true); }

}  // namespace horae::testing
