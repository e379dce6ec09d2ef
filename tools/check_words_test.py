#!/usr/bin/env python3
"""Plants each phrase in a small tree and expects the message of tools/check_words.py."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_words  # noqa: E402 (found through the line above)
from planted_tree import PlantedTree  # noqa: E402

# One line for each kind of phrase, cut in two so that this file passes the check itself.
PLANTED = (
    ("// Answers who" "ever calls.", "who" "ever"),
    ("// The node who " "holds the lease.", "who " "holds"),
    ("TEST(Queue, WakesAllW" "hoWait) {", "WakesAllW" "hoWait"),
    ("// The worker is " "told.", "is " "told"),
    ("// The log tells" " of failures.", "tells" " of"),
    ("// Submits with" " care.", "with" " care"),
    ("submit_with" "_care();", "t_with" "_care"),
    ("// As often as they" " like.", "As often as they" " like"),
    ("// Threads: any at" " once.", "any at" " once"),
    ("// Threads: any thread at" " once.", "any thread at" " once"),
    ("Log" "Pace pace;", "Log" "Pace"),
    ("// See .." "/shared/notes.", ".." "/shared"),
    ("// See DESIGN" ".md, section 3.", "DESIGN" ".md"),
    ("// In /ro" "ot/horae.", "/ro" "ot/h"),
)


class CheckWordsTest(PlantedTree):
    tool = check_words
    files = {
        "README.md": "# Horae\n\nPeople who know cron. Any number of nodes start at once.\n",
        "src/base/clock.h": "// Thread-safe.\n#pragma once\n",
    }

    def test_plain_words_pass_with_a_summary(self):
        result = self.run_tool()
        self.assertEqual((result.returncode, result.stdout), (0, "words: 2 files, 0 faults\n"), result.stderr)

    def test_a_fault_gives_exit_code_1(self):
        self.write("src/base/log.h", PLANTED[0][0])
        self.assertEqual(self.run_tool().returncode, 1)

    def test_a_root_without_sources_is_an_error(self):
        with tempfile.TemporaryDirectory() as empty:
            self.root = Path(empty)
            self.assertEqual(self.run_tool().returncode, 2)

    def test_each_phrase_is_found(self):
        for line, phrase in PLANTED:
            with self.subTest(phrase):
                self.write("src/base/log.h", "#pragma once\n" + line + "\n")
                self.assertEqual(len(self.faults()), 1, self.faults())
                self.assertTrue(self.faults()[0].startswith(f'src/base/log.h:2: says "{phrase}" ('), self.faults()[0])

    def test_a_phrase_over_two_lines_of_a_comment_is_found(self):
        self.write("src/base/log.h", "// Threads: any\n  // at" " once.\n")
        self.assertEqual(len(self.faults()), 1)
        self.assertIn('src/base/log.h:1: says "any at' ' once"', self.faults()[0])

    def test_documents_tests_and_statements_are_read(self):
        for path in ("docs" "/start/page.md", "tests/e2e/cli_test.cc", "src/stores/sqlite/claim.sql", "tools/run.sh",
                     "Makefile", "docs" "/man/horae.1", "bench/CMakeLists.txt"):
            with self.subTest(path):
                self.write(path, PLANTED[0][0])
                self.assertEqual(len(self.faults()), 1)
                (self.root / path).unlink()

    def test_recorded_inputs_and_build_folders_are_left_out(self):
        self.write("tests/fuzz/corpus/json/one", PLANTED[0][0])
        self.write("build/fast/made.h", PLANTED[0][0])
        self.assertEqual(self.faults(), [])

    def test_an_exempted_line_may_keep_its_phrase(self):
        exemptions = check_words.ALLOWED
        check_words.ALLOWED = (check_words.Exemption("docs" "/page.md", "a quotation", "for this test"),)
        try:
            self.write("docs" "/page.md", "a quotation: " + PLANTED[0][0] + "\n" + PLANTED[0][0])
            self.assertEqual(len(self.faults()), 1)
            self.assertTrue(self.faults()[0].startswith("docs" "/page.md:2:"))
        finally:
            check_words.ALLOWED = exemptions


if __name__ == "__main__":
    unittest.main()
