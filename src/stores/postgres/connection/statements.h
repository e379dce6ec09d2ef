// The SQL statements of this store, by name. They are written in the .sql files beside the code that sends them:
// stores/statements.h.
#pragma once

#include <span>
#include <string_view>

#include "stores/postgres/connection/connection.h"
#include "stores/statements.h"

namespace horae {

// All of them, built into the program.
std::span<const Statement> postgres_statements();

namespace postgres {

// An unknown name stops the program, and so does an insert, update or delete that does not say how many rows it must
// change. May be called by initializers of static objects.
Sql statement(std::string_view name, Changes changes = Changes::kNone);

}  // namespace postgres
}  // namespace horae
