"""What holds for every test: nobody changes an instruction; every run conserves what it must; long tests come first.
And what the property tests counted, at the end of the run: works with and without xdist, through test properties."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from _pytest import runner

from binalloc import collection
from binalloc.call_stack import with_room
from binalloc.cli import terminal
from tests.support.kits.suite import let_go, rotation
from tests.support.kits.suite.conservation import watch_runs
from tests.support.kits.suite.frozen import freeze_instructions

freeze_instructions()
watch_runs()
terminal.EVERY = float("inf")  # commands say no more on a slow machine than on a fast one
hypothesis.settings.register_profile(
    "whatever the time", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("whatever the time")
gc.set_threshold(let_go.SELDOM)
collection.FEW = sys.maxsize  # full collections are `let_go.collect`'s, between tests
_RUN = with_room(runner.pytest_runtest_protocol)

REWRITES = "rewrite cases"
MUTANTS = "mutants"
WIDE = "wide programs"


LONG = (
    "tests/property/", "tests/differential/", "tests/unit/verify/", "tests/unit/cli/", "tests/unit/pipeline/",
    "tests/unit/laboratory/", "tests/unit/samples/", "tests/unit/transform/", "tests/unit/plugins/",
    "tests/unit/testing/", "tests/unit/names/", "tests/unit/report/", "tests/unit/test_collection.py",
    "tests/unit/test_library.py", "tests/golden/",
)
"""Where tests take seconds: begun first, so that two workers end at the same time."""


RANDOM = ("tests/property/",)
"""Where cases are drawn: `make test` runs a quarter of them each time (`rotation`), and so of those marked `rotates`;
of those marked `sampled` all, which take a quarter of what they judge themselves."""


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    turns = []
    for item in items:
        mark = item.get_closest_marker("rotates")
        random = "[" in item.nodeid and item.nodeid.startswith(RANDOM)
        if (mark or random) and item.get_closest_marker("sampled") is None:
            turns.append((item.nodeid, rotation.Turn(*mark.args, **mark.kwargs) if mark else rotation.Turn()))
    left = rotation.left_out(turns)
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
        items[:] = [item for item in items if item.nodeid not in left]


@pytest.fixture(scope="module")
def shared_versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """While a module that asks for it runs, `multiplex` finds each version once in a run."""
    from tests.support.kits.suite.once import shared_folder
    from tests.support.kits.suite.versions import share_versions

    with pytest.MonkeyPatch.context() as patch:
        share_versions(shared_folder(tmp_path_factory), patch)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> object:
    """What pytest does with a test, in room of its own: a test stands some sixty calls deep."""
    return _RUN(item, nextitem)


def pytest_runtest_teardown(item: Any, nextitem: Any) -> None:
    if nextitem is None or nextitem.module is not item.module:
        let_go.let_go(item.module)
    let_go.collect()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Feasible share of the random rewrites and the table of mutants by kind, if any of those tests ran."""
    rewrites: Counter[str] = Counter()
    mutants: dict[str, Counter[str]] = {}
    wide: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in report.user_properties:
                if name == REWRITES:
                    rewrites.update(value)
                if name == WIDE:
                    wide.update(value)
                if name == MUTANTS:
                    for kind, counts in value.items():
                        mutants.setdefault(kind, Counter()).update(counts)
    now = rotation.part()
    if now is not None:
        which = f"part {now + 1} of {rotation.PARTS} ran ({rotation.COMMIT}={os.environ[rotation.COMMIT]})"
        terminalreporter.write_line(f"random cases: {which}; make test-full runs all")
    if rewrites:
        _rewrites(terminalreporter, rewrites)
    if wide:
        terminalreporter.section("wide programs rewritten, checked and emulated")
        for name, count in sorted(wide.items()):
            terminalreporter.write_line(f"{count:8} {name}")
    if mutants:
        _mutants(terminalreporter, mutants)


def _rewrites(out: Any, counts: Counter[str]) -> None:
    total, feasible = counts["cases"], counts["feasible"]
    out.section("random programs rewritten, checked and emulated")
    out.write_line(
        f"{total} cases of program and budget from the reported minimum up: {feasible} feasible "
        f"({100 * feasible / total:.1f} %), {counts['spilling']} with spill code, {counts['slots']} using slots; "
        f"{counts['below']} budgets below the minimum, {counts['below refused']} refused"
    )


def _mutants(out: Any, table: dict[str, Counter[str]]) -> None:
    out.section("mutants of real rewrites")
    out.write_line(f"{'kind':68}{'mutants':>8}{'rejected':>9}{'equivalent':>11}")
    rows = [*sorted(table.items()), ("all", sum(table.values(), Counter()))]
    for kind, c in rows:
        out.write_line(f"{kind:68}{c['mutants']:8}{c['rejected']:9}{c['equivalent']:11}")
