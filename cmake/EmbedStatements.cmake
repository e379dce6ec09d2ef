# cmake -DFILES=a;b -DFUNCTION=name -DOUTPUT=file.cc -P EmbedStatements.cmake: see horae_embed_statements().
#
# The characters that mean something in a list of CMake are replaced while the lines are one.

string(ASCII 1 semicolon)
string(ASCII 2 open_bracket)
string(ASCII 3 close_bracket)
string(ASCII 4 backslash)

set(names "")
foreach(path IN LISTS FILES)
  file(READ "${path}" lines)
  string(REPLACE "\\" "${backslash}" lines "${lines}")
  string(REPLACE ";" "${semicolon}" lines "${lines}")
  string(REPLACE "[" "${open_bracket}" lines "${lines}")
  string(REPLACE "]" "${close_bracket}" lines "${lines}")
  string(REPLACE "\n" ";" lines "${lines}")
  set(name "")         # of the statement that is being read; empty between statements
  set(number 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    string(STRIP "${line}" line)
    if(line MATCHES "^-- name: ([a-z][a-z0-9_]*)$")
      if(name)
        message(FATAL_ERROR "${path}:${number}: the statement ${name} before this one does not end with a semicolon")
      endif()
      set(name "${CMAKE_MATCH_1}")
      if(DEFINED place_of_${name})
        message(FATAL_ERROR "${path}:${number}: the name ${name} is taken: ${place_of_${name}}")
      endif()
      set(place_of_${name} "${path}:${number}")
      set(text_of_${name} "")
      list(APPEND names "${name}")
    elseif(line MATCHES "^-- *name" OR (NOT name AND NOT line STREQUAL "" AND NOT line MATCHES "^--"))
      message(FATAL_ERROR "${path}:${number}: a statement begins with a line like \"-- name: lock_running\"")
    elseif(name AND NOT line STREQUAL "" AND NOT line MATCHES "^--")
      if(line MATCHES "--")
        message(FATAL_ERROR "${path}:${number}: a comment has lines of its own")
      endif()
      if(NOT text_of_${name} STREQUAL "")
        string(APPEND text_of_${name} " ")
      endif()
      string(APPEND text_of_${name} "${line}")
      if(line MATCHES "${semicolon}$")
        string(REGEX REPLACE " *${semicolon}$" "" text_of_${name} "${text_of_${name}}")
        if(text_of_${name} MATCHES "${semicolon}" OR text_of_${name} STREQUAL "")
          message(FATAL_ERROR "${path}:${number}: ${name} is not one statement")
        endif()
        set(name "")
      endif()
    endif()
  endforeach()
  if(name)
    message(FATAL_ERROR "${path}: the statement ${name} does not end with a semicolon")
  endif()
endforeach()
if(names STREQUAL "")
  message(FATAL_ERROR "${FUNCTION}: there are no statements")
endif()

list(SORT names)
set(rows "")
foreach(name IN LISTS names)
  set(text "${text_of_${name}}")
  string(REPLACE "${open_bracket}" "[" text "${text}")
  string(REPLACE "${close_bracket}" "]" text "${text}")
  string(REPLACE "${backslash}" "\\" text "${text}")
  string(APPEND rows "      {\"${name}\", R\"sql(${text})sql\"},\n")
endforeach()

file(WRITE "${OUTPUT}" "// Made by cmake/EmbedStatements.cmake.
#include \"stores/statements.h\"

namespace horae {

std::span<const Statement> ${FUNCTION}();

std::span<const Statement> ${FUNCTION}() {
  static constexpr Statement kStatements[] = {
${rows}  };
  return kStatements;
}

}  // namespace horae
")
