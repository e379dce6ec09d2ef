"""What the checks of the tree (tools/check_*.py) share: a fault, and the command around a check."""

import sys
from pathlib import Path
from typing import Callable, NamedTuple


class Fault(NamedTuple):
    path: str
    line: int
    what: str
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what} ({self.rule})"


# Takes the root of a tree; returns how many things it has checked, and their faults.
Check = Callable[[Path], tuple[int, list[Fault] | list[str]]]


def run(name: str, things: str, check: Check) -> int:
    """Checks the tree that the command line names, or this one, and prints the faults. Returns the exit code: 1 for
    faults, 2 if there was nothing to check, which is a mistake in the call."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    count, faults = check(root) if root.is_dir() else (0, [])
    if count == 0:
        print(f"{name}: there are no {things} in {root}: nothing was checked", file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    if not faults:
        print(f"{name}: {count} {things}, 0 faults")
    return 1 if faults else 0
