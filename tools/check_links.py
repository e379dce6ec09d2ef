#!/usr/bin/env python3
"""Checks what the documents refer to: links, headings, files of this repository and targets of make.

    tools/check_links.py [ROOT]    prints "path:line: what is wrong (the rule)" for each fault, and then exits with 1

Checked are, in every Markdown file:
  - links to files, and the headings that they name (links to other hosts are not fetched);
  - files and folders named in `code`: `src/engine/loop.h`, `tests/*/`; but not in the changelog, which is about the past;
  - targets of make named in `code` and in blocks of commands;
  - settings named in `code`, `http.max_body`, against the configuration reference;
  - tests named in `code`, `Suite.Name` or a long name by itself;
and in all sources, scripts and build files: paths of documents (docs/.../x.md).
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

from checks import Fault, run

SKIPPED = {".git", "build"}  # folders at the root
SOURCES = {".h", ".cc", ".cmake", ".py", ".sh", ".sql", ".txt", ".json"}
PAST = {"CHANGELOG.md"}
SETTINGS = "docs/reference/configuration.md"

FENCE = re.compile(r"\s*(```+|~~~+)\s*(\S*)")
CODE = re.compile(r"(`+)(.+?)\1")
LINK = re.compile(r"!?\[(?:[^\][]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$")
HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
OTHER_HOST = re.compile(r"[a-z][a-z0-9+.-]*:")
OUR_FILE = re.compile(r"(?:src|tests|docs|tools|bench|cmake)/[\w.*/{},-]*")
DOCUMENT = re.compile(r"\bdocs/[\w./-]*?\.(?:md|1)\b")
MAKE = re.compile(r"(?:^|[;&|$(])\s*make((?:\s+[\w./=$%+-]+)+)")
TEST = re.compile(r"\b(?:TEST(?:_[FP])?|TYPED_TEST(?:_P)?|RC_GTEST(?:_FIXTURE)?_PROP)\(\s*(\w+),\s*(\w+)")
TEST_NAME = re.compile(r"[A-Z]\w+\.[A-Z]\w{7,}|[A-Z][A-Za-z0-9]{24,}")
SETTING = re.compile(r"([a-z]+)\.(?!cc$|h$|md$|toml$)[a-z_]+")
SHELLS = {"sh", "bash", "console", "text", ""}


class Names(NamedTuple):
    """What documents may name."""
    targets: set[str]
    settings: set[str]
    tests: set[str]


class Line(NamedTuple):
    number: int
    text: str
    block: str | None  # the language of the code block that it is in; None outside of blocks


def lines_of(text: str) -> Iterator[Line]:
    fence, language = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if found and not fence:
            fence, language = found[1], found[2]
        elif found and found[1].startswith(fence) and not found[2]:
            fence = ""
        else:
            yield Line(number, line, language if fence else None)


def anchors_of(text: str) -> set[str]:
    """The names that GitHub gives to the headings."""
    seen: dict[str, int] = {}
    anchors = set()
    for line in lines_of(text):
        found = HEADING.match(line.text) if line.block is None else None
        if not found:
            continue
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found[2]).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors


def expanded(pattern: str) -> list[str]:
    """sqlite{,_store}.h -> sqlite.h, sqlite_store.h"""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        return [pattern]
    return [each for part in found[1].split(",")
            for each in expanded(pattern[:found.start()] + part + pattern[found.end():])]


def is_there(root: Path, path: str) -> bool:
    return all(any(root.glob(each.rstrip("/"))) if "*" in each else (root / each).exists() for each in expanded(path))


def targets_of(root: Path) -> set[str]:
    makefile = root / "Makefile"
    return set(re.findall(r"(?m)^([\w./-]+):(?!=)", makefile.read_text("utf-8"))) if makefile.is_file() else set()


def settings_of(root: Path) -> set[str]:
    reference = root / SETTINGS
    return set(re.findall(r"(?m)^\| `([a-z_.]+)` \|", reference.read_text("utf-8"))) if reference.is_file() else set()


def tests_of(root: Path) -> set[str]:
    tests: set[str] = set()
    for top in ("src", "tests"):
        for file in (root / top).rglob("*.cc"):
            for suite, name in TEST.findall(file.read_text("utf-8", errors="replace")):
                tests |= {f"{suite}.{name}", name}
    return tests


def setting_fault(name: str, settings: set[str]) -> str | None:
    found = SETTING.fullmatch(name)
    if not found or name in settings or not any(each.startswith(found[1] + ".") for each in settings):
        return None
    return f"names the setting {name}, which {SETTINGS} does not have"


def link_fault(root: Path, file: Path, target: str) -> str | None:
    if OTHER_HOST.match(target):
        return None
    path, _, anchor = target.partition("#")
    there = (file.parent / path).resolve() if path else file
    if not there.exists():
        return f"links to {target}, which does not exist"
    if root.resolve() not in (there, *there.parents):
        return f"links to {target}, which is outside of the repository"
    if anchor and there.suffix == ".md" and anchor not in anchors_of(there.read_text("utf-8")):
        return f"links to {target}: there is no such heading"
    return None


def make_faults(command: str, targets: set[str]) -> Iterator[str]:
    for found in MAKE.finditer(command):
        for word in found[1].split():
            if "=" in word or word.startswith("-"):
                continue
            if word not in targets:
                yield f"names the target `make {word}`, which the Makefile does not have"
            break


def code_faults(root: Path, path: str, code: str, names: Names) -> Iterator[tuple[str, str]]:
    if path not in PAST:
        if OUR_FILE.fullmatch(code) and not is_there(root, code):
            yield f"names {code}, which does not exist", "documents follow the sources"
        if TEST_NAME.fullmatch(code) and code not in names.tests:
            yield f"names the test {code}, which does not exist", "documents follow the tests"
        what = setting_fault(code, names.settings)
        if what:
            yield what, "documents follow the settings"
    for what in make_faults(code, names.targets):
        yield what, "commands work when they are pasted"


def document_faults(root: Path, file: Path, names: Names) -> Iterator[Fault]:
    path = file.relative_to(root).as_posix()
    for line in lines_of(file.read_text("utf-8")):
        if line.block is not None:
            if line.block in SHELLS:
                for what in make_faults(line.text.split("#")[0], names.targets):
                    yield Fault(path, line.number, what, "commands work when they are pasted")
            continue
        for found in CODE.finditer(line.text):
            for what, rule in code_faults(root, path, found[2], names):
                yield Fault(path, line.number, what, rule)
        plain = CODE.sub("", line.text)
        for target in [*LINK.findall(line.text), *DEFINITION.findall(plain)]:
            what = link_fault(root, file, target)
            if what:
                yield Fault(path, line.number, what, "each link leads somewhere")


def source_faults(root: Path, file: Path) -> Iterator[Fault]:
    path = file.relative_to(root).as_posix()
    for number, line in enumerate(file.read_text("utf-8", errors="replace").splitlines(), 1):
        for name in DOCUMENT.findall(line):
            if not (root / name).exists():
                yield Fault(path, number, f"names {name}, which does not exist", "documents that are named are there")


def files_of(root: Path) -> list[Path]:
    return sorted(file for top in root.iterdir() if top.name not in SKIPPED
                  for file in (top.rglob("*") if top.is_dir() else [top]) if file.is_file())


def check(root: Path) -> tuple[int, list[Fault]]:
    """How many documents there are below `root`, and what is wrong with them and with those who name them."""
    names = Names(targets_of(root), settings_of(root), tests_of(root))
    faults: list[Fault] = []
    count = 0
    for file in files_of(root):
        if file.suffix == ".md":
            count += 1
            faults += document_faults(root, file, names)
        elif (file.suffix in SOURCES or file.name == "Makefile") and not file.name.endswith("_test.py") and file.name != "check_links.py":
            faults += source_faults(root, file)
    return count, faults


if __name__ == "__main__":
    sys.exit(run("links", "documents", check))
