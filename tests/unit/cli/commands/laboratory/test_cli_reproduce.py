"""`binalloc reproduce unified`: its report, its fields, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binalloc.laboratory.reproduce.page import reproduction_page
from tests.support.kits.cli import SAMPLES, call, refused
from tests.support.kits.report.browser import browser, look_at
from tests.support.kits.report.reproduced import reproduced

TOGETHER = pytest.mark.rotates("reproduce", "reproduce")
"""Whoever looks at the long run takes turns together."""
LINE = ("reproduce", "unified", "hotspot", "--machine", "c2075", "--size", "test", "--jobs", "1")


@pytest.mark.rotates("long commands")
def test_a_benchmark_on_one_machine(tmp_path: Path) -> None:
    kept = ("--cache", str(tmp_path / "kept"), "--samples", str(SAMPLES))
    found = call(*LINE, *kept, "--json").json
    (kernel,) = found["kernels"]
    assert (kernel["sample"], kernel["machine"]) == ("hotspot_16x16", "c2075")
    speedups = [level["speedup"] for level in kernel["levels"] if level["speedup"] is not None]
    assert kernel["best"] == max(speedups)
    assert kernel["worst"] == min(speedups)
    assert kernel["worst"] <= kernel["auto"] <= kernel["best"]
    blocks = {level["blocks"] for level in kernel["levels"]}
    assert blocks == {None, *range(1, max(b for b in blocks if b) + 1)}, "every level, those below the original's too"
    assert min(b for b in blocks if b) < kernel["original_blocks"]
    assert kernel["table1"]["user_shared_bytes_per_thread"] == {"paper": 12.0, "here": 12.0}
    assert set(kernel["unified"]) >= {"printed", "spills"}
    again = call(*LINE, *kept)
    assert again.code == 0
    assert "Table 1: paper / here" in again.out
    assert "hotspot on c2075: faster than the original" in again.out
    assert call(*LINE, *kept, "--json").json["done"] == 0, "all was kept"


def test_what_is_not_the_papers_is_refused(tmp_path: Path) -> None:
    assert "hotspot" in refused(2, "reproduce", "unified", "nbody", "--samples", str(SAMPLES))
    assert "c2075" in refused(2, "reproduce", "unified", "--machine", "a100", "--samples", str(SAMPLES))
    refused(2, "reproduce", "paging", "--samples", str(SAMPLES))
    refused(2, "reproduce", "unified", "--samples", str(tmp_path))


@pytest.fixture(scope="module")
def dxtc(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes]:
    """What there is of a benchmark of Fig. 1, and its page."""
    return reproduced(tmp_path_factory)


@TOGETHER
def test_figure_1_is_a_curve_over_registers(dxtc: tuple[dict[str, Any], bytes]) -> None:
    (curve,) = dxtc[0]["figure1"]
    points = curve["points"]
    assert [point["registers_allowed"] for point in points] == list(range(32, curve["demand"] + 1))
    assert curve["best_registers"]["paper"] == 40
    best = min(points, key=lambda point: (point["cycles"], -point["registers_allowed"]))
    assert curve["best_registers"]["here"] == best["registers_allowed"]
    assert points[0]["local_bytes"] > 0 == points[-1]["local_bytes"]
    assert points[0]["blocks_per_sm"] > points[-1]["blocks_per_sm"]
    assert all(point["same_results"] for point in points)
    for point in points:  # 1006 MHz
        assert point["milliseconds"] == pytest.approx(point["cycles"] / 1_006_000, abs=1e-6)


@TOGETHER
def test_the_page_has_both_figures(dxtc: tuple[dict[str, Any], bytes], tmp_path: Path) -> None:
    found, page = dxtc
    again = {name: value for name, value in found.items() if name not in ("schema_version", "paper")}
    assert reproduction_page(again) == page
    browser()
    seen = look_at(page, """return [...document.querySelectorAll("figure .chart svg.marks")].map(
      (s) => s.querySelectorAll("[role=graphics-symbol]").length)""", tmp_path)  # fmt: skip
    assert seen.drawn
    assert seen.console == []
    bars, points = seen.found
    assert bars >= 3
    assert points >= len(found["figure1"][0]["points"])
