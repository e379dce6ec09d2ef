# Language level, warnings, hardening and sanitizers: the same for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

include(CheckPIESupported)
check_pie_supported()

# Libraries and programs are compiled alike, so that they can share precompiled headers.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE "-fPIC")

# GCC's precompiled headers: measured in docs/internals/build-time.md. Clang (lint, fuzzing) reads the headers themselves.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  option(HORAE_PRECOMPILE "Precompile the headers that most sources include" ON)
else()
  set(HORAE_PRECOMPILE OFF)
endif()

# With precompiled headers, ccache must be allowed to trust that what they define has not changed; they are hashed.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_SLOPPINESS=pch_defines,time_macros" "${CCACHE_PROGRAM}")
  if(HORAE_PRECOMPILE)
    add_compile_options(-fpch-preprocess)
  endif()
endif()

if(HORAE_PRECOMPILE)
  # GCC 12 no longer sees that std::string is in a system header, and warns of its insides (GCC bug 105651).
  set(HORAE_FALSE_ALARMS -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
add_compile_options(
  -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-align -Wformat=2 -Wimplicit-fallthrough -Wextra-semi
  # A designated initializer may leave out what has its default: that is what it is for.
  -Wno-missing-field-initializers ${HORAE_FALSE_ALARMS})

if(HORAE_SANITIZE STREQUAL "address")
  set(HORAE_SANITIZE_FLAGS -O1 -g -fno-omit-frame-pointer -Wno-maybe-uninitialized
      -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(HORAE_SANITIZE STREQUAL "thread")
  # GCC warns that atomic_thread_fence is invisible to its TSan; Asio's headers use it.
  set(HORAE_SANITIZE_FLAGS -O1 -g -Wno-maybe-uninitialized -fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-error=tsan)
  endif()
elseif(NOT HORAE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HORAE_SANITIZE is '${HORAE_SANITIZE}': give address, thread or nothing")
endif()
if(HORAE_FUZZERS)
  set(HORAE_SANITIZE_FLAGS -O1 -g -fno-omit-frame-pointer
      -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
endif()
add_compile_options(${HORAE_SANITIZE_FLAGS})
add_link_options(${HORAE_SANITIZE_FLAGS})

# tools/check_hardening.py looks for the traces of these in the finished binary.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS
                      -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
