"""What takes long and several modules of tests need is made once in a run, whichever worker comes first."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def shared_folder(folders: pytest.TempPathFactory) -> Path:
    """Return the folder of the whole run, which all workers share."""
    folder = folders.getbasetemp()
    return folder.parent if folder.name.startswith("popen-") else folder  # of one worker of several


def once(folder: Path, name: str, make: Callable[[], object]) -> Any:
    """Return what `make` makes, by its name in the folder. A second worker waits until the first has it; what raises is
    made again."""
    kept = folder / f"{name}.pickle"
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make()))
    return pickle.loads(kept.read_bytes())
