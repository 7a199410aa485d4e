"""A copy of the package that a test extends as a newcomer would, and uses from the command line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT


class Extended:
    """The copy, below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT / "binalloc", root / "binalloc", ignore=shutil.ignore_patterns("__pycache__"))

    def add(self, file: str, text: str) -> None:
        """A new file of the package."""
        path = self.root / "binalloc" / file
        assert not path.exists()
        path.write_text(text)

    def insert(self, file: str, before: str, text: str) -> None:
        """`text` in front of the one place in a file that reads `before`."""
        path = self.root / "binalloc" / file
        old = path.read_text()
        assert old.count(before) == 1, (file, before)
        path.write_text(old.replace(before, text + before))

    def python(self, script: str, *arguments: str) -> str:
        """What a script prints that imports the copy."""
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def cli(self, *arguments: str) -> str:
        """The command line of the copy."""
        return self.python("from binalloc.cli.main import main; main()", *arguments)
