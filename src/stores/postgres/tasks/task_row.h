// The rows of tasks: how the members of NewTask and Task lie in the database.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/task.h"
#include "stores/postgres/connection/connection.h"

namespace horae::postgres {

struct NewEntry;

// Sends the statements that insert what the clients submitted.
void insert_task_rows(Transaction& transaction, const std::vector<NewEntry>& entries);

// As the database keeps it: no limit is null.
std::optional<std::int32_t> attempts_limit(const NewTask& task);

// Both answer rows for read_task_row().
extern const Sql kReadTasks;
extern const Sql kListTasks;
constexpr int kPlaceOfTask = 27;  // their last column: the place in the list of numbers, from 1

// A task without its history.
Task read_task_row(const Row& row);

}  // namespace horae::postgres
