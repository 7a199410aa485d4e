"""The kept results of `reproduce sharing` hang together, and the page on them says what they say."""

from __future__ import annotations

import json
from functools import cache
from statistics import geometric_mean
from typing import Any

import pytest

from binalloc.laboratory.sharing.facts import slower_choices
from binalloc.laboratory.sharing.paper import BENCHMARKS
from binalloc.laboratory.sharing.rows import Runs, figures_json
from binalloc.laboratory.sharing.sayings import sayings_json
from binalloc.laboratory.sharing.text import render_sharing_reproduction
from binalloc.laboratory.sharing.variations import COLLABORATIVE, FIGURES, MULTIPLEXED, wanted_runs
from binalloc.report.shapes.commands.laboratory import ReproduceSharingJson
from tests.support.kits.report.shapes import problems
from tests.support.paths import ROOT

FOLDER = ROOT / "docs/measured"


@cache
def results() -> Any:
    return json.loads((FOLDER / "sharing.json").read_text(encoding="utf-8"))


@cache
def page() -> str:
    return (FOLDER / "sharing.md").read_text(encoding="utf-8")


def shared() -> list[Any]:
    return [k for k in results()["kernels"] if k["shared"]]


def test_all_was_run() -> None:
    found = results()
    assert problems(found, ReproduceSharingJson) == []
    assert not found["partial"]
    assert [k["kernel"] for k in found["kernels"]] == [b.kernel for b in BENCHMARKS]
    assert all(k["status"] == "ok" for k in found["kernels"])
    assert all(one["same_results"] for k in shared() for one in k["shared"].values())
    assert all(one["proven"] for k in shared() for one in k["shared"].values() if one["sharing"] != "off")
    wanted = [(run.group.machine, run.benchmark.sample) for run in wanted_runs(FIGURES, (), ())]
    every = [*found["kernels"], *found["varied"]]
    assert [(k["machine"], k["sample"]) for k in every] == wanted
    assert all(k["status"] == "ok" for k in (*every, *found["merged"]))
    assert all(one["same_results"] and one["proven"] for k in found["varied"] for one in k["shared"].values())
    assert [f["figure"] for f in found["figures"]] == list(FIGURES)
    assert all(f["rows"] for f in found["figures"])


def test_merged_kernels_have_the_originals_results_and_those_without_a_proof_say_why() -> None:
    merged = results()["merged"]
    assert [k["kernel"] for k in merged] == [b.kernel for b in MULTIPLEXED]
    for k in merged:
        assert len(k["schemes"]) == (3 if k["kernel"] in COLLABORATIVE else 2)
        for one in k["schemes"]:
            assert (one["alone"]["proven"], one["alone"]["same_results"]) == (True, True)
            if one["shared"] is None:
                assert "no block is gained" in one["reason"]
                continue
            assert one["shared"]["same_results"]
            assert one["shared"]["proven"] or "a loop of the kernel has two entries" in one["reason"]
    pairs = [one["shared"] for k in merged for one in k["schemes"] if one["shared"] is not None]
    assert sum(not one["proven"] for one in pairs) <= 2, "a better checker proves more, none less"


def test_all_rows_follow_from_the_runs() -> None:
    """Figures and sentences are made of the runs in the same file."""
    found = results()
    runs = Runs([*found["kernels"], *found["varied"]], found["merged"])
    assert found["figures"] == list(figures_json(runs, FIGURES))
    assert found["sayings"] == list(sayings_json(runs, FIGURES))


def test_resident_blocks_are_the_paper_s() -> None:
    """Figs. 13 and 25, wherever the paper prints them."""
    for f in results()["figures"]:
        if f["figure"] not in ("13", "25"):
            continue
        printed = [(ours, paper) for row in f["rows"] for ours, paper in zip(row["ours"], row["paper"], strict=True)]
        assert all(ours == paper for ours, paper in printed if paper is not None)
        assert sum(paper is not None for _, paper in printed) == {"13": 39, "25": 6}[f["figure"]]


def test_the_page_has_the_other_machines() -> None:
    figures = {f["figure"]: f for f in results()["figures"]}
    for number in ("19", "20", "21", "22"):
        (row,) = [line for line in page().splitlines() if line.startswith(f"| {number} |")]
        for mean in figures[number]["means"]:
            assert f"{mean['ours']:+.2f} %" in row
            assert mean["paper"] is None or f"{mean['paper']:+.2f} %" in row
    clusters = figures["28"]
    for k in range(5):
        plain, shared = (geometric_mean(row["ours"][2 * k + n] for row in clusters["rows"]) for n in (0, 1))
        (row,) = [line for line in page().splitlines() if line.startswith(f"| SM Config-{k + 1} |")]
        assert f"| {plain:.1f} | {shared:.1f} | {100 * (shared / plain - 1):+.2f} % |" in row


def test_the_page_has_the_merged_kernels() -> None:
    (cycles,) = [f for f in results()["figures"] if f["figure"] == "26"]
    for row in cycles["rows"]:
        lrr = row["ours"][0]
        cells = ["-" if one is None else f"{lrr / one:.2f}" for one in row["ours"][1:]]
        assert f"| {row['row']} | " + " | ".join(cells) + " |" in page()


def test_the_page_counts_the_sentences() -> None:
    sayings = results()["sayings"]
    holds = sum(len(one["holds"]) for one in sayings)
    every = holds + sum(len(one["fails"]) for one in sayings)
    assert f"{holds} of {every}" in page()


def test_the_text_is_made_of_them() -> None:
    assert (FOLDER / "sharing.txt").read_text(encoding="utf-8") == render_sharing_reproduction(results())


def test_no_choice_is_slower_than_another_step() -> None:
    assert slower_choices(results()["kernels"]) == []


def test_a_release_is_one_instruction_more_for_a_thread() -> None:
    """Table VI: one a thread, two where an edge was split; never more than the paper adds."""
    for k in shared():
        if k["paper_instructions"] is None:
            continue
        threads, _, most = k["paper_instructions"]
        added = k["shared"]["opt"]["instructions"] - k["unshared"]["lrr"]["instructions"]
        start = 3168 if k["kernel"] == "NW1" else threads  # the paper's 3,184 is no multiple of a block
        assert start <= added <= max(most, start), k["kernel"]


def test_nothing_is_shared_in_set_3() -> None:
    assert [k["kernel"] for k in results()["kernels"] if not k["shared"]] == [
        b.kernel for b in BENCHMARKS if b.group == 3
    ]  # fmt: skip


def test_the_page_has_the_figures() -> None:
    for k in shared():
        lrr = k["unshared"]["lrr"]["cycles"]
        row, *_ = [line for line in page().splitlines() if line.startswith(f"| {k['kernel']} |")]
        steps = ("noopt", "owf", "postdom", "opt") if k["set"] in (1, 2) else ("noopt", "reorder", "opt")
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        for step in steps:
            assert f"{lrr / k['shared'][step]['cycles']:.2f}" in cells
        auto = k["shared"]["auto"]
        assert f"{lrr / auto['cycles']:.2f} ({auto['sharing']})" in cells
        assert f"{lrr / k['free']['cycles']:.2f}" == cells[-1]
    for mean in results()["means"]:
        if mean["step"] in ("opt", "auto"):
            (row,) = [line for line in page().splitlines() if line.startswith(f"| {mean['over']} |")]
            assert f"{mean['gain']:+.2f} %" in row


def test_the_front_page_and_the_distance_from_the_paper() -> None:
    means = {(m["step"], m["over"], m["without"]): m for m in results()["means"]}
    opt, auto = means["opt", "lrr", None], means["auto", "lrr", None]
    text = f"{opt['gain']:.1f} % ({opt['paper']:.1f} %); {auto['gain']:.1f} %"
    assert text in (ROOT / "README.md").read_text(encoding="utf-8")
    far = [abs(m["gain"] - m["paper"]) for m in means.values() if m["paper"] is not None]
    assert len(far) == 6
    assert f"{-(-max(far) * 10 // 1) / 10:.1f} points" in page()
    near = [
        k for k in shared()
        if k["paper_ipc"] and abs(
            k["unshared"]["lrr"]["cycles"] / k["shared"]["opt"]["cycles"] - k["paper_ipc"][3] / k["paper_ipc"][0]
        ) < 0.1
    ]  # fmt: skip
    assert len(near) == 9


@pytest.mark.parametrize(("kernel", "least"), [("CV", 1.4), ("SP", 1.07), ("MC", 1.03)])
def test_the_choice_is_better_than_one_threshold(kernel: str, least: float) -> None:
    (k,) = [k for k in shared() if k["kernel"] == kernel]
    assert k["shared"]["opt"]["cycles"] / k["shared"]["auto"]["cycles"] > least
