// The SQL statements of this store, by name. They are written in the .sql files beside the code that runs them:
// stores/statements.h.
#pragma once

#include <span>
#include <string_view>

#include "stores/statements.h"

namespace horae {

// All of them, built into the program.
std::span<const Statement> sqlite_statements();

namespace sqlite {

// The text of a statement. An unknown name stops the program.
inline std::string_view statement(std::string_view name) { return statement_text(sqlite_statements(), name); }

}  // namespace sqlite
}  // namespace horae
