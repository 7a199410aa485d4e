"""Figures 12 and 13 of the multiplex paper: launches of one SM's share, their figures, means, and text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from binalloc.cli.load import subjects_of
from binalloc.emulator.runs.options import RunOptions
from binalloc.laboratory.multiplex.curves import CurvePoint, curve_point
from binalloc.laboratory.multiplex.facts import multiplex_reproduction_json
from binalloc.laboratory.multiplex.paper import CURVE_MACHINES, CURVES, FFT_CURVE, MV_CURVE
from binalloc.laboratory.multiplex.run import MeasuredPoint, MultiplexedCase
from binalloc.laboratory.multiplex.text import render_multiplex_reproduction
from binalloc.launch.file import load_launch
from binalloc.pipeline.sweeping.sweep import Tally
from tests.support.kits.cli import SAMPLES, call, refused
from tests.support.paths import sample_file

SMALL, LARGE = CURVE_MACHINES


@cache
def point(sample: str, extent: int, machine: str) -> CurvePoint:
    binary = sample_file(f"{sample}.ptx").read_bytes()
    launch = load_launch(sample_file(f"{sample}.toml"))
    _, (subject,) = subjects_of(binary, f"{sample}.ptx", launch, machine)
    return curve_point(subject, extent, RunOptions())


def test_an_sm_gets_its_share_of_the_work() -> None:
    task = point("matrixVector", 8192, SMALL)
    launch = task.subject.launch
    assert task.blocks == launch.grid[0] == 18, "8,192 rows are 256 blocks, for 15 SMs"
    arguments = {a.name: a for a in launch.arguments}
    assert [arguments[name].shape for name in ("a", "x", "y")] == [(576, 1024), (1024,), (576,)]
    assert [arguments[name].value for name in ("rows", "columns", "pitch", "alpha")] == [576, 1024, 1024, 0.75]
    task = point("fourierTransform", 2048, LARGE)
    assert task.blocks == task.subject.launch.grid[0] == 137
    arguments = {a.name: a for a in task.subject.launch.arguments}
    assert [arguments[name].shape for name in ("in", "out")] == [(137, 1024, 2)] * 2
    assert [arguments[name].value for name in ("pitch_in", "pitch_out", "direction")] == [1024, 1024, 1.0]


def test_what_is_kept_differs_between_extents_and_machines() -> None:
    keys = {point("fourierTransform", n, one).key for n in (128, 256) for one in CURVE_MACHINES}
    assert len(keys) == 4
    assert point("fourierTransform", 128, SMALL).name == "FFT of 128 on gtx480-16k"


@pytest.mark.rotates("long")
@pytest.mark.usefixtures("shared_versions")
def test_a_point_has_the_best_proven_pipe() -> None:
    found = point("fourierTransform", 128, SMALL).figures()
    assert (found["original_blocks"], found["blocks"]) == (1, 2)
    assert found["original_cycles"] > 0
    assert 1 < found["speedup"] < 2


def measured(machine: str, extent: int, cycles: int | None, speedup: float | None) -> MeasuredPoint:
    outcome = {"status": "ok", "reason": "", "original_cycles": cycles, "original_blocks": 1, "speedup": speedup,
               "blocks": 2, "shorter_regions": True}  # fmt: skip
    if cycles is None:
        outcome = {"status": "fault", "reason": "it faulted"}
    return MeasuredPoint(machine, "FFT", extent, 9, outcome)


def shown(*points: MeasuredPoint) -> tuple[Any, str]:
    failed = MultiplexedCase(SMALL, "FFT", "FFT", {"status": "fault", "reason": ""})
    found: Any = multiplex_reproduction_json([failed], Tally(), False, "kept", points)
    return found["curves"], render_multiplex_reproduction(found)


def test_throughputs_are_over_the_originals_at_48_kb() -> None:
    (curve,), text = shown(
        measured(SMALL, 128, 400, 2.0), measured(SMALL, 256, None, None),
        measured(LARGE, 128, 200, 1.25), measured(LARGE, 256, 300, 0.8),
    )  # fmt: skip
    assert (curve["figure"], curve["kernel"], curve["work"]) == (13, "FFT", "transforms")
    throughputs = [(p["machine"], p["extent"], p["throughput"], p["pipe_throughput"]) for p in curve["points"]]
    assert throughputs == [
        (SMALL, 128, 0.5, 1.0), (SMALL, 256, None, None), (LARGE, 128, 1.0, 1.25), (LARGE, 256, 1.0, 0.8),
    ]  # fmt: skip
    assert (curve["gain"], curve["largest"], curve["small_over_large"]) == (1.0, 1.25, 1.0)
    assert (curve["paper_gain"], curve["paper_largest"]) == (1.223, 1.33), "205.9 / 168.3 GFLOPS"
    rows = [line.split() for line in text.splitlines() if re.match("(128|256) +[-0]", line)]
    assert rows == [["128", "0.500", "1.000", "(2)s", "1.000", "1.250", "(2)s"],
                    ["256", "-", "-", "1.000", "0.800", "(2)s"]]  # fmt: skip
    assert "256 transforms on gtx480-16k: no figures: it faulted\n" in text
    assert "vtb-pipe gains 1.000 on gtx480, at most 1.250; the paper's gains 1.22, at most 1.33.\n" in text
    assert "vtb-pipe on gtx480-16k is 1.000 times as fast as the original on gtx480.\n" in text


def test_a_curve_needs_both_cards_for_throughputs() -> None:
    (curve,), text = shown(measured(SMALL, 128, 400, 2.0))
    assert (curve["gain"], curve["largest"], curve["small_over_large"]) == (None, None, None)
    assert "times as fast as" not in text
    assert shown()[0] == []


def test_extents_are_the_papers() -> None:
    assert [(c.figure, c.kernel, c.extents[0], c.extents[-1], len(c.extents)) for c in CURVES] == [
        (12, "MV", 8192, 131072, 5), (13, "FFT", 128, 2048, 5),
    ]  # fmt: skip
    assert (MV_CURVE.per_block, FFT_CURVE.per_block) == (32, 1)


def test_the_option() -> None:
    here = ("--samples", str(SAMPLES))
    assert "--curves" in refused(2, "reproduce", "unified", "--curves", *here)
    message = refused(2, "reproduce", "multiplex", "HG", "--machine", "gtx285", "--curves", *here)
    assert "there is no curve of this; found HG on gtx285; expected MV or FFT, on gtx480-16k or gtx480" in message
    limited = ("--size", "test", "--max-cycles", "100", "--jobs", "1", "--machine", SMALL, "--curves")
    answer = call("reproduce", "multiplex", "FFT", *here, *limited, "--json")
    assert answer.code == 1, "no run keeps that limit"
    (curve,) = answer.json["curves"]
    assert [(p["extent"], p["status"]) for p in curve["points"]] == [(n, "limit") for n in FFT_CURVE.extents]
