"""The longest commands that several modules of tests look at run once in a run, whichever worker comes first."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import SAMPLES, call

COMMAND = ("reproduce", "unified", "dxtc", "--machine", "gtx680", "--size", "test", "--jobs", "1")
MULTIPLEX = ("reproduce", "multiplex", "FFT", "--machine", "gtx285", "--size", "test", "--jobs", "1")


def reproduced(folders: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes]:
    """Return what `reproduce` has of a benchmark of Fig. 1, as JSON, and its page."""
    found: tuple[dict[str, Any], bytes] = _once(folders, "reproduced", _run)
    return found


def reproduced_multiplex(folders: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """Return what `reproduce multiplex` has of FFT on one machine, as JSON, and its text."""
    found: tuple[dict[str, Any], str] = _once(folders, "multiplexed", _run_multiplex)
    return found


def _once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Any:
    """Return what `make` makes in a folder. A second worker waits until the first has it."""
    folder = folders.getbasetemp()
    if folder.name.startswith("popen-"):  # of one worker of several
        folder = folder.parent
    kept = folder / f"{name}.pickle"
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make(folder / name)))
    return pickle.loads(kept.read_bytes())


def _run(folder: Path) -> tuple[dict[str, Any], bytes]:
    folder.mkdir()
    page = folder / "page.html"
    found = call(*COMMAND, "--cache", str(folder / "kept"), "--samples", str(SAMPLES), "--html", str(page), "--json")
    assert found.code == 0, found.err
    return found.json, page.read_bytes()


def _run_multiplex(folder: Path) -> tuple[dict[str, Any], str]:
    line = (*MULTIPLEX, "--cache", str(folder), "--samples", str(SAMPLES))
    found, again = call(*line, "--json"), call(*line)
    assert (found.code, again.code) == (0, 0), found.err
    return found.json, again.out
