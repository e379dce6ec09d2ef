#!/usr/bin/env python3
"""Plants each kind of fault in a small tree and looks for the message of tools/check_links.py."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_links  # noqa: E402 (found through the line above)
from planted_tree import PlantedTree  # noqa: E402

CLEAN_TREE = {
    "Makefile": "SHELL := /bin/bash\n.PHONY: test\ntest: build ## Run\nbench/http: build\nbuild:\n",
    "README.md": "# A tree\n\nSee [the guide](docs/guide.md#how-it-works), [itself](#a-tree) and [others](https://example.org/x).\n"
                 "Run `make test`, or `apt-get install make git`; a loop is in `src/loop.h`, tests in `src/*_test.cc`, one is `Loop.RunsAgainAfterAFailure`, or `RunsAgainAfterAFailure`.\n\n"
                 "```sh\ncd tree && make bench/http SECONDS=3   # not make tea\n```\n",
    "CHANGELOG.md": "# Changelog\n\n- `src/gone.h`, which had `http.max_gone`.\n",
    "docs/guide.md": "# Guide\n\n## How *it* works\n\nBack to [the readme](../README.md); `http.max_body`, `http.h`.\n\n"
                     "```python\nmake = '[not a link](nowhere.md)'\n```\n\n[ref]: ../src/loop.h\n",
    "docs/reference/configuration.md": "| key | default |\n|---|---|\n| `http.max_body` | 1 |\n",
    "src/loop.h": "// docs/guide.md explains it.\n",
    "src/loop_test.cc": "TEST_F(Loop, RunsAgainAfterAFailure) {}\n",
}


class CheckLinksTest(PlantedTree):
    tool = check_links
    files = CLEAN_TREE

    def add(self, path: str, text: str) -> None:
        self.write(path, CLEAN_TREE[path] + text)

    def expect_fault(self, message: str) -> None:
        run = self.run_tool()
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn(message, run.stdout)

    def test_clean_tree_passes(self) -> None:
        run = self.run_tool()
        self.assertEqual((run.returncode, run.stdout), (0, "links: 4 documents, 0 faults\n"))

    def test_tree_without_documents_is_an_error(self) -> None:
        for path in CLEAN_TREE:
            (self.root / path).unlink()
        self.assertEqual(self.run_tool().returncode, 2)

    def test_link_to_missing_file(self) -> None:
        self.add("README.md", "\n[gone](docs/gone.md)\n")
        self.expect_fault("README.md:10: links to docs/gone.md, which does not exist")

    def test_two_links_in_one_line_are_both_checked(self) -> None:
        self.add("README.md", "\n[guide](docs/guide.md) and [gone](docs/gone.md)\n")
        self.expect_fault("links to docs/gone.md")

    def test_definition_of_a_link(self) -> None:
        self.add("docs/guide.md", "[other]: ../src/gone.h\n")
        self.expect_fault("links to ../src/gone.h")

    def test_link_to_missing_heading(self) -> None:
        self.add("README.md", "\n[guide](docs/guide.md#how-it-fails)\n")
        self.expect_fault("links to docs/guide.md#how-it-fails: there is no such heading")

    def test_heading_in_a_block_is_no_heading(self) -> None:
        self.add("docs/guide.md", "\n```sh\n# Install\n```\n\n[see](#install)\n")
        self.expect_fault("links to #install: there is no such heading")

    def test_link_out_of_the_repository(self) -> None:
        self.add("README.md", "\n[neighbour](../)\n")
        self.expect_fault("links to ../, which is outside of the repository")

    def test_missing_source_in_code(self) -> None:
        self.add("docs/guide.md", "\nThe loop is in `src/engine/loop.h`.\n")
        self.expect_fault("docs/guide.md:13: names src/engine/loop.h, which does not exist")

    def test_pattern_that_matches_nothing(self) -> None:
        self.add("docs/guide.md", "\n`src/*_pgtest.cc`\n")
        self.expect_fault("names src/*_pgtest.cc")

    def test_alternatives_are_all_checked(self) -> None:
        self.add("docs/guide.md", "\n`src/loop{.h,.sql}`\n")
        self.expect_fault("names src/loop{.h,.sql}")

    def test_missing_target_of_make_in_text_and_in_a_block(self) -> None:
        self.add("README.md", "\n`make tea`\n")
        self.expect_fault("README.md:10: names the target `make tea`")
        self.write("README.md", "# A tree\n\n```sh\nmake coffee\n```\n\n## How it works\n")
        self.expect_fault("README.md:4: names the target `make coffee`")

    def test_missing_setting(self) -> None:
        self.add("docs/guide.md", "\nSet `http.max_boddy`.\n")
        self.expect_fault("names the setting http.max_boddy")

    def test_missing_test(self) -> None:
        self.add("docs/guide.md", "\n`Loop.RunsOnlyOnceAfterAll`\n")
        self.expect_fault("names the test Loop.RunsOnlyOnceAfterAll")

    def test_missing_test_without_its_suite(self) -> None:
        self.add("docs/guide.md", "\n`RunsAgainAfterTheSecondFailure`\n")
        self.expect_fault("names the test RunsAgainAfterTheSecondFailure")

    def test_missing_document_in_a_source(self) -> None:
        self.write("src/loop.h", "// See docs/loops.md.\n")
        self.expect_fault("src/loop.h:1: names docs/loops.md, which does not exist")

    def test_missing_document_in_the_makefile(self) -> None:
        self.add("Makefile", "docs:\n\tprint > docs/page.1\n")
        self.expect_fault("Makefile:7: names docs/page.1, which does not exist")


if __name__ == "__main__":
    unittest.main()
