"""`--skews`: cycles that hang on when blocks start are a range, in JSON always and in text where it is wide."""

from __future__ import annotations

from typing import Any

import pytest

from binalloc.emulator.host.figures import skew
from binalloc.emulator.host.figures.skew import change, cycles_range, cycles_text, skewed_cycles
from binalloc.emulator.runs.run import run
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.report import rewrite as report
from tests.support.kits.cli import call, launch, loom
from tests.support.paths import sample_file


def cycles(name: str, seed: int | None) -> int:
    found = load_launch(sample_file(f"{name}.toml"), "test")
    return run(load(loom(name)), name, found, load_machine("gtx680"), engine="python", skew=seed).cycles


def test_the_range_holds_the_run_and_every_seeds() -> None:
    each = [cycles("callchain", seed) for seed in (None, 0, 1, 2)]
    found = call("run", loom("callchain"), *launch("callchain"), "--skews", "3", "--json").json
    assert found["cycles"] == each[0]
    assert found["cycles_range"] == [min(each), max(each)]
    assert min(each) < max(each)
    assert call("run", loom("callchain"), *launch("callchain"), "--json").json["cycles_range"] is None


@pytest.mark.parametrize(
    ("skewed", "text"),
    [((), "1,000"), ((1_020, 990), "1,000"), ((1_021, 990), "990 to 1,021"), ((979,), "979 to 1,000")],
)
def test_only_a_wide_range_is_told(skewed: tuple[int, ...], text: str) -> None:
    assert cycles_text(1_000, cycles_range(1_000, skewed)) == text


def test_seeds_are_counted_from_zero() -> None:
    assert skewed_cycles(lambda seed: 10 * seed, 3) == (0, 10, 20)
    assert change(100, (90, 105)) == 0.1
    assert change(100, ()) == 0
    assert cycles_range(5, ()) is None


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str]:
    """A rewrite with seeds as JSON, and as text where every change is wide."""
    args = ["rewrite", loom("callchain"), *launch("callchain"), "--registers", "6", "--slots", "4", "--skews", "2"]
    found = call(*args, "--json").json
    monkeypatch.setattr(skew, "LIMIT", 0.0)
    monkeypatch.setattr(report, "LIMIT", 0.0)
    return found, call(*args).out


def test_a_rewrite_tells_ranges_of_both_versions_and_of_the_speedup(rewritten: tuple[dict[str, Any], str]) -> None:
    found, text = rewritten
    for version in ("original", "rewritten", "local"):
        low, high = found[version]["cycles_range"]
        assert low <= found[version]["cycles"] <= high
    low, high = found["speedup_range"]
    assert low <= found["speedup"] <= high
    assert low < high
    old, new = found["original"]["cycles_range"], found["rewritten"]["cycles_range"]
    assert round(old[0] / new[1], 4) <= low  # of one seed each, not of the best against the worst
    assert high <= round(old[1] / new[0], 4)
    assert f"{old[0]:,} to {old[1]:,}" in text
    assert f"{low:.3f} to {high:.3f} when blocks start a little later" in text


def test_the_number_of_seeds_has_bounds() -> None:
    assert call("run", loom("callchain"), *launch("callchain"), "--skews", "-1").code == 2
    assert call("run", loom("callchain"), *launch("callchain"), "--skews", "1001").code == 2
