"""The longest commands that several modules of tests look at run once in a run, whichever worker comes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import SAMPLES, call
from tests.support.kits.suite.once import once, shared_folder
from tests.support.kits.suite.versions import share_versions

COMMAND = ("reproduce", "unified", "dxtc", "--machine", "gtx680", "--size", "test", "--jobs", "1")
SHARING = ("reproduce", "sharing", "backprop", "gaussian", "HG", "--size", "test", "--jobs", "1")
BATCHING = ("reproduce", "batching", "mapper", "splitk", "BFS", "--size", "test", "--jobs", "1")
MULTIPLEX = ("reproduce", "multiplex", "FFT", "--machine", "gtx285", "--size", "test", "--jobs", "1")


def reproduced(folders: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes]:
    """Return what `reproduce` has of a benchmark of Fig. 1, as JSON, and its page."""
    folder = shared_folder(folders)
    found: tuple[dict[str, Any], bytes] = once(folder, "reproduced", lambda: _run(folder / "reproduced"))
    return found


def reproduced_multiplex(folders: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """Return what `reproduce multiplex` has of FFT on one machine, as JSON, and its text."""
    folder = shared_folder(folders)
    found: tuple[dict[str, Any], str] = once(folder, "multiplexed", lambda: _run_multiplex(folder / "multiplexed"))
    return found


def reproduced_sharing(folders: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """Return what `reproduce sharing` has of three kernels, as JSON, and its text."""
    folder = shared_folder(folders)
    found: tuple[dict[str, Any], str] = once(folder, "shared", lambda: _run_sharing(folder / "shared"))
    return found


def reproduced_batching(folders: pytest.TempPathFactory) -> tuple[dict[str, Any], str, str]:
    """Return what `reproduce batching` has of three kernels, as JSON, its text, and its figure."""
    folder = shared_folder(folders)
    found: tuple[dict[str, Any], str, str] = once(folder, "batched", lambda: _run_batching(folder / "batched"))
    return found


def _run_batching(folder: Path) -> tuple[dict[str, Any], str, str]:
    folder.mkdir()
    line = (*BATCHING, "--cache", str(folder / "kept"), "--samples", str(SAMPLES))
    figure = folder / "figure.svg"
    found, again = call(*line, "--json"), call(*line, "--plot", str(figure))
    assert (found.code, again.code) == (0, 0), found.err
    return found.json, again.out, figure.read_text(encoding="utf-8")


def _run_sharing(folder: Path) -> tuple[dict[str, Any], str]:
    line = (*SHARING, "--cache", str(folder), "--samples", str(SAMPLES))
    found, again = call(*line, "--json"), call(*line)
    assert (found.code, again.code) == (0, 0), found.err
    return found.json, again.out


def _run(folder: Path) -> tuple[dict[str, Any], bytes]:
    folder.mkdir()
    page = folder / "page.html"
    found = call(*COMMAND, "--cache", str(folder / "kept"), "--samples", str(SAMPLES), "--html", str(page), "--json")
    assert found.code == 0, found.err
    return found.json, page.read_bytes()


def _run_multiplex(folder: Path) -> tuple[dict[str, Any], str]:
    line = (*MULTIPLEX, "--cache", str(folder), "--samples", str(SAMPLES))
    with pytest.MonkeyPatch.context() as patch:
        share_versions(folder.parent, patch)
        found, again = call(*line, "--json"), call(*line)
    assert (found.code, again.code) == (0, 0), found.err
    return found.json, again.out
