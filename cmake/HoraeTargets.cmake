# The few kinds of targets that Horae has.

# horae_precompiled(target): its sources include cmake/precompiled/standard.h in the form that GCC has made of it once.
# A source must still include what it uses: `make lint` and `make clang` compile without this.
function(horae_precompiled target)
  if(HORAE_PRECOMPILE)
    if(NOT TARGET horae_precompiled_standard)
      add_library(horae_precompiled_standard STATIC "${CMAKE_SOURCE_DIR}/cmake/precompiled/nothing.cc")
      target_link_libraries(horae_precompiled_standard PRIVATE fmt::fmt)
      target_precompile_headers(horae_precompiled_standard PRIVATE "${CMAKE_SOURCE_DIR}/cmake/precompiled/standard.h")
    endif()
    target_precompile_headers(${target} REUSE_FROM horae_precompiled_standard)
  endif()
endfunction()

# horae_unity(target): its sources are compiled in groups, each as one source, which shares the cost of headers and
# templates. For code that is compiled as a whole far more often than one file of it is edited: tests, the simulator's own
# part. Names in unnamed namespaces must differ within a target.
function(horae_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# horae_test_code(target): its sources are compiled in the way that costs least, because tests are compiled far more
# often than they run, and the code under test is in libraries. Includes cmake/precompiled/testing.h.
function(horae_test_code target)
  horae_unity(${target})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE ${HORAE_TEST_OPTIONS})
  endif()
  if(HORAE_PRECOMPILE)
    if(NOT TARGET horae_precompiled_testing)
      find_package(GTest 1.12 REQUIRED CONFIG)
      add_library(horae_precompiled_testing STATIC "${CMAKE_SOURCE_DIR}/cmake/precompiled/nothing.cc")
      target_link_libraries(horae_precompiled_testing PRIVATE fmt::fmt GTest::gmock)
      target_precompile_headers(horae_precompiled_testing PRIVATE "${CMAKE_SOURCE_DIR}/cmake/precompiled/testing.h")
      if(CMAKE_BUILD_TYPE STREQUAL "Release")
        target_compile_options(horae_precompiled_testing PRIVATE ${HORAE_TEST_OPTIONS})
      endif()
    endif()
    target_precompile_headers(${target} REUSE_FROM horae_precompiled_testing)
  endif()
endfunction()
set(HORAE_TEST_OPTIONS -O0 "SHELL:-U_FORTIFY_SOURCE" -fno-stack-clash-protection -fno-stack-protector)

# horae_library(base SOURCES a.cc ... [PUBLIC lib ...] [PRIVATE lib ...])
# The static library horae_base of the folder src/base. Its sources include headers as "base/a.h".
function(horae_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(horae_${name} STATIC ${ARG_SOURCES})
  target_include_directories(horae_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(horae_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  horae_precompiled(horae_${name})
endfunction()

# horae_test(base_test SOURCES a_test.cc ... LIBS lib ...)
# One test binary; ctest knows each of its tests by name. Nothing is built with HORAE_TESTS off.
function(horae_test name)
  if(NOT HORAE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  horae_test_binary(${name} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS})
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()

# horae_service_test(postgres_contract_test SHARDS 4 SOURCES a_pgtest.cc ... LIBS lib ...)
# One test binary whose process starts a server. So that it does so only a few times, ctest knows not its tests but
# that many shards of them, name_1 to name_n.
function(horae_service_test name)
  if(NOT HORAE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SHARDS" "SOURCES;LIBS" ${ARGN})
  horae_test_binary(${name} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS})
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}_${shard} COMMAND ${name})
    set_tests_properties(${name}_${shard} PROPERTIES
      TIMEOUT 1800 ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# horae_kafka_test(kafka_test SOURCES a_kafkatest.cc ... LIBS lib ...)
# A test binary that shares one Kafka broker among its tests; ctest runs it as one test, after the broker was fetched.
function(horae_kafka_test name)
  if(NOT HORAE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  horae_test_binary(${name} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800 FIXTURES_REQUIRED kafka)
endfunction()

# What all kinds of tests are: an executable with GoogleTest and rapidcheck.
function(horae_test_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  find_package(GTest 1.12 REQUIRED CONFIG)
  find_package(rapidcheck REQUIRED CONFIG)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock_main rapidcheck rapidcheck_gtest)
  horae_test_code(${name})
endfunction()

# horae_fuzzer(fuzz_duration SOURCES duration.cc ... CORPUS dir LIBS lib ...)
# A fuzz target. With Clang (HORAE_FUZZERS) it explores: `make fuzz`. Otherwise it is a test that takes the same inputs
# at each run: those of its corpus and changes of them that a fixed seed makes (tests/fuzz/replay.cc).
function(horae_fuzzer name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  if(HORAE_FUZZERS)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE replay.cc)
    target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/src")
    horae_precompiled(${name})
    add_test(NAME ${name} COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
  endif()
endfunction()

# horae_embed_migrations(horae_sqlite migrations sqlite_migrations)
# Builds the files NNNN_name.sql of a folder into a target, as the function
# `std::span<const Migration> horae::sqlite_migrations()`, which the target's own header declares (store/migrations.h).
# A file that is added, changed or removed is noticed by the next build.
function(horae_embed_migrations target folder function)
  get_filename_component(folder "${folder}" ABSOLUTE)
  file(GLOB files CONFIGURE_DEPENDS "${folder}/*.sql")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${function}.cc")
  set(script "${CMAKE_SOURCE_DIR}/cmake/EmbedMigrations.cmake")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFILES=${files}" "-DFUNCTION=${function}" "-DOUTPUT=${output}" -P "${script}"
    DEPENDS ${files} "${script}"
    COMMENT "Embedding ${folder}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# horae_embed_statements(horae_stores_sqlite sqlite_statements tasks/settle.sql ...)
# Builds SQL statements into a target, as the function `std::span<const Statement> horae::sqlite_statements()`, which
# the target's own header declares (stores/statements.h says what such a file holds). They are sorted by their names; a
# name that comes twice fails the build.
function(horae_embed_statements target function)
  set(files "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    list(APPEND files "${file}")
  endforeach()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${function}.cc")
  set(script "${CMAKE_SOURCE_DIR}/cmake/EmbedStatements.cmake")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFILES=${files}" "-DFUNCTION=${function}" "-DOUTPUT=${output}" -P "${script}"
    DEPENDS ${files} "${script}"
    COMMENT "Embedding ${function}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
