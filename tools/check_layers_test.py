#!/usr/bin/env python3
"""Plants each kind of fault in a small tree and expects the message of tools/check_layers.py."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_layers  # noqa: E402 (found through the line above)
from planted_tree import PlantedTree  # noqa: E402

CLEAN_TREE = {
    "CMakeLists.txt": "\n".join(f"add_subdirectory({folder})" for folder in (
        "src/base", "src/model", "src/net", "src/http", "src/store", "src/stores", "src/engine", "src/api", "src/app",
        "tests")),
    "include/horae/client.h": '// The client.\n#pragma once\n#include <string>\n#include "horae/types.h"\n',
    "include/horae/types.h": "#pragma once\n#include <cstdint>\n",
    "src/base/CMakeLists.txt": "horae_library(base SOURCES clock.cc log.cc random.cc)\n"
                               "horae_test(base_test SOURCES clock_test.cc)\n",
    "src/base/clock.h": "/* Time. */\n#pragma once\n#include <chrono>\n",
    "src/base/clock.cc": '#include "base/clock.h"\nauto t = std::chrono::system_clock::now();\n',
    "src/base/clock_test.cc": '#include <gtest/gtest.h>\n#include "base/clock.h"\n#include "tests/support/world.h"\n',
    "src/base/log.cc": "#include <spdlog/logger.h>\n",
    "src/base/random.cc": "std::random_device device;\n",
    "src/model/CMakeLists.txt": "horae_library(model SOURCES task.cc)\n",
    "src/model/task.h": "#pragma once\n",
    "src/model/task.cc": '#include "model/task.h"\n\n#include "base/clock.h"\n#include "horae/types.h"\n',
    "src/net/CMakeLists.txt": "horae_library(net SOURCES client.cc)\n",
    "src/net/client.h": "#pragma once\n",
    "src/net/client.cc": "#include <curl/curl.h>\n#include <net/if.h>\n",
    "src/store/CMakeLists.txt": "",
    "src/store/task_store.h": '#pragma once\n#include "model/task.h"\n',
    "src/stores/CMakeLists.txt": "add_subdirectory(sqlite)\nadd_subdirectory(postgres)\n",
    "src/stores/rows.h": "#pragma once\n",
    "src/stores/sqlite/CMakeLists.txt": "horae_library(sqlite SOURCES store.cc)\n",
    "src/stores/sqlite/store.h": '#pragma once\n#include "store/task_store.h"\n#include "stores/rows.h"\n',
    "src/stores/sqlite/store.cc": '#include "stores/sqlite/store.h"\n#include <sqlite3.h>\n',
    "src/stores/postgres/CMakeLists.txt": "horae_library(postgres SOURCES store.cc)\n"
                                          "horae_test(t SOURCES store_pgtest.cc)\n",
    "src/stores/postgres/store.h": "#pragma once\n",
    "src/stores/postgres/store.cc": "#include <libpq-fe.h>\n",
    "src/stores/postgres/store_pgtest.cc": '#include "stores/postgres/store.h"\n#include "tests/support/world.h"\n',
    "src/engine/CMakeLists.txt": "horae_library(engine SOURCES monitor.cc)\n",
    "src/engine/monitor.h": "#pragma once\n",
    "src/engine/monitor.cc": '#include "engine/monitor.h"\n#include "store/task_store.h"\nauto t = clock_.now();\n',
    "src/http/CMakeLists.txt": "horae_library(http SOURCES timers.cc)\n",
    "src/http/timers.cc": "#include <boost/asio/steady_timer.hpp>\nauto t = std::chrono::steady_clock::now();\n",
    "src/app/CMakeLists.txt": "horae_library(app SOURCES wiring.cc)\n",
    "src/app/wiring.cc": '#include "stores/sqlite/store.h"\n#include "engine/monitor.h"\nauto x = time(nullptr);\n',
    "tests/CMakeLists.txt": "add_subdirectory(e2e)\n",
    "tests/support/world.h": "#pragma once\ninline void pause() { std::this_thread::sleep_for(1ms); }\n",
    "tests/e2e/CMakeLists.txt": "horae_test(e2e SOURCES serve_test.cc)\n",
    "tests/e2e/serve_test.cc": '#include "cli/anything.h"\nbool ok = future.wait_for(5s) == ready;\n',
}


class CheckLayersTest(PlantedTree):
    tool = check_layers
    files = CLEAN_TREE

    def append(self, path: str, text: str) -> int:
        """Adds a line to a file and returns its number."""
        before = (self.root / path).read_text("utf-8")
        self.write(path, before + text + "\n")
        return before.count("\n") + 1

    def expect_one_fault(self, start: str, *parts: str) -> None:
        faults = self.faults()
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(start), faults[0])
        for part in parts:
            self.assertIn(part, faults[0])

    def expect_fault_of_line(self, path: str, line: str, *parts: str) -> None:
        number = self.append(path, line)
        self.expect_one_fault(f"{path}:{number}: ", *parts)

    def expect_clean_with(self, path: str, text: str) -> None:
        self.append(path, text)
        self.assertEqual(self.faults(), [])

    # ---- The command ----

    def test_a_clean_tree_passes_with_one_summary_line(self):
        result = self.run_tool()
        count = sum(path.endswith((".h", ".cc")) for path in CLEAN_TREE)
        self.assertEqual((result.returncode, result.stdout), (0, f"layers: {count} files, 0 faults\n"))

    def test_a_fault_gives_exit_code_1_and_one_line(self):
        self.append("src/model/task.h", '#include "engine/monitor.h"')
        result = self.run_tool()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, 'src/model/task.h:2: includes "engine/monitor.h", but engine is above model '
                                        "(model may include only base)\n")

    def test_a_root_without_sources_is_an_error_and_not_a_pass(self):
        self.root = self.root / "docs"
        self.assertEqual(self.run_tool().returncode, 2)

    # ---- Layers ----

    def test_an_upward_include_is_a_fault(self):
        self.expect_fault_of_line("src/base/clock.h", '#include "model/task.h"', "model is above base")

    def test_a_sideways_include_is_a_fault(self):
        self.expect_fault_of_line("src/store/task_store.h", '#include "net/client.h"', "net is beside store",
                                  "store may include only base, model")

    def test_engine_does_not_include_the_stores(self):
        self.expect_fault_of_line("src/engine/monitor.cc", '#include "stores/rows.h"', "stores is beside engine")

    def test_the_two_stores_do_not_include_each_other(self):
        self.expect_fault_of_line("src/stores/sqlite/store.cc", '#include "stores/postgres/store.h"',
                                  "sqlite and postgres must not include each other")

    def test_the_folder_of_the_stores_includes_neither_store(self):
        self.expect_fault_of_line("src/stores/rows.h", '#include "stores/sqlite/store.h"')

    def test_the_http_server_does_not_include_the_model(self):
        self.write("src/http/server.h", "#pragma once\n")
        self.expect_fault_of_line("src/http/server.h", '#include "model/task.h"', "model is hidden from http")

    def test_a_folder_has_a_limit_of_units(self):
        for number in range(check_layers.MAX_UNITS):
            self.write(f"src/model/part{number}.h", "#pragma once\n")
        self.expect_one_fault("src/model:1: ", "has 21 units")

    def test_a_subfolder_counts_its_own_units(self):
        for number in range(check_layers.MAX_UNITS):
            self.write(f"src/model/parts/part{number}.h", "#pragma once\n")
        self.assertEqual(self.faults(), [])

    def test_tests_are_not_units(self):
        self.write("src/model/CMakeLists.txt", "horae_library(model SOURCES task.cc " + " ".join(
            f"part{number}_test.cc" for number in range(check_layers.MAX_UNITS + 1)) + ")")
        for number in range(check_layers.MAX_UNITS + 1):
            self.write(f"src/model/part{number}_test.cc", "")
        self.assertEqual(self.faults(), [])

    def test_a_source_of_a_subfolder_is_named_by_its_path(self):
        self.write("src/model/parts/odd.cc", "")
        self.expect_one_fault("src/model/parts/odd.cc:1: ", "is missing in src/model/CMakeLists.txt")

    def test_a_unit_test_is_bound_to_the_layer_of_its_folder(self):
        self.expect_fault_of_line("src/base/clock_test.cc", '#include "model/task.h"', "model is above base")

    def test_an_include_of_an_unknown_folder_is_a_fault(self):
        self.expect_fault_of_line("src/app/wiring.cc", '#include "misc/x.h"', "src/misc is not a layer")

    def test_a_folder_that_is_not_in_the_table_is_a_fault(self):
        self.write("src/util/notes.txt", "")
        self.expect_one_fault("src/util:1: ", "is not a layer")

    def test_a_source_outside_the_folders_is_a_fault(self):
        self.write("src/common.h", "#pragma once\n")
        self.expect_one_fault("src/common.h:1: ", "is in no folder")

    def test_an_include_of_a_file_that_does_not_exist_is_a_fault(self):
        self.expect_fault_of_line("src/model/task.cc", '#include "base/gone.h"', "does not exist")

    def test_a_quoted_include_without_its_folder_is_a_fault(self):
        self.expect_fault_of_line("src/model/task.cc", '#include "task.h"', '"folder/file.h"')

    def test_a_quoted_include_with_dots_is_a_fault(self):
        self.expect_fault_of_line("src/model/task.cc", '#include "model/../engine/monitor.h"', '"folder/file.h"')

    def test_a_layer_cannot_be_entered_through_angle_brackets(self):
        self.expect_fault_of_line("src/model/task.cc", "#include <engine/monitor.h>", "our own headers in quotes")

    def test_an_include_through_a_macro_is_a_fault(self):
        self.expect_fault_of_line("src/model/task.cc", "#include HEADER", "cannot read")

    def test_an_include_with_odd_spacing_is_seen(self):
        self.expect_fault_of_line("src/model/task.cc", '/* why */ #  include"engine/monitor.h"', "above")

    def test_only_tests_include_the_test_support(self):
        self.expect_fault_of_line("src/model/task.cc", '#include "tests/support/world.h"', "only tests")

    def test_unit_tests_include_nothing_else_of_tests(self):
        self.expect_fault_of_line("src/base/clock_test.cc", '#include "tests/e2e/x.h"', "only tests/support/")

    # ---- The public API ----

    def test_the_public_api_does_not_include_third_parties(self):
        self.expect_fault_of_line("include/horae/client.h", "#include <fmt/format.h>", "public API")

    def test_the_public_api_does_not_include_the_operating_system(self):
        self.expect_fault_of_line("include/horae/client.h", "#include <unistd.h>", "public API")

    def test_the_public_api_does_not_include_our_insides(self):
        self.expect_fault_of_line("include/horae/client.h", '#include "base/clock.h"', "public API")

    # ---- Libraries ----

    def test_each_library_is_included_in_one_place(self):
        for header in ("libpq-fe.h", "postgresql/libpq-fe.h", "libpq-events.h", "libpq/libpq-fs.h", "sqlite3.h",
                       "librdkafka/rdkafka.h", "librdkafka/rdkafkacpp.h", "curl/curl.h", "spdlog/spdlog.h",
                       "boost/asio.hpp", "boost/asio/ip/tcp.hpp", "boost/beast.hpp", "boost/beast/core.hpp"):
            with self.subTest(header):
                self.write("src/engine/monitor.cc", f"\n#include <{header}>\n")
                self.expect_one_fault(f"src/engine/monitor.cc:2: includes {header} ", "(only src/")

    def test_one_store_does_not_use_the_library_of_the_other(self):
        self.expect_fault_of_line("src/stores/postgres/store.cc", "#include <sqlite3.h>", "src/stores/sqlite/*")

    def test_spdlog_does_not_leak_into_the_rest_of_base(self):
        self.expect_fault_of_line("src/base/clock.cc", "#include <spdlog/spdlog.h>", "src/base/log.cc")

    def test_all_parts_of_boost_are_behind_one_definition_of_its_assertions(self):
        self.expect_fault_of_line("src/engine/monitor.cc", "#include <boost/json.hpp>", "src/http/*")

    # ---- Time, sleep, randomness ----

    def test_a_sleep_in_the_model_is_a_fault(self):
        self.expect_fault_of_line("src/model/task.cc", "void f() { std::this_thread::sleep_for(1s); }", "uses sleep_for",
                                  "take a Clock")

    def test_reading_the_time_of_the_system_is_a_fault(self):
        for call in ("std::chrono::system_clock::now()", "steady_clock :: now()", "std::chrono::high_resolution_clock c",
                     "std::this_thread::sleep_until(t)", "::sleep(1)", "usleep (1)", "nanosleep(&a, &b)",
                     "clock_nanosleep(c, 0, &a, &b)", "clock_gettime(c, &t)", "gettimeofday(&t, nullptr)",
                     "time(nullptr)", "std::time(nullptr)", "time( NULL )", "::time(0)", "std::time(&t)",
                     "cv.wait_for(lock, 1s)", "cv.wait_until(lock, t)", "m.try_lock_for(1s)", "m.try_lock_until(t)",
                     "s.try_acquire_for(1s)", "localtime(&t)", "gmtime_r(&t, &parts)"):
            with self.subTest(call):
                self.write("src/model/task.cc", f"\n\nauto x = {call};\n")
                self.expect_one_fault("src/model/task.cc:3: uses ", "take a Clock")

    def test_our_own_clock_and_similar_names_are_allowed(self):
        self.expect_clean_with("src/model/task.cc", """
            auto a = clock_.now(); auto b = clock.wall_now(); auto c = clock->now(); Instant d = SystemClock::now();
            std::chrono::steady_clock::time_point e; auto f = runtime(0); auto g = task.time(0); bool asleep(int);
            auto h = lease.sleep(1); void await_format(int); cv.wait(lock); int time_of = 0; auto k = operand(1);
        """)

    def test_sleeping_in_a_unit_test_is_a_fault(self):
        self.expect_fault_of_line("src/base/clock_test.cc", "usleep(10);", "no sleeps as synchronisation")

    def test_sleeping_in_a_test_of_an_allowed_folder_is_a_fault(self):
        self.write("src/app/CMakeLists.txt", "horae_test(a SOURCES wiring.cc wiring_test.cc)")
        self.write("src/app/wiring_test.cc", "std::this_thread::sleep_for(1s);\n")
        self.expect_one_fault("src/app/wiring_test.cc:1: ", "no sleeps as synchronisation")

    def test_sleeping_in_the_tests_folder_is_a_fault(self):
        self.expect_fault_of_line("tests/e2e/serve_test.cc", "sleep(1);", "no sleeps as synchronisation")

    def test_a_unit_test_may_bound_a_wait(self):
        self.expect_clean_with("src/base/clock_test.cc", "EXPECT_EQ(done.wait_for(5s), std::future_status::ready);")

    def test_a_source_whose_name_only_ends_like_a_test_is_no_test(self):
        self.write("src/model/CMakeLists.txt", "horae_library(model SOURCES task.cc latest.cc)")
        self.write("src/model/latest.cc", "auto t = time(nullptr);\n")
        self.expect_one_fault("src/model/latest.cc:1: ", "take a Clock")

    def test_using_the_randomness_of_the_system_is_a_fault(self):
        for call in ("std::random_device()()", "rand()", "std::rand()", "srand(1)", "getrandom(p, 8, 0)"):
            with self.subTest(call):
                self.write("src/model/task.cc", f"\nauto x = {call};\n")
                self.expect_one_fault("src/model/task.cc:2: uses ", "take a Random")

    # ---- Comments and literals ----

    def test_comments_do_not_count(self):
        self.expect_clean_with("src/model/task.cc", """
            // never sleep_for here \\
               and this line is still the comment: usleep(1)
            /* nor time(nullptr)
            #include "engine/monitor.h"
            */
        """)

    def test_literals_do_not_count(self):
        self.expect_clean_with("src/model/task.cc", r'''
            auto a = "time(nullptr) \" usleep(1)"; auto b = R"(say "sleep(1);")"; auto c = u8R"x(")" sleep(1) )x";
            auto d = LR"(
            #include "engine/monitor.h"
            )";
            auto e = "// not a comment"; auto f = "/* nor this";
        ''')

    def test_code_after_a_literal_counts(self):
        for before in ('"\\\\"', "'\"'", "'\\''", "1'000'000", "0x1'F", "1e+5", 'R"(\\)"', 'R"-()")-"', "u8'x'", "'/*'",
                       '"//"', "/* ' */ 1", 'f(x1,\'"\')', 'MACRO_R"x"', "1'0 + '\"'"):
            with self.subTest(before):
                self.write("src/model/task.cc", f"\nauto x = {before}; usleep(1);  // 'the end\n")
                self.expect_one_fault("src/model/task.cc:2: uses usleep")

    def test_an_apostrophe_in_an_error_line_hides_nothing(self):
        self.write("src/model/task.cc", "#error don't\nusleep(1);\n// don't\n")
        self.expect_one_fault("src/model/task.cc:2: uses usleep")

    def test_the_line_number_is_right_after_long_comments_and_raw_strings(self):
        self.write("src/model/task.cc", '/*\n\n*/\nauto x = R"(\n\n)";\nusleep(1);\n')
        self.expect_one_fault("src/model/task.cc:7: uses usleep")

    # ---- The build ----

    def test_a_test_left_out_of_the_build_is_a_fault(self):
        self.write("src/base/CMakeLists.txt", "horae_library(base SOURCES clock.cc log.cc random.cc)")
        self.expect_one_fault("src/base/clock_test.cc:1: ", "is missing in src/base/CMakeLists.txt")

    def test_each_suffix_of_tests_counts_in_src_and_tests(self):
        for path in ("src/model/a_test.cc", "src/model/a_pgtest.cc", "src/model/a_kafkatest.cc", "tests/e2e/a_test.cc",
                     "tests/sim/deep/a_pgtest.cc"):
            with self.subTest(path):
                self.write(path, "")
                self.expect_one_fault(f"{path}:1: ", "is missing in")
                (self.root / path).unlink()

    def test_a_source_left_out_of_the_build_is_a_fault(self):
        self.write("src/model/rank.cc", "")
        self.expect_one_fault("src/model/rank.cc:1: ", "is missing in src/model/CMakeLists.txt")

    def test_a_comment_in_cmake_names_no_source(self):
        for comment in ("# clock_test.cc", "#[[ clock_test.cc\n]]", "#[==[ ]] clock_test.cc ]==]"):
            with self.subTest(comment):
                self.write("src/base/CMakeLists.txt", f"horae_library(base SOURCES clock.cc log.cc random.cc) {comment}")
                self.expect_one_fault("src/base/clock_test.cc:1: ")

    def test_a_longer_name_in_cmake_is_another_source(self):
        self.write("src/model/CMakeLists.txt", "horae_library(model SOURCES subtask.cc old/task.cc task.cc.in)")
        self.expect_one_fault("src/model/task.cc:1: ")

    def test_setting_a_property_builds_nothing(self):
        self.write("src/model/CMakeLists.txt", "set_source_files_properties(task.cc PROPERTIES COMPILE_OPTIONS -O1)")
        self.expect_one_fault("src/model/task.cc:1: ")

    def test_a_folder_that_the_build_does_not_enter_is_a_fault(self):
        self.write("src/stores/CMakeLists.txt", "add_subdirectory(sqlite)\n# add_subdirectory(postgres)\n")
        self.expect_one_fault("src/stores/postgres/CMakeLists.txt:1: ", "is not read by the build")

    # ---- Headers ----

    def test_a_header_without_pragma_once_is_a_fault(self):
        self.write("src/model/task.h", "// A task.\n\n#include <string>\n#pragma once\n")
        self.expect_one_fault("src/model/task.h:3: ", "#pragma once")

    def test_a_public_header_without_pragma_once_is_a_fault(self):
        self.write("include/horae/types.h", "// #pragma once\n")
        self.expect_one_fault("include/horae/types.h:", "#pragma once")

    def test_a_file_that_would_escape_the_checks_is_a_fault(self):
        self.write("src/model/task.hpp", "")
        self.expect_one_fault("src/model/task.hpp:1: ", "neither .h nor .cc")


if __name__ == "__main__":
    unittest.main()
