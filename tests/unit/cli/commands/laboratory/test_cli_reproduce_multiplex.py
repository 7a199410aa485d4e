"""`binalloc reproduce multiplex`: its fields, its answer, what it refuses, exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import SAMPLES, call, refused
from tests.support.kits.report.reproduced import MULTIPLEX, reproduced_multiplex

TOGETHER = pytest.mark.rotates("reproduce", "reproduce")
"""Whoever looks at the long run takes turns together."""


@pytest.fixture(scope="module")
def fft(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What there is of FFT on gtx285."""
    return reproduced_multiplex(tmp_path_factory)


@TOGETHER
def test_a_kernel_on_one_machine(fft: tuple[dict[str, Any], str]) -> None:
    found, _ = fft
    (kernel,) = found["kernels"]
    assert (found["paper"], found["partial"]) == ("multiplex", False)
    assert (kernel["machine"], kernel["kernel"], kernel["sample"]) == ("gtx285", "FFT", "fourierTransform")
    assert (kernel["status"], kernel["reason"]) == ("ok", "")
    assert (kernel["original_blocks"], kernel["shared_bytes"], kernel["limits"]) == (1, 8736, ["shared"])
    assert (kernel["region_share"], kernel["shorter_region_share"]) == (0.1199, 0.1206)
    made = [v for v in kernel["schemes"] if not v["own_words"]]
    versions = [(v["scheme"], v["merge"], v["over"], v["shorter_regions"]) for v in made]
    plain = [("vtb", 2, None), ("vtb", 4, None), ("vtb-pipe", 2, None), ("hw", None, None)]
    assert versions == [(*one, shorter) for shorter in (False, True) for one in plain]
    assert [v["barriers"] for v in made] == ["block", "block", "block", None] * 2
    assert all(v["split"] is None for v in made)
    assert [v["blocks"] for v in made] == [2, 4, 2, 5, 2, 4, 2, 4], "of the original, not merged ones"
    own = [v for v in kernel["schemes"] if v["own_words"]]
    assert [v["scheme"] for v in own] == ["vtb", "vtb", "vtb-pipe", "hw"]
    assert all("no thread has words of shared memory to itself" in v["reason"] for v in own)
    for v in made:
        assert (v["same_results"], v["proven"], v["reason"]) == (True, True, "")
        assert v["speedup"] == round(kernel["original_cycles"] / v["cycles"], 4)
        assert 1 < v["speedup"] < kernel["free"]
    assert kernel["free_blocks"] == 5, "as many as registers allow"


@TOGETHER
def test_the_choice_is_the_best_proven_version(fft: tuple[dict[str, Any], str]) -> None:
    (kernel,) = fft[0]["kernels"]
    merged = [v["speedup"] for v in kernel["schemes"] if v["merge"] is not None and v["speedup"]]
    every = [v["speedup"] for v in kernel["schemes"] if v["speedup"]]
    assert kernel["auto"]["today"]["speedup"] == max(1.0, kernel["shorter"], *merged)
    assert kernel["auto"]["any"]["speedup"] == max(1.0, kernel["shorter"], *every)
    assert (kernel["auto"]["today"]["scheme"], kernel["auto"]["today"]["merge"]) == ("vtb", 4)
    assert (kernel["auto"]["any"]["scheme"], kernel["auto"]["any"]["shorter_regions"]) == ("hw", True)


@TOGETHER
def test_means_are_beside_the_papers(fft: tuple[dict[str, Any], str]) -> None:
    (machine,) = fft[0]["machines"]
    means = {mean["name"]: mean for mean in machine["means"]}
    assert list(means) == ["shorter", "vtb", "vtb-pipe", "co-vtb", "best", "hw", "co-hw", "today", "any", "free"]
    (kernel,) = fft[0]["kernels"]
    best = max(v["speedup"] or 0 for v in kernel["schemes"] if v["merge"] is not None)
    pipe = max(v["speedup"] or 0 for v in kernel["schemes"] if v["scheme"] == "vtb-pipe")
    assert means["best"] == {
        "name": "best", "here": best, "as_is": best, "kernels": 1, "paper": 1.44, "largest": best,
        "largest_kernel": "FFT", "paper_largest": 1.95,
    }  # fmt: skip
    assert (means["vtb-pipe"]["here"], means["vtb-pipe"]["kernels"]) == (pipe, 1)
    assert (means["co-vtb"]["here"], means["co-vtb"]["kernels"]) == (None, 0), "no figure is invented"
    assert (machine["region_share"], machine["paper_region_share"]) == (0.1199, 0.256)


@TOGETHER
def test_the_text_begins_with_its_answer(fft: tuple[dict[str, Any], str]) -> None:
    found, text = fft
    best = next(mean["here"] for mean in found["machines"][0]["means"] if mean["name"] == "best")
    first = f"beside (the paper's), emulated: {best:.2f} on gtx285 over 1 kernel (1.44).\n"
    assert text.startswith("Geometric mean of the gains of best software versions, ")
    assert text.splitlines(keepends=True)[0].endswith(first)
    assert "No version is slower than the original.\n" in text
    assert "gains are largest on gtx480-16k, and smallest on gtx480: not known (not run)" in text


def test_what_is_not_the_papers_is_refused(tmp_path: Path) -> None:
    here = ("--samples", str(SAMPLES), "--cache", str(tmp_path / "kept"))
    assert "expected MV, FFT, MC, STO, SP, HG, CV" in refused(2, "reproduce", "multiplex", "TP", *here)
    assert "gtx285-gpgpusim, a100, h100" in refused(2, "reproduce", "multiplex", "--machine", "gtx680", *here)
    assert "--html" in refused(2, "reproduce", "multiplex", "--html", str(tmp_path / "page.html"), *here)
    assert "size" in refused(2, *MULTIPLEX, "--size", "nope", *here)
    assert "--jobs" in refused(2, *MULTIPLEX, "--dask", "tcp://nowhere:1", *here)
    refused(2, "reproduce", "multiplex", "--samples", str(tmp_path))


def test_a_kernel_that_cannot_run_has_no_figures(tmp_path: Path) -> None:
    """At a limit of cycles that no run keeps, the command says so, and fails."""
    line = (*MULTIPLEX, "--samples", str(SAMPLES), "--cache", str(tmp_path), "--max-cycles", "100")
    answer = call(*line, "--json")
    assert answer.code == 1
    (kernel,) = answer.json["kernels"]
    assert (kernel["status"], kernel["schemes"], kernel["auto"], kernel["free"]) == ("limit", [], None, None)
    text = call(*line)
    assert (text.code, "FFT: no figures: " in text.out) == (1, True)
    assert "nothing could be run" in text.err
