#!/usr/bin/env python3
"""Finds phrases in sources and documents that say in a roundabout way what engineers have a word for.

    tools/check_words.py           prints "path:line: what is wrong (what to write instead)" and then exits with 1

The list is short on purpose: it holds phrases that were frequent once and are wrong nearly everywhere. A blank in a
pattern matches any white space, including a line break with the comment mark after it.
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

from checks import Fault, run

# Where to look. Generated and recorded data (the corpus of the fuzz targets) is left out.
FOLDERS = (".ci", "bench", "cmake", "docs", "include", "packaging", "src", "tests", "tools")
LEFT_OUT = ("tests/fuzz/corpus/",)
SUFFIXES = frozenset((".h", ".cc", ".sql", ".py", ".sh", ".md", ".txt", ".cmake", ".in", ".toml", ".json", ".1", ""))


class Phrase(NamedTuple):
    pattern: str  # a regular expression
    instead: str


# The classes around single letters keep this file, and a search of the repository, free of the phrases themselves.
PHRASES = (
    # Programs are things.
    Phrase(r"\b[Ww]ho[m]?ever\b", "name the actor: the caller, another node, any worker"),
    Phrase(r"\b[Ww]ho (stand|hold|wait|ask|come|goe|know)[s]\b", "name the actor: a worker that holds, a node that waits"),
    Phrase(r"\b\w*[a-z]Who(m|ever|[A-Z]\w*)\b", "in a test's name, say the behaviour: WakesBlockedConsumersWhenClosed"),
    # Actions have verbs.
    Phrase(r"\b(is|are|was|were|be|been|not|being) [t]old\b", "say what happens: is notified, is passed, is logged"),
    Phrase(r"\b[t]ells? of\b", "say what happens: logs, reports, returns"),
    Phrase(r"\bwith [c]are\b|\w_with_[c]are\b", "say what is done: checks for duplicates, retries, locks first"),
    Phrase(r"\b[Aa]s often as they [l]ike\b", "at will"),
    Phrase(r"[t]his and worse\b", "minimum severity"),
    # Known terms.
    Phrase(r"\bany at [o]nce\b|\bat [o]nce by any\b|\bany thread at [o]nce\b", "Thread-safe."),
    Phrase(r"\b[L]ogPace\b|\blog_[p]ace\b", "LogRateLimiter"),
    Phrase(r"\bis_[e]lsewhere\b|\bprepare_[q]uickly\b", "use the present name of the function"),
    # Test names that say no behaviour.
    Phrase(r"\b\w*[W]hateverWay\w*|\b\w*[B]yNothing\w*", "say the behaviour: ReturnsTaskWhenLeaseExpires"),
    # What a reader of the repository cannot open.
    Phrase(r"\.\./[s]hared\b", "refer to files of this repository only"),
    Phrase(r"\b(DESIGN|POSTGRES|FAILURES|STYLE|DELAY|FACTS|TOOLCHAIN)\.[m]d\b", "refer to files of this repository only"),
    Phrase(r"(?<![\w./$}])/(work|root)/[\w.]", "no paths of one machine"),
)


class Exemption(NamedTuple):
    path: str
    pattern: str  # of the line
    why: str


# Lines that may keep a phrase.
ALLOWED: tuple[Exemption, ...] = ()

GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?://+|#+|--|\*|>)?[ \t]*)"
COMPILED = [(re.compile(phrase.pattern.replace(" ", GAP)), phrase) for phrase in PHRASES]


def is_allowed(path: str, line: str) -> bool:
    return any(each.path == path and re.search(each.pattern, line) for each in ALLOWED)


def faults_of(path: str, text: str) -> Iterator[Fault]:
    lines = text.split("\n")
    for pattern, phrase in COMPILED:
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            if not is_allowed(path, lines[line - 1]):
                said = " ".join(re.sub(r"\n\s*(//+|#+|--|\*|>)?", " ", found[0]).split())
                yield Fault(path, line, f'says "{said}"', phrase.instead)


def files_of(root: Path) -> Iterator[Path]:
    for file in sorted(root.iterdir()):
        if file.is_file() and file.name != ".git" and (file.suffix in SUFFIXES or file.name.startswith(".clang")):
            yield file
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.is_file() and file.suffix in SUFFIXES and not path.startswith(LEFT_OUT):
                yield file


def check(root: Path) -> tuple[int, list[Fault]]:
    """How many files were read, and which phrases are in them."""
    count, faults = 0, []
    for file in files_of(root):
        count += 1
        faults += faults_of(file.relative_to(root).as_posix(), file.read_text("utf-8", errors="replace"))
    return count, sorted(faults)


if __name__ == "__main__":
    sys.exit(run("words", "files", check))
