# cmake -DFILES=a;b -DFUNCTION=name -DOUTPUT=file.cc -P EmbedMigrations.cmake: see horae_embed_migrations().
#
# Each line of SQL becomes a raw string literal of its own, and the compiler joins them: one literal has a limit.

set(rows "")
set(expected 0)
foreach(path IN LISTS FILES)
  math(EXPR expected "${expected} + 1")
  get_filename_component(file "${path}" NAME)
  if(NOT file MATCHES "^([0-9][0-9][0-9][0-9])_([a-z0-9_]+)[.]sql$")
    message(FATAL_ERROR "${path}: a migration is named like 0001_tasks.sql")
  endif()
  set(digits "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}")
  string(REGEX REPLACE "^0+" "" version "${digits}")
  if(NOT version STREQUAL expected)
    message(FATAL_ERROR "${path}: the next migration has the number ${expected}; they run from 1 without gaps")
  endif()
  file(READ "${path}" sql)
  string(FIND "${sql}" ")sql\"" end_of_literal)
  if(NOT end_of_literal EQUAL -1)
    message(FATAL_ERROR "${path}: the text )sql\" cannot be in a migration")
  endif()
  string(REPLACE "\n" "\n)sql\"\n    R\"sql(" sql "${sql}")
  string(APPEND rows "    {${version}, \"${name}\",\n    R\"sql(${sql})sql\"},\n")
endforeach()
if(rows STREQUAL "")
  message(FATAL_ERROR "${FUNCTION}: there are no migrations")
endif()

file(WRITE "${OUTPUT}" "// Made by cmake/EmbedMigrations.cmake.
#include \"store/migrations.h\"

// Clang counts the joined literals.
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace horae {

std::span<const Migration> ${FUNCTION}();

std::span<const Migration> ${FUNCTION}() {
  static constexpr Migration kMigrations[] = {
${rows}  };
  return kMigrations;
}

}  // namespace horae
")
