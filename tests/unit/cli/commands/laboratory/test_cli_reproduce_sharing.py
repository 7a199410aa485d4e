"""`binalloc reproduce sharing`: its fields, its answer, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binalloc.laboratory.sharing.facts import slower_choices, worse_with_sharing
from binalloc.laboratory.sharing.paper import BENCHMARKS, LAUNCH_OF_NOTHING, MEANS, MEANS_WITHOUT
from binalloc.laboratory.sharing.variations import FIGURES
from tests.support.kits.cli import SAMPLES, call, refused
from tests.support.kits.report.reproduced import reproduced_sharing


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What there is of three kernels: one whose blocks share, one of Set-3, and one that is merged."""
    return reproduced_sharing(tmp_path_factory)


def test_the_steps_of_a_kernel(found: tuple[dict[str, Any], str]) -> None:
    backprop, gaussian, _ = found[0]["kernels"]
    assert (backprop["kernel"], backprop["set"], backprop["blocks"], backprop["shared_blocks"]) == ("backprop", 1, 1, 2)
    steps = backprop["shared"]
    assert list(steps) == ["noopt", "owf", "reorder", "postdom", "opt", "kept", "auto"]
    assert [steps[step]["scheduler"] for step in steps][:6] == ["lrr", *["owf"] * 5]
    assert [steps[step]["releases"] for step in steps][:6] == [0, 0, 0, 1, 2, 2]
    assert all(one["same_results"] for one in steps.values())
    assert all(one["proven"] for one in steps.values() if one["sharing"] != "off")
    assert steps["noopt"]["sharing"] == "1:940"
    lrr = backprop["unshared"]["lrr"]
    assert steps["noopt"]["instructions"] == lrr["instructions"]
    threads = 2 * 256
    assert threads <= steps["opt"]["instructions"] - lrr["instructions"] <= 2 * threads  # Table VI's rule
    gains = {gain["step"]: gain["over_lrr"] for gain in backprop["gains"]}
    assert gains["opt"] == round(lrr["cycles"] / steps["opt"]["cycles"], 4)
    assert (gaussian["shared"], gaussian["free"]) == ({}, None)
    assert "no block is gained" in gaussian["reason"]


def test_the_text_answers_first(found: tuple[dict[str, Any], str]) -> None:
    first, *_ = found[1].splitlines()
    assert first.startswith("opt over lrr, 1 kernel: ")
    assert first.endswith("% instructions per cycle"), "the paper's mean is one of fourteen kernels"


def test_the_figures_of_its_kernels(found: tuple[dict[str, Any], str]) -> None:
    figures = {one["figure"]: one for one in found[0]["figures"]}
    assert list(figures) == list(FIGURES)
    (row,) = figures["14"]["rows"]
    lrr, opt = found[0]["kernels"][0]["unshared"]["lrr"], found[0]["kernels"][0]["shared"]["opt"]
    gain = round(100 * (opt["ipc"] / lrr["ipc"] - 1), 2)
    assert (row["row"], row["ours"], row["paper"]) == ("backprop", [gain], [74.2])
    assert [row["row"] for row in figures["23"]["rows"]] == ["gaussian"]
    assert [row["row"] for row in figures["26"]["rows"]] == ["HG"]
    assert {k["machine"] for k in found[0]["varied"]} == {
        f"gpgpusim-sharing-{one}"
        for one in ("48k-l1", "32k", "48k", "48k-3072", "64k", "7x2", "3x5", "8x2", "4x4", "10x3")
    }
    assert {k["kernel"] for k in found[0]["varied"]} == {"backprop"}
    assert [len(row["ours"]) for row in figures["28"]["rows"]] == [10]
    assert "Fig. 19: 48 KB of L1, over Unshared-LRR there" in found[1]
    assert "Fig. 26: merged blocks (cycles)" in found[1]


def test_a_merged_kernel_shares(found: tuple[dict[str, Any], str]) -> None:
    """HG's blocks, merged by all three schemes, share: proven twice, with the original's results."""
    (merged,) = found[0]["merged"]
    assert [one["scheme"] for one in merged["schemes"]] == ["vtb-pipe", "vtb", "co-vtb"]
    for one in merged["schemes"]:
        assert (one["alone"]["proven"], one["alone"]["same_results"]) == (True, True)
        assert (one["shared"]["proven"], one["shared"]["same_results"]) == (True, True)
        assert one["shared"]["blocks"] == 2 * one["alone"]["blocks"]
    (row,) = next(one for one in found[0]["figures"] if one["figure"] == "26")["rows"]
    assert row["ours"][2:4] == [merged["schemes"][0][part]["cycles"] for part in ("alone", "shared")]
    assert all(one is not None for one in row["ours"])


def test_what_was_not_run_has_no_rows(tmp_path: Path) -> None:
    line = ("reproduce", "sharing", "NQU", "--figures", "22,23", "--machine", "gpgpusim-sharing-32k", "--size", "test")
    given = call(*line, "--jobs", "1", "--cache", str(tmp_path), "--samples", str(SAMPLES))
    assert given.code == 0, given.err
    assert given.out.startswith("no kernel of Sets 1 and 2 was run on the machine of Table II\n")
    assert "not run: Fig. 22, Fig. 23" in given.out


def test_tables_of_machines_need_no_run() -> None:
    given = call("reproduce", "sharing", "--figures", "XII,VIII", "--samples", str(SAMPLES))
    assert given.code == 0, given.err
    (row,) = [line.split() for line in given.out.splitlines() if line.startswith("SM Config-5")]
    assert row[2:] == ["30", "10", "3"] * 2, "ours and the paper's"
    assert given.out.index("Table VIII:") < given.out.index("Table XII:")


def test_the_paper_s_means_follow_from_its_table() -> None:
    from statistics import geometric_mean

    for k, scheduler in enumerate(("lrr", "gto", "two_level")):
        for left_out, stated in ((None, MEANS), (LAUNCH_OF_NOTHING, MEANS_WITHOUT)):
            gains = [b.ipc[3] / b.ipc[k] for b in BENCHMARKS if b.ipc and b.kernel != left_out]
            assert 100 * (geometric_mean(gains) - 1) == pytest.approx(stated[scheduler], abs=0.006)


def test_what_sharing_makes_worse_is_named() -> None:
    def kernel(name: str, machine: str, opt: int) -> Any:
        return {"kernel": name, "machine": machine, "shared": {"opt": {"cycles": opt}}, "unshared": lrr}

    lrr = {"lrr": {"cycles": 9}}
    off: Any = {"kernel": "d", "machine": "m", "shared": {}, "unshared": lrr}
    kernels = [kernel("a", "m", 10), kernel("b", "m", 9), kernel("c", "n", 11), kernel("e", "m", 12), off]
    assert worse_with_sharing(kernels) == {"m": ["a", "e"], "n": ["c"]}


def test_a_choice_that_is_slower_is_named() -> None:
    def kernel(auto: int) -> Any:
        runs = {"opt": {"cycles": 1000}, "auto": {"cycles": auto}}
        return {"kernel": "k", "shared": runs, "unshared": {"lrr": {"cycles": 1200}}}

    assert slower_choices([kernel(1010)]) == []
    assert slower_choices([kernel(1020)]) == ["k"]


def test_what_is_refused() -> None:
    assert "no benchmark of the paper's" in refused(2, "reproduce", "sharing", "nbody")
    assert "no machine of the paper's" in refused(2, "reproduce", "sharing", "--machine", "a100")
    assert "no figure or table of the paper's" in refused(2, "reproduce", "sharing", "--figures", "12")
    assert "no figure or table of the paper's" in refused(2, "reproduce", "sharing", "--figures", "")
    assert "none of this is in these figures" in refused(2, "reproduce", "sharing", "CV", "--figures", "19")
    assert "cannot be chosen" in refused(2, "reproduce", "unified", "--figures", "19")
    assert "there are no curves of this paper" in refused(2, "reproduce", "sharing", "--curves")
    assert "there is no page of this paper" in refused(2, "reproduce", "sharing", "--html", "p.html")
