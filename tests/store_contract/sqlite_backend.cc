#include "tests/store_contract/sqlite_backend.h"

#include <string>
#include <utility>

#include "base/clock.h"
#include "stores/sqlite/sqlite_store.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

class SqliteBackend final : public Backend {
 public:
  explicit SqliteBackend(bool in_memory) : in_memory_(in_memory) { open(); }

  Store& store() override { return *store_; }
  void advance(Duration by) override { clock_.advance(by); }
  void step_clock(Duration by) override { clock_.step_wall(by); }

  bool reopen() override {
    if (in_memory_) return false;
    store_.reset();
    open();
    return true;
  }

 private:
  void open() {
    const std::string url = in_memory_ ? std::string(kSqliteMemory) : "sqlite:" + folder_.path() + "/horae.db";
    store_ = std::move(open_sqlite_store(url, clock_)).value();
  }

  const bool in_memory_;
  TemporaryFolder folder_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
};

}  // namespace

std::unique_ptr<Backend> make_sqlite_backend() { return std::make_unique<SqliteBackend>(false); }

std::unique_ptr<Backend> make_sqlite_memory_backend() { return std::make_unique<SqliteBackend>(true); }

}  // namespace horae::testing
