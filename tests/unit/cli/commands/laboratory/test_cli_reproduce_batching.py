"""`binalloc reproduce batching`: its fields, its answer, its figure, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binalloc.laboratory.batching.schemes import BASE, SCHEMES
from tests.support.kits.cli import SAMPLES, call, refused
from tests.support.kits.report.reproduced import reproduced_batching

NAMES = [scheme.name for scheme in SCHEMES]
RUN = [scheme.name for scheme in SCHEMES if not scheme.missing]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, str]:
    """What there is of three kernels with a few blocks each."""
    return reproduced_batching(tmp_path_factory)


def test_each_kernel_has_all_schemes_with_both_row_sizes(found: tuple[dict[str, Any], str, str]) -> None:
    kernels = found[0]["kernels"]
    assert [(k["kernel"], k["row_bytes"]) for k in kernels] == [
        (name, size) for size in (4096, 8192) for name in ("mapper", "BFS", "splitk")
    ]  # fmt: skip
    for kernel in kernels:
        assert (kernel["status"], kernel["reason"]) == ("ok", "")
        assert list(kernel["schemes"]) == NAMES
        assert [name for name, run in kernel["schemes"].items() if run is not None] == RUN
        assert kernel["class"] in ("C1", "C2", "C3", "none")
    assert found[0]["missing"] == {scheme.name: scheme.missing for scheme in SCHEMES if scheme.missing}
    assert found[0]["mixes"] == []


def test_runs_have_the_same_results_and_what_the_paper_measures(found: tuple[dict[str, Any], str, str]) -> None:
    for kernel in found[0]["kernels"]:
        runs = {name: run for name, run in kernel["schemes"].items() if run is not None}
        assert all(run["same_results"] for run in runs.values())
        if kernel["kernel"] != "BFS":  # whether a node has its level already hangs on who came first
            assert len({run["instructions"] for run in runs.values()}) == 1
        for name, run in runs.items():
            coloured = next(scheme for scheme in SCHEMES if scheme.name == name).pages.endswith("coloured")
            assert (run["local_ratio"] is None) != coloured
            assert (run["energy"]["far_nj"] is None) == (name not in ("bw_aware", "batching_bw"))
            assert 0 < run["energy"]["least_nj"] <= run["energy"]["total_nj"] <= run["energy"]["most_nj"]
            assert run["cycles"] > 0
            assert 0 <= run["row_hits"] <= 1


def test_batches_are_those_of_the_profile(found: tuple[dict[str, Any], str, str]) -> None:
    kernels = {k["kernel"]: k for k in found[0]["kernels"]}
    for kernel in kernels.values():
        formula = kernel["sharing"]["formula"]
        spelt = {"stride": f"stride:{formula['value']}", "modulus": f"mod:{formula['value']}", "none": "stride:1"}
        assert kernel["schemes"]["temp"]["batches"] == spelt[formula["kind"]]
        assert kernel["schemes"][BASE]["batches"] == "auto"
        sharing = kernel["sharing"]
        assert sharing["one_batch"] + sharing["two_batches"] + sharing["global_pages"] <= sharing["pages"]
    assert kernels["BFS"]["sharing"]["inputs_alone"]
    assert not kernels["splitk"]["sharing"]["inputs_alone"]
    assert sum(bar["ours"] for bar in found[0]["formulas"]) == pytest.approx(100, abs=0.2)


def test_the_text_answers_first(found: tuple[dict[str, Any], str, str]) -> None:
    first, *rest = found[1].splitlines()
    assert first.startswith(f"{RUN[1]} over ccws, rows of 4,096 bytes, 3 kernels: ")
    assert first.endswith("% energy of DRAM")
    judged = [one["holds"] for one in found[0]["sayings"] if one["holds"] is not None]
    assert f"sentences of the paper that hold in the mean: {sum(judged)} of {len(judged)}, see below" in rest
    for scheme, reason in found[0]["missing"].items():
        assert f"{scheme} was not run: {reason}" in rest
    assert sum(line.startswith("mapper ") for line in rest) == 3, "speeds with either row size, and batches"
    assert any(line.startswith("not judged, as there is no run: ") for line in rest)


def test_the_figure_has_a_panel_for_each_row_size(found: tuple[dict[str, Any], str, str]) -> None:
    for size in ("4,096", "8,192"):
        assert f"Speed over CCWS in per cent, rows of {size} bytes" in found[2]
    assert found[2].count(">splitk</text>") == 2


def test_one_machine_alone(tmp_path: Path) -> None:
    line = ("reproduce", "batching", "splitk", "--size", "test", "--machine", "gem5gpu-batching-8k", "--jobs", "1")
    given = call(*line, "--cache", str(tmp_path), "--samples", str(SAMPLES), "--json")
    assert given.code == 0, given.err
    assert [(k["kernel"], k["machine"]) for k in given.json["kernels"]] == [("splitk", "gem5gpu-batching-8k")]
    assert given.json["done"] == len(RUN) + 1, "a run for each scheme, and one for its pages"


def test_a_kernel_that_does_not_end_is_reported(tmp_path: Path) -> None:
    line = ("reproduce", "batching", "splitk", "--size", "test", "--max-cycles", "10", "--jobs", "1")
    given = call(*line, "--cache", str(tmp_path), "--samples", str(SAMPLES))
    assert given.code == 1
    assert "nothing could be run" in given.err
    assert "splitk on gem5gpu-batching: " in given.out


def test_what_is_refused() -> None:
    assert "no kernel of this paper's" in refused(2, "reproduce", "batching", "nbody")
    assert "no machine of the paper's" in refused(2, "reproduce", "batching", "--machine", "a100")
    assert "cannot be chosen" in refused(2, "reproduce", "batching", "--figures", "10")
    assert "there are no curves of this paper" in refused(2, "reproduce", "batching", "--curves")
    assert "there is no page of this paper" in refused(2, "reproduce", "batching", "--html", "p.html")
    assert "there is no figure of this paper" in refused(2, "reproduce", "sharing", "--plot", "p.svg")
    assert "ends in .svg" in refused(2, "reproduce", "batching", "--plot", "p.png")
    assert "a sample is missing" in refused(2, "reproduce", "batching", "mapper", "--samples", "samples/loom")
