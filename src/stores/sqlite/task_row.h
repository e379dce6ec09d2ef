// The rows of tasks: how the members of NewTask and Task lie in the database.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/task.h"
#include "stores/sqlite/database.h"

namespace horae::sqlite {

// What Horae adds to a submission.
struct NewTaskRow {
  std::int64_t number = 0;
  std::int64_t queue = 0;
  TaskId id;
  Instant created_at;
  std::string_view digest;
};

// Inside a transaction.
class TaskRowInserter {
 public:
  explicit TaskRowInserter(Database& database);

  // False if its id or its key is taken: nothing is stored then.
  bool insert(const NewTaskRow& row, const NewTask& task);

 private:
  Statement statement_;
};

struct TaskRow {
  Task task;  // without its checkpoint, errors and trail
  bool has_checkpoint = false;
};

class TaskRowReader {
 public:
  explicit TaskRowReader(Database& database);

  std::optional<TaskRow> read(std::int64_t number);

 private:
  Statement statement_;
};

}  // namespace horae::sqlite
