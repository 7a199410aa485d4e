"""The longest command that several modules of tests look at runs once in a run, whichever worker comes first."""

from __future__ import annotations

import fcntl
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import SAMPLES, call

COMMAND = ("reproduce", "unified", "dxtc", "--machine", "gtx680", "--size", "test", "--jobs", "1")


def reproduced(folders: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes]:
    """Return what `reproduce` has of a benchmark of Fig. 1, as JSON, and its page.

    A second worker waits until the first has it.
    """
    folder = folders.getbasetemp()
    if folder.name.startswith("popen-"):  # of one worker of several
        folder = folder.parent
    kept = folder / "reproduced.pickle"
    with open(folder / "reproduced.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(_run(folder / "reproduced")))
    found: tuple[dict[str, Any], bytes] = pickle.loads(kept.read_bytes())
    return found


def _run(folder: Path) -> tuple[dict[str, Any], bytes]:
    folder.mkdir()
    page = folder / "page.html"
    found = call(*COMMAND, "--cache", str(folder / "kept"), "--samples", str(SAMPLES), "--html", str(page), "--json")
    assert found.code == 0, found.err
    return found.json, page.read_bytes()
