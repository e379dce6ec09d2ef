"""A small tree in a temporary folder, in which a test plants faults for one of the checks (tools/check_*.py)."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType


class PlantedTree(unittest.TestCase):
    tool: ModuleType          # the check
    files: dict[str, str]     # path and text of each file of the clean tree

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in self.files.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def faults(self) -> list[str]:
        return [str(fault) for fault in self.tool.check(self.root)[1]]

    def run_tool(self) -> subprocess.CompletedProcess[str]:
        assert self.tool.__file__
        return subprocess.run([sys.executable, self.tool.__file__, str(self.root)], capture_output=True, text=True,
                              check=False)
