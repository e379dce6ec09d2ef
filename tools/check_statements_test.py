#!/usr/bin/env python3
"""Plants each kind of fault in .sql files, for tools/check_statements.py and for cmake/EmbedStatements.cmake."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_statements  # noqa: E402 (found through the line above)

SCRIPT = Path(__file__).resolve().parent.parent / "cmake" / "EmbedStatements.cmake"
CMAKE = sys.argv.pop(1) if len(sys.argv) > 1 else "cmake"

CLEAN = """-- Of the tests.

-- name: find
-- $1 bigint[], $2 text: what is wanted
-- Index: task_pkey
-- Locks: none
select a
  from task
 where a = any($1) and b = $2;
"""
USE = 'const Sql kFind = statement("find");\n'


class CheckTest(unittest.TestCase):
    def faults(self, sql: str = CLEAN, code: str = USE, built: str = "find.sql") -> str:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder)
            (store / "CMakeLists.txt").write_text(f"horae_embed_statements(target function\n  {built})\n")
            (store / "migrations").mkdir()
            (store / "migrations" / "0001_tasks.sql").write_text("create table task ();\n")
            (store / "find.sql").write_text(sql)
            (store / "find.cc").write_text(code)
            (store / "find_test.cc").write_text('statement("of_a_test");\n')
            return "\n".join(check_statements.check_store(store, ("Index", "Locks"))[1])

    def test_clean(self):
        self.assertEqual(self.faults(), "")

    def test_not_built(self):
        self.assertIn("is not named in", self.faults(built="other.sql"))

    def test_no_index(self):
        self.assertIn('has no comment like "-- Index: ..."', self.faults(CLEAN.replace("-- Index: task_pkey\n", "")))

    def test_no_locks(self):
        self.assertIn('has no comment like "-- Locks: ..."', self.faults(CLEAN.replace("Locks: none", "Locks:")))

    def test_unexplained_parameter(self):
        self.assertIn("does not explain $2", self.faults(CLEAN.replace(", $2 text", "")))

    def test_explained_but_unused_parameter(self):
        self.assertIn("explains $2, which", self.faults(CLEAN.replace(" and b = $2", "")))

    def test_no_end(self):
        self.assertIn("does not end with a semicolon", self.faults(CLEAN.replace(";", "")))

    def test_unused(self):
        self.assertIn("find is used nowhere", self.faults(code=""))

    def test_unknown(self):
        self.assertIn("there is no statement other", self.faults(code=USE + 'statement("other");'))

    def test_used_twice(self):
        self.assertIn("is used in", self.faults(code=USE + USE))

    def test_same_name_twice(self):
        self.assertIn("is the name of another statement", self.faults(CLEAN + CLEAN))


class EmbedTest(unittest.TestCase):
    def embed(self, *files: str) -> tuple[str, str]:
        """The generated source, and what the script printed."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{place}.sql" for place in range(len(files))]
            for path, text in zip(paths, files):
                path.write_text(text)
            output = Path(folder) / "out.cc"
            done = subprocess.run([CMAKE, "-DFILES=" + ";".join(map(str, paths)), "-DFUNCTION=f", f"-DOUTPUT={output}",
                                   "-P", str(SCRIPT)], capture_output=True, text=True, check=False)
            printed = " ".join(done.stderr.split())
            self.assertEqual(done.returncode == 0, output.exists(), printed)
            return output.read_text() if output.exists() else "", printed

    def test_clean(self):
        self.assertIn('{"find", R"sql(select a from task where a = any($1) and b = $2)sql"},', self.embed(CLEAN)[0])

    def test_sorted_over_files(self):
        source, _ = self.embed("-- name: b\nselect 2;", "-- name: c\nselect 3;\n-- name: a\nselect\n-- first\n1;")
        self.assertEqual([line.strip() for line in source.splitlines() if "R\"sql(" in line],
                         [f'{{"{name}", R"sql(select {text})sql"}},' for name, text in zip("abc", "123")])

    def test_same_name_in_two_files(self):
        self.assertIn("the name find is taken", self.embed(CLEAN, CLEAN)[1])

    def test_no_end(self):
        self.assertIn("does not end with a semicolon", self.embed("-- name: a\nselect 1\n")[1])
        self.assertIn("does not end with a semicolon", self.embed("-- name: a\nselect 1\n-- name: b\nselect 2;\n")[1])

    def test_two_statements_under_one_name(self):
        self.assertIn("is not one statement", self.embed("-- name: a\nselect 1; select 2;\n")[1])
        self.assertIn("a statement begins with a line like", self.embed("-- name: a\nselect 1;\nselect 2;\n")[1])

    def test_bad_name(self):
        self.assertIn("a statement begins with a line like", self.embed("-- name: A b\nselect 1;\n")[1])

    def test_comment_behind_code(self):
        self.assertIn("a comment has lines of its own", self.embed("-- name: a\nselect 1 -- one\n;\n")[1])

    def test_nothing(self):
        self.assertIn("there are no statements", self.embed("-- Nothing.\n")[1])


if __name__ == "__main__":
    unittest.main()
