#!/usr/bin/env python3
"""Limits the size of sources and functions in src/.

    tools/check_sizes.py           prints "path:line: what is wrong (the rule)" for each fault, and then exits with 1

Functions are measured by their braces, from the first line of the signature to the closing brace; lines inside of raw
strings are data and do not count. The rules hold for unit tests too, where each TEST is a function.
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

from check_layers import TOKEN, code_of, line_of
from checks import Fault, run

MAX_LINES = 450
MAX_FUNCTION_LINES = 70

# What a block at the level of declarations must contain in front of its brace to be a container and not a function.
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
# A constructor's initializer list: the parameters, a colon, members, and the name of the member that a brace follows.
INITIALIZER = re.compile(r"\)[^;{}?]*(?<!:):(?!:).*[\w>]\s*\Z", re.DOTALL)
# Blanks and access specifiers in front of a declaration.
LABELS = re.compile(r"\s*(?:(?:public|protected|private)\s*:\s*)*")
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


class Function(NamedTuple):
    line: int  # of the signature
    name: str
    last_line: int


def end_of_block(code: str, start: int) -> int:
    """The offset of the brace that closes the one at `start`; the end of the code if none does."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    return len(code)


def name_of(signature: str) -> str:
    found = re.search(r"([~\w:]+|operator\S+)\s*\(", signature)
    return found[1] if found else signature.strip().split("\n")[0]


def functions_of(code: str) -> Iterator[Function]:
    """The functions of `code`, which has neither comments nor literals; those inside functions belong to them."""
    code = DIRECTIVE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)
    begin = at = parens = 0  # `begin`: where the declaration at hand starts
    while at < len(code):
        char = code[at]
        if char in "()":
            parens += 1 if char == "(" else -1
        elif char in ";}" and parens == 0:
            begin = at + 1
        elif char == "{":
            head = code[begin:at]
            template_free = re.sub(r"\btemplate\s*<[^{};]*?>\s*(?=[\w:~])", "", head)
            if parens > 0 or head.rstrip().endswith("=") or INITIALIZER.search(head):
                at = end_of_block(code, at)  # a value; the declaration goes on
            elif "(" not in head:
                if CONTAINER.search(template_free):
                    begin = at + 1  # look inside
                else:
                    at = end_of_block(code, at)  # a member's default value
            elif re.match(r"\s*(?:\[\[.*?\]\]\s*)?(?:class|struct|union|enum|extern)\b", template_free) and not re.search(
                    r"\)\s*(?:const|noexcept|override|final|->.*)?\s*\Z", head, re.DOTALL):
                begin = at + 1  # class alignas(8) Name {
            else:
                end = end_of_block(code, at)
                first = begin + LABELS.match(head).end()
                line = line_of(code, first)
                yield Function(line, name_of(template_free), line_of(code, end))
                at, begin = end, end + 1
        at += 1


def lines_of_literals(text: str) -> Iterator[int]:
    """The lines that raw strings take beyond the ones that they begin on."""
    for token in TOKEN.finditer(text):
        if token["delimiter"] is not None:
            first = line_of(text, token.start())
            yield from range(first + 1, first + 1 + token[0].count("\n"))


def size_faults(path: str, text: str) -> Iterator[Fault]:
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield Fault(path, 1, f"has {lines} lines", f"at most {MAX_LINES} in a source: split it")
    data = set(lines_of_literals(text))
    for function in functions_of(code_of(text)):
        lines = sum(line not in data for line in range(function.line, function.last_line + 1))
        if lines > MAX_FUNCTION_LINES:
            yield Fault(path, function.line, f"{function.name}() has {lines} lines",
                        f"at most {MAX_FUNCTION_LINES} in a function: move steps into functions of their own")


def check(root: Path) -> tuple[int, list[Fault]]:
    """How many C++ files there are in src/, and which of them are too large or hold functions that are."""
    files = sorted(file for file in (root / "src").rglob("*") if file.suffix in (".h", ".cc") and file.is_file())
    faults = []
    for file in files:
        faults += size_faults(file.relative_to(root).as_posix(), file.read_text("utf-8", errors="replace"))
    return len(files), faults


if __name__ == "__main__":
    sys.exit(run("sizes", "files", check))
