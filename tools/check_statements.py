#!/usr/bin/env python3
"""Checks the .sql files of the stores (src/stores/statements.h says what they look like) against their C++.

    tools/check_statements.py          prints "path:line: what is wrong" for each fault, and then exits with 1

Each statement names the index that it uses and, where rows can be locked, its locks; each numbered parameter is
explained; and each statement is used by exactly one `statement("name")` in the C++ of its store.
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

from checks import run

# What the comment of each statement says, by store.
NOTES = {"sqlite": ("Index",), "postgres": ("Index", "Locks")}

# The tests of a store use no statements of it.
TEST_SUFFIXES = ("_test.cc", "_pgtest.cc")

NAME = re.compile(r"-- name: ([a-z][a-z0-9_]*)")
PARAMETER = re.compile(r"[$?]\d+")
USE = re.compile(r'\bstatement\(\s*"([^"]*)"\s*[,)]')


class Statement(NamedTuple):
    name: str
    path: Path
    line: int
    comments: list[str]
    text: str


def statements_of(path: Path) -> Iterator[Statement]:
    statement = None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        line = line.strip()
        if named := NAME.fullmatch(line):
            if statement:
                yield statement
            statement = Statement(named[1], path, number, [], "")
        elif statement and line.startswith("--"):
            statement.comments.append(line.removeprefix("--").strip())
        elif statement:
            statement = statement._replace(text=statement.text + line + "\n")
    if statement:
        yield statement


def faults_of(statement: Statement, notes: tuple[str, ...]) -> Iterator[str]:
    for note in notes:
        if not any(re.match(rf"{note}: \S", comment) for comment in statement.comments):
            yield f"{statement.name} has no comment like \"-- {note}: ...\""
    used = set(PARAMETER.findall(statement.text))
    explained = {found for comment in statement.comments if re.match(r"[$?]\d+[ ,]", comment)
                 for found in PARAMETER.findall(comment.split(":")[0])}
    for parameter in sorted(used - explained):
        yield f"{statement.name} does not explain {parameter}"
    for parameter in sorted(explained - used):
        yield f"{statement.name} explains {parameter}, which it does not have"
    if not statement.text.rstrip().endswith(";"):
        yield f"{statement.name} does not end with a semicolon"


def uses_in(store: Path) -> dict[str, list[str]]:
    """Where each name is used: "path:line"."""
    uses: dict[str, list[str]] = {}
    for path in sorted([*store.rglob("*.cc"), *store.rglob("*.h")]):
        if path.name.endswith(TEST_SUFFIXES):
            continue
        text = path.read_text("utf-8")
        for found in USE.finditer(text):
            uses.setdefault(found[1], []).append(f"{path}:{text.count(chr(10), 0, found.start()) + 1}")
    return uses


def check_store(store: Path, notes: tuple[str, ...]) -> tuple[int, list[str]]:
    faults, known = [], {}
    lists = (store / "CMakeLists.txt").read_text("utf-8").split()
    for path in sorted(store.rglob("*.sql")):
        if path.parent.name == "migrations":
            continue
        if not any(word.rstrip(")") == path.relative_to(store).as_posix() for word in lists):
            faults.append(f"{path}:1: is not named in {store / 'CMakeLists.txt'}, and so not built in")
        for statement in statements_of(path):
            faults += [f"{path}:{statement.line}: {what}" for what in faults_of(statement, notes)]
            if statement.name in known:
                faults.append(f"{path}:{statement.line}: {statement.name} is the name of another statement, too")
            known[statement.name] = f"{path}:{statement.line}"
    uses = uses_in(store)
    for name, place in known.items():
        if name not in uses:
            faults.append(f"{place}: {name} is used nowhere")
    for name, places in uses.items():
        if name not in known:
            faults += [f"{place}: there is no statement {name}" for place in places]
        elif len(places) > 1:
            faults += [f"{place}: {name} is used in {places[0]} already" for place in places[1:]]
    return len(known), faults


def check(root: Path) -> tuple[int, list[str]]:
    """How many statements the stores have, and what is wrong with them."""
    count, faults = 0, []
    for store, notes in NOTES.items():
        of_store, wrong = check_store(root / "src" / "stores" / store, notes)
        count += of_store
        faults += [fault.removeprefix(f"{root}/") for fault in wrong]
    return count, faults


if __name__ == "__main__":
    sys.exit(run("statements", "statements", check))
