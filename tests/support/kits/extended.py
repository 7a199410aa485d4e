"""A copy of the package with more in it, as a newcomer would add it: files beside others, and a row in a table."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT


class Extended:
    """The copy lies under `root`. Its commands run in processes of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT / "binalloc", root / "binalloc", ignore=shutil.ignore_patterns("__pycache__"))

    def add_file(self, path: str, text: str) -> None:
        """One new file."""
        assert not (self.root / path).exists()
        (self.root / path).write_text(text)

    def add_row(self, path: str, before: str, after: str, imported: str = "") -> None:
        """One row more: `before`, which stands there once, becomes `after`. imported: the import that the row needs."""
        text = (self.root / path).read_text()
        assert text.count(before) == 1, f"{path}: {before}"
        text = text.replace(before, after)
        if imported:
            first = text.index("\nfrom binalloc") + 1
            text = text[:first] + imported + "\n" + text[first:]
        (self.root / path).write_text(text)

    def add_named(self, path: str, row: str, imported: str) -> None:
        """One row more at the end of the table that `by_name` makes."""
        text = (self.root / path).read_text()
        (rows,) = re.findall(r"by_name\(\((.*?),?\)\)\n", text)
        self.add_row(path, f"by_name(({rows}", f"by_name(({rows}, {row}", imported)

    def run(self, *arguments: str) -> str:
        """What `binalloc` prints; it must end well."""
        return self.python("from binalloc.cli.main import main; main()", *arguments)

    def python(self, script: str, *arguments: str) -> str:
        """What a script prints that imports the copy."""
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))
