// The SQL statements of a store: written in .sql files beside the code that sends them, built in by
// horae_embed_statements() (cmake/HoraeTargets.cmake).
//
// Each statement of a file looks like this:
//
//   -- name: lock_running
//   -- Locks the running ranges with any of the numbers, lowest first.
//   -- $1 bigint[]: the first numbers
//   -- Index: running_pkey
//   -- Locks: the rows, in the order of their numbers
//   select ...
//     from ...;
//
// The text has neither the comments nor the indentation nor the semicolon; its lines are joined. Names are unique within
// a store. tools/check_statements.py checks the comments, and that each statement is used by exactly one place in C++.
#pragma once

#include <span>
#include <string_view>

namespace horae {

// The views live as long as the program.
struct Statement {
  std::string_view name;
  std::string_view text;
};

// The text of the statement with that name; a name that is not in the table stops the program. `table` is sorted by
// names, as all that are built in. Those are constant-initialized, so this may be called by initializers of other
// static objects.
std::string_view statement_text(std::span<const Statement> table, std::string_view name);

}  // namespace horae
