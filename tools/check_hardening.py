#!/usr/bin/env python3
"""Fails unless a release binary carries the hardening that cmake/HoraeFlags.cmake asks for.

    tools/check_hardening.py build/release/horae

It inspects the linked file, because a compiler or linker flag may have had no effect.
"""

import os
import re
import subprocess
import sys


def readelf(path: str, *options: str) -> str:
    result = subprocess.run(["readelf", "--wide", *options, path], capture_output=True, text=True,
                            env={**os.environ, "LC_ALL": "C"})
    if result.returncode != 0 or "Error:" in result.stderr:
        raise OSError(result.stderr.strip() or f"readelf failed on {path}")
    return result.stdout


def missing_hardening(path: str) -> list[str]:
    segments = readelf(path, "--program-headers")
    dynamic = readelf(path, "--dynamic")
    symbols = readelf(path, "--dyn-syms")

    flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1)\)\s+(.*)", dynamic)).split()
    stack = re.search(r"GNU_STACK\s+(?:0x\w+\s+){5}(\S*)", segments)

    missing = []
    if "PIE" not in flags:
        missing.append("not position independent: compile with -fPIE and link with -pie")
    if "GNU_RELRO" not in segments:
        missing.append("no RELRO: link with -Wl,-z,relro")
    if "(BIND_NOW)" not in dynamic and "BIND_NOW" not in flags and "NOW" not in flags:
        missing.append("RELRO is partial: link with -Wl,-z,now")
    if not stack or "E" in stack[1]:
        missing.append("the stack is executable: link with -Wl,-z,noexecstack")
    if not re.search(r"\b__stack_chk_fail\b", symbols):
        missing.append("no stack protector (__stack_chk_fail): compile with -fstack-protector-strong")
    if not re.search(r"\b__\w+_chk\b", symbols):
        missing.append("no fortified call (*_chk): compile with -O2 -D_FORTIFY_SOURCE=3")
    return missing


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: check_hardening.py PATH", file=sys.stderr)
        return 2
    path = arguments[0]
    try:
        missing = missing_hardening(path)
    except OSError as error:
        print(f"hardening: cannot read {path}: {error}", file=sys.stderr)
        return 2
    for what in missing:
        print(f"{path}: {what}")
    if not missing:
        print(f"hardening: {path} has PIE, full RELRO, no executable stack, stack protector, fortified calls")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
