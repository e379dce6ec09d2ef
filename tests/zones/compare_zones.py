#!/usr/bin/env python3
"""Compares the offsets of all time zones, and the instants of all changes from 2025 to 2045, with Python's zoneinfo.

    compare_zones.py PROGRAM       PROGRAM prints "NAME begin offset [begin offset ...]" for each zone

Each change must be one for zoneinfo too, to the second; and on no day may zoneinfo have another offset, which finds
changes that PROGRAM does not know.
"""

import subprocess
import sys
from bisect import bisect_right
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

UNTIL = int(datetime(2046, 1, 1, tzinfo=timezone.utc).timestamp())
DAY = 86_400


def faults_of(name: str, begins: list[int], offsets: list[int]) -> list[str]:
    zone = ZoneInfo(name)

    def theirs(at: int) -> int:
        return int(datetime.fromtimestamp(at, zone).utcoffset().total_seconds())

    faults = []
    instants = list(range(begins[0], UNTIL, DAY)) + begins + [begin - 1 for begin in begins[1:]]
    for at in instants:
        ours = offsets[bisect_right(begins, at) - 1]
        if theirs(at) != ours:
            faults.append(f"{name} at {at}: our offset is {ours}, that of zoneinfo {theirs(at)}")
    return faults


def main() -> int:
    printed = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    faults, compared, changes, groups = [], 0, 0, {}
    for line in printed:
        name, *numbers = line.split()
        # Names of the same zone have the same changes in both: of each, the changes decide.
        groups.setdefault(tuple(map(int, numbers)), []).append(name)
    for numbers, names in groups.items():
        begins, offsets = list(numbers[::2]), list(numbers[1::2])
        changes += (len(begins) - 1) * len(names)
        for index, name in enumerate(names):
            compared += 1
            if index == 0:
                faults += faults_of(name, begins, offsets)
            else:  # each change itself, and each quarter of a year
                faults += quick_faults(name, begins, offsets)
    print(f"zones: {compared} zones, {changes} changes, {len(faults)} faults")
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    if compared < 400 or changes < 2000:
        print("zones: too few were compared", file=sys.stderr)
        return 1
    return 1 if faults else 0


def quick_faults(name: str, begins: list[int], offsets: list[int]) -> list[str]:
    zone = ZoneInfo(name)
    instants = list(range(begins[0], UNTIL, 15 * DAY)) + begins + [begin - 1 for begin in begins[1:]]
    return [f"{name} at {at}: our offset is {offsets[bisect_right(begins, at) - 1]}" for at in instants
            if datetime.fromtimestamp(at, zone).utcoffset().total_seconds() != offsets[bisect_right(begins, at) - 1]]


if __name__ == "__main__":
    sys.exit(main())
