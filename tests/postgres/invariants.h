// What must hold of the PostgreSQL store's tables whenever no transaction is open, checked by plain SQL and not through
// the store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/task.h"
#include "stores/postgres/postgres_store.h"

struct pg_conn;  // libpq's

namespace horae::testing {

// A connection of the test's own. A statement that fails stops the program. Not thread-safe.
class Observer {
 public:
  explicit Observer(const std::string& url);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  using Table = std::vector<std::vector<std::string>>;  // rows of texts; a null is empty
  Table ask(const std::string& sql);
  std::string value(const std::string& sql);  // the first one; empty without rows

  // Lets a moment pass, on the server: between two looks at something that will happen.
  void pause() { (void)value("select pg_sleep(0.005)"); }

 private:
  pg_conn* const connection_;
};

// One line for each rule that is broken, with examples. None if all is well:
//   each number is in exactly one of delayed, run, lease and outcome, and has a task; no two ranges overlap;
//   a range speaks of the queue of its tasks, and brings a result for each of them or for none;
//   the tally agrees with what has finished;
//   keys and ids lead to their tasks, and nothing is left of tasks that are gone.
std::vector<std::string> broken_invariants(Observer& database);

// Where a task stands.
struct Stand {
  State state = State::kScheduled;
  int attempt = 0;
  std::string owner;  // while running, and of the attempt that ended the task

  friend bool operator==(const Stand&, const Stand&) = default;
};
std::map<TaskId, Stand> all_stands(Observer& database);

// Options for a server that need not survive.
PostgresStoreOptions quick_store_options();

// The last part of a database's URL.
std::string name_of_database(const std::string& url);

}  // namespace horae::testing
