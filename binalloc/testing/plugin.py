"""This module is the pytest plugin: the fixture `binalloc_emulator`, and its options.

pytest imports this file in every run where binalloc is installed, so it imports nothing of ours before a test asks for
the fixture. Leaves true: baselines are written when their test has passed, by the process that ran it, one file each,
so workers of pytest-xdist never write the same one. Reports carry the names of the written files to the end of the run.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from binalloc.testing.emulator import Emulator, Loaded  # noqa: F401  # mypy reads it in a text

_EMULATOR = pytest.StashKey["Emulator"]()
_LOADED = pytest.StashKey["Loaded"]()
_WRITTEN, _UNCHANGED, _FASTER = "binalloc_written", "binalloc_unchanged", "binalloc_faster"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("binalloc", "kernels on binalloc's emulator")
    group.addoption(
        "--binalloc-update",
        action="store_true",
        help="Write the baselines of the tests that pass instead of comparing.",
    )
    group.addoption(
        "--binalloc-engine", choices=("numba", "python"), default="numba",
        help="Engine of the emulator: numba (compiled once, then cached) or python (slow, needs no compiling); cycles "
        "are the same.  [default: numba]",
    )  # fmt: skip


@pytest.fixture
def binalloc_emulator(request: pytest.FixtureRequest) -> Emulator:
    """Run kernels on the emulator and compare them with baselines; see `binalloc.testing.emulator.Emulator`."""
    from binalloc.testing.emulator import Emulator

    item, config = request.node, request.config
    test = item.nodeid.partition("::")[2] or item.name
    emulator = Emulator(
        item.path, test, update=config.getoption("--binalloc-update"), engine=config.getoption("--binalloc-engine"),
        loaded=config.stash.setdefault(_LOADED, {}),
    )  # fmt: skip
    item.stash[_EMULATOR] = emulator
    return emulator


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    emulator = item.stash.get(_EMULATOR, None)
    if emulator is not None and call.when == "call" and report.passed:
        _keep(report, emulator)
    return report


def _keep(report: pytest.TestReport, emulator: Emulator) -> None:
    """Write the baselines of a passed test, where that is asked for, and add notes for the summary to its report."""
    from binalloc.errors import BinallocError

    report.user_properties += [(_FASTER, text) for text in emulator.faster]
    if not emulator.update:
        return
    try:
        for path, changed in emulator.write_baselines():
            report.user_properties.append((_WRITTEN if changed else _UNCHANGED, path))
    except BinallocError as error:
        report.outcome, report.longrepr = "failed", str(error)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    notes: dict[str, list[str]] = {_WRITTEN: [], _UNCHANGED: [], _FASTER: []}
    for report in terminalreporter.stats.get("passed", []):
        for key, value in report.user_properties:
            if key in notes:
                notes[key].append(value)
    updating = terminalreporter.config.getoption("--binalloc-update")
    if not updating and not notes[_FASTER]:
        return
    terminalreporter.section("binalloc baselines")
    if updating:
        number, same = len(notes[_WRITTEN]), len(notes[_UNCHANGED])
        plural = "" if number == 1 else "s"
        terminalreporter.write_line(f"{number} baseline{plural} written, {same} as before")
        for path in sorted(notes[_WRITTEN]):
            terminalreporter.write_line(f"  {path}")
    for text in sorted(notes[_FASTER]):
        terminalreporter.write_line(f"faster than its baseline: {text}")
