// Reads tasks, without blocking the writer.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/list.h"
#include "store/task_store.h"
#include "stores/list_cursor.h"
#include "stores/sqlite/database.h"
#include "stores/sqlite/task_row.h"

namespace horae::sqlite {

// Each call sees the database at one moment.
//
// Thread-safe; calls are serialized.
class Reader {
 public:
  // The database has the newest schema. The clock must outlive the reader. In memory, the connection is also the
  // writer's.
  Reader(std::shared_ptr<Connection> connection, const Clock& clock);

  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids);
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key);
  Result<Page> list(const ListQuery& query);
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token);
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens);

 private:
  using Place = ListPosition;

  // The tasks of `query` after `start` in the order of its list, `most` at most; what its filters leave out is still
  // among them.
  std::vector<Place> examine(const ListQuery& query, const Place& start, std::size_t most);
  std::vector<Place> examine_ready(const ListQuery& query, const Place& from, std::size_t most);
  static std::vector<Place> read_places(Statement& rows);

  Page fill(const ListQuery& query, const std::vector<Place>& places, std::size_t most);
  static bool matches(const ListQuery& query, const Task& task);

  std::optional<Task> read_task(std::optional<std::int64_t> number);  // without its history
  void add_history(Task& task);

  // Runs `body` in a read transaction.
  template <typename T, typename Body>
  Result<T> look(Body body);

  std::shared_ptr<Connection> connection_;
  Database& database_;
  const Clock& clock_;
  // All guarded by the connection's mutex.
  Statement number_of_id_;
  Statement number_of_key_;
  TaskRowReader task_;
  Statement checkpoint_;
  Statement errors_;
  Statement trail_;
  Statement scheduled_;
  Statement ready_;
  Statement running_;
  Statement newest_;
  Statement queues_;
  Statement of_token_;
  Statement has_served_;
};

}  // namespace horae::sqlite
