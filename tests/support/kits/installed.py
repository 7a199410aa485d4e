"""Tiny packages, installed as `pip` leaves them: a module and a `.dist-info` beside it, in a folder of their own; and
commands in processes that have them on their path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT


class Installed:
    """Packages in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, package: str, code: str, **groups: dict[str, str]) -> None:
        """A package of version 1.0 whose module, called the same, has that code. groups: of `binalloc.` the entry
        points, name -> place."""
        (self.folder / f"{package}.py").write_text(code)
        info = self.folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        sections = (
            f"[binalloc.{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
            for group, points in groups.items()
        )
        (info / "entry_points.txt").write_text("\n".join(sections))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`binalloc` with those arguments, in the project's folder."""
        path = os.pathsep.join([str(self.folder), str(ROOT)])
        command = [sys.executable, "-c", "from binalloc.cli.main import main; main()", *arguments]
        environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "110"}
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)

    def text(self, *arguments: str) -> str:
        """What it prints; it must end well."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.text(*arguments, "--json"))
