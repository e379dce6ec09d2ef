#!/usr/bin/env python3
"""Sends a node several hundred requests that Schemathesis makes from the node's OpenAPI document, right ones and wrong ones, and
fails where document and node disagree: a status, header or body that is not documented, a right request that is refused, a wrong
one that is accepted, a method that is answered with anything but 405. The requests are the same at each run.

    openapi_fuzz.py HORAE PACKAGES [ARGUMENTS]

HORAE is the program; PACKAGES the folder of Python packages (tools/python_packages.sh); ARGUMENTS go to `schemathesis run`, for
example --include-operation-id submit_task to repeat a part.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = "20"  # generated for each operation, beside the examples and borders of its schemas
LEAST_CASES = 300  # fewer mean that the document lacks operations, or that phases are off
LAST_LINES = 30  # of the log, after a failure


class Node:
    """A node with a store of its own on a free port. Nothing takes its tasks, so that their states do not depend on time."""

    def __init__(self, program: str, folder: Path):
        self.process = subprocess.Popen(
            [program, "serve", "--data", str(folder / "data"), "--http-listen", "127.0.0.1:0", "--slots-count", "0"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines: list[str] = []
        self.url = self.read_url()
        # Its log must be read, or the node would wait for room in the pipe.
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def read_url(self) -> str:
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"http://[0-9.:]+", line):
                return found[0]
        sys.exit("openapi_fuzz: the node did not start:\n" + "".join(self.lines))

    def stop(self) -> int:
        """Its exit status."""
        self.process.send_signal(signal.SIGTERM)
        self.reader.join()
        return self.process.wait()


def run_schemathesis(packages: Path, url: str, folder: Path, arguments: list[str]) -> tuple[int, str]:
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0",
                       HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"), SCHEMATHESIS_HOOKS=str(HERE / "hooks.py"))
    command = [str(packages / "bin" / "python"), "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"),
               "--no-color", "run", url + "/openapi.json", "--max-examples", EXAMPLES, "--workers", "1", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def main(program: str, packages: str, *arguments: str) -> int:
    with tempfile.TemporaryDirectory(prefix="horae-openapi-") as temporary:
        folder = Path(temporary)
        node = Node(str(Path(program).resolve()), folder)
        try:
            status, report = run_schemathesis(Path(packages).absolute(), node.url, folder, list(arguments))
        finally:
            node_status = node.stop()
    cases = int(found[1]) if (found := re.search(r"(\d+) generated", report)) else 0
    print(report)
    if status != 0:
        print("openapi_fuzz: the document and the node disagree, see above. Correct one of them; what a schema cannot say "
              "belongs into tests/openapi/schemathesis.toml. The last lines of the node's log:")
        print("".join(node.lines[-LAST_LINES:]))
        return 1
    if node_status != 0:
        print(f"openapi_fuzz: the node ended with {node_status}\n" + "".join(node.lines[-LAST_LINES:]))
        return 1
    if cases < LEAST_CASES and not arguments:
        print(f"openapi_fuzz: only {cases} requests were made, at least {LEAST_CASES} are expected")
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
