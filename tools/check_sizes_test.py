#!/usr/bin/env python3
"""Measures planted sources with tools/check_sizes.py."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_sizes  # noqa: E402 (found through the line above)
from check_layers import code_of  # noqa: E402
from planted_tree import PlantedTree  # noqa: E402


def sizes(text: str) -> list[tuple[str, int, int]]:
    """Name, line and length of each function."""
    return [(f.name, f.line, f.last_line - f.line + 1) for f in check_sizes.functions_of(code_of(text))]


def function_of(lines: int) -> str:
    return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"


class CheckSizesTest(PlantedTree):
    tool = check_sizes
    files = {"src/base/small.cc": function_of(3)}





    # ---- The tool ----

    def test_small_sources_pass_with_a_summary(self):
        result = self.run_tool()
        self.assertEqual((result.returncode, result.stdout), (0, "sizes: 1 files, 0 faults\n"), result.stderr)

    def test_a_fault_gives_exit_code_1(self):
        self.write("src/base/large.cc", "int x;\n" * 451)
        result = self.run_tool()
        self.assertEqual(result.returncode, 1)
        self.assertIn("src/base/large.cc:1: has 451 lines (at most 450 in a source", result.stdout)

    def test_a_root_without_sources_is_an_error(self):
        for file in (self.root / "src").rglob("*.cc"):
            file.unlink()
        (self.root / "src/base").rmdir()
        (self.root / "src").rmdir()
        self.assertEqual(self.run_tool().returncode, 2)

    # ---- The limits ----

    def test_a_source_at_the_limit_passes(self):
        self.write("src/base/large.h", "int x;\n" * 450)
        self.assertEqual(self.faults(), [])

    def test_a_function_at_the_limit_passes(self):
        self.write("src/base/long.cc", function_of(70))
        self.assertEqual(self.faults(), [])

    def test_a_longer_function_is_a_fault(self):
        self.write("src/base/long.cc", "int x;\n" + function_of(71))
        self.assertEqual(len(self.faults()), 1)
        self.assertIn("src/base/long.cc:2: f() has 71 lines (at most 70 in a function", self.faults()[0])

    def test_lines_of_a_raw_string_do_not_count(self):
        self.write("src/base/page.cc", 'std::string page() {\n  return R"(' + "<p>\n" * 100 + ')";\n}\n')
        self.assertEqual(self.faults(), [])

    # ---- What is a function ----

    def test_functions_in_namespaces_and_classes_are_found(self):
        self.assertEqual(sizes("namespace a::b {\n"
                               "class C final : public D {\n"
                               " public:\n"
                               "  int get() const override {\n"
                               "    return 1;\n"
                               "  }\n"
                               "};\n"
                               "void C::set(int x) noexcept {\n"
                               "  x_ = x;\n"
                               "}\n"
                               "}\n"),
                         [("get", 4, 3), ("C::set", 8, 3)])

    def test_a_signature_of_several_lines_counts(self):
        self.assertEqual(sizes("static Result<int> f(int a,\n"
                               "                     int b = {}) {\n"
                               "  return a + b;\n"
                               "}\n"),
                         [("f", 1, 4)])

    def test_blocks_and_lambdas_belong_to_their_function(self):
        self.assertEqual(sizes("void f() {\n"
                               "  const auto g = [&](int x) { return x; };\n"
                               "  if (g(1)) {\n"
                               "    struct Local { void h() {} };\n"
                               "  }\n"
                               "}\n"
                               "int y;\n"),
                         [("f", 1, 6)])

    def test_an_initializer_list_belongs_to_its_constructor(self):
        self.assertEqual(sizes("A::A(int x) : a_{x}, b_(std::vector<int>{1}),\n"
                               "              c_{{2, 3}} {\n"
                               "  start();\n"
                               "}\n"),
                         [("A::A", 1, 4)])

    def test_values_and_default_members_are_no_functions(self):
        self.assertEqual(sizes("struct S {\n"
                               "  int x{};\n"
                               "  std::function<int()> f = {};\n"
                               "  std::vector<int> v = {1, 2};\n"
                               "};\n"
                               "constexpr std::array kAll{1, 2};\n"
                               "const auto kNames = names({{1, 2}});\n"
                               "enum class E { kOne, kTwo };\n"
                               "using F = void (*)(int);\n"
                               "extern template class T<int>;\n"),
                         [])

    def test_templates_and_operators_are_functions(self):
        self.assertEqual(sizes("template <typename T, class U = std::vector<T>>\n"
                               "auto f(T t) -> U {\n"
                               "  return U{t};\n"
                               "}\n"
                               "bool operator==(const A& a, const A& b) {\n"
                               "  return true;\n"
                               "}\n"),
                         [("f", 1, 4), ("operator==", 5, 3)])

    def test_comments_literals_and_directives_have_no_braces(self):
        self.assertEqual(sizes("#define OPEN {\n"
                               "// {\n"
                               "void f() {\n"
                               '  puts("}");\n'
                               "  g('{');\n"
                               "}\n"),
                         [("f", 3, 4)])


if __name__ == "__main__":
    unittest.main()
