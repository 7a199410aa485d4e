"""Advice that holds: grids that do not fill the GPU, caps that the vendor's compiler takes, gains beyond noise."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from binalloc.launch.file import load_launch
from binalloc.models.machines.budget import Budget
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.advice.caps import least_cap
from binalloc.pipeline.advice.notes import notes_of
from binalloc.pipeline.bound import Bound
from binalloc.pipeline.original import baseline
from binalloc.pipeline.policies import measured
from binalloc.pipeline.policies.measured import NOISE, MeasuredPolicy
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.grid import filling, reached
from binalloc.pipeline.steps.measure import measure
from binalloc.pipeline.steps.version import Tried
from binalloc.report.recommend.verdict import verdict
from tests.support.kits.bounds import PTX, bounds, launched
from tests.support.kits.cli import call
from tests.support.paths import sample_file

LEVELS = [Budget(blocks, 255, 0) for blocks in (1, 2, 4, 8)]


@pytest.mark.parametrize(
    ("share", "own", "left"),
    [(1, 1, [1]), (1, 4, [4]), (2, 4, [1, 4]), (2, 1, [1, 2]), (3, 1, [1, 2, 4]), (3, 8, [1, 2, 8]),
     (5, 4, [1, 2, 4, 8]), (9, 2, [1, 2, 4, 8]), (1000, 8, [1, 2, 4, 8])],
)  # fmt: skip
def test_levels_that_an_sm_never_gets_blocks_for(share: int, own: int, left: list[int]) -> None:
    """Of levels that leave as many of an SM's blocks resident, one."""
    assert [budget.blocks for budget in reached(LEVELS, share, own)] == left


@pytest.mark.rotates("long")
def test_a_run_has_no_more_blocks_resident_than_an_sm_gets() -> None:
    """16 of 4 warps fit; of a grid of two for each SM two are resident."""
    machine = load_machine("gtx680")
    request = Request(kernel="fma_bound", machine=machine, launch=launched("fma_bound", 16, 128, 1), engine="python")
    version = baseline(bounds("gtx680"), request)
    free, real = (measure(version, replace(request, whole_gpu=whole)) for whole in (False, True))
    assert free.stats["achieved_occupancy"] > 0.5
    assert 0.05 < real.stats["achieved_occupancy"] <= 2 * 4 / 64
    many = replace(request, launch=launched("fma_bound", 8 * 17, 128, 1), whole_gpu=True)
    assert measure(version, many).cycles, "more than fit: as many as fit are resident"


def test_two_blocks_an_sm_whatever_fits() -> None:
    """216 blocks on 108 SMs."""
    filled = filling(launched("fma_bound", 216, 128), load_machine("a100"), 8)
    assert filled is not None
    assert (filled.share, filled.resident, filled.starved, filled.waves) == (2, 2, True, 0.25)
    more = filling(launched("fma_bound", 217, 128), load_machine("a100"), 2)
    assert more is not None
    assert (more.share, more.resident, more.starved) == (3, 2, False)


def test_no_advice_of_more_blocks_than_come(tmp_path: Any) -> None:
    """FDTD3d would gain by 3 blocks an SM; with a block for each SM there is nothing to gain."""
    text = sample_file("FDTD3d.toml").read_text()
    assert "grid = [" in text
    lines = ["grid = [4, 2]" if line.startswith("grid =") else line for line in text.splitlines()]
    (tmp_path / "few.toml").write_text("\n".join(lines).split("[reference]")[0].split("[sizes")[0])
    assert load_launch(tmp_path / "few.toml").grid[:2] == (4, 2)
    ptx = str(sample_file("FDTD3d.ptx"))
    asked = ["recommend", ptx, "--launch", str(tmp_path / "few.toml"), "--machine", "gtx680", "--no-emulate"]
    answer = call(*asked, "--json")
    assert answer.code == 0, answer.err
    (told,) = answer.json["recommendations"]
    assert told["recommended"]["blocks_per_sm"] == told["original"]["blocks_per_sm"]
    assert told["grid"] == {"blocks": 8, "sms": 8, "blocks_of_an_sm": 1, "resident": 1}
    assert "the grid gives an SM 1 block at most, whatever fits" in verdict(told)
    if not told["kept_original"]:
        assert told["reason"].endswith("at most 1 block for each of 8 SMs: more than that at once never come to one")
    assert told["notes"][0]["beware"]
    assert "no SM gets more than 1 block" in told["notes"][0]["text"]


def test_cycles_of_a_small_grid_are_with_as_many_blocks_as_come() -> None:
    """`run` takes as many as fit; beside its cycles those of `recommend` look wrong."""
    outcome = SimpleNamespace(
        kept_original=True, by_order_alone=False, error=None, rewritten=SimpleNamespace(limiters=[]),
        original=SimpleNamespace(sampled=None, cycles=1000, blocks_per_sm=4), request=SimpleNamespace(launch=None),
    )  # fmt: skip
    few, many = (filling(launched("fma_bound", n, 128), load_machine("gtx680"), 4) for n in (8, 64))
    (told,) = [n for n in notes_of(cast(Any, outcome), few, None) if n.text.startswith("cycles are")]
    assert "with 1 block resident" in told.text
    assert not told.beware
    assert not [n for n in notes_of(cast(Any, outcome), many, None) if n.text.startswith("cycles are")]
    outcome.original.cycles = None
    assert not [n for n in notes_of(cast(Any, outcome), few, None) if n.text.startswith("cycles are")]


def test_a_register_cap_is_one_that_ptxas_takes() -> None:
    machines = ("gtx680", "v100", "rtx2060", "a100", "h100")
    assert [least_cap(load_machine(name)) for name in machines] == [1, 1, 24, 24, 24]
    (told,) = call("recommend", PTX, "--kernel", "fma_bound", "--block", "128", "--machine", "a100", "--json").json[
        "recommendations"
    ]
    assert told["next"] is None or told["next"]["maxrregcount"] >= 24


@pytest.mark.parametrize(("cycles", "taken"), [(1000, False), (985, False), (981, False), (979, True), (500, True)])
def test_measured_takes_no_noise_for_a_gain(cycles: int, taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The original takes 1,000 cycles."""
    assert NOISE == 1.02
    version = lambda n: SimpleNamespace(cycles=n, slots=0, local_bytes=0, blocks_per_sm=2, module=object())  # noqa: E731
    base, level = version(1000), version(cycles)
    levels = SimpleNamespace(all_others=[LEVELS[1]], is_below=lambda budget: False)
    tried = Tried(LEVELS[1], cast(Any, level), "", 1.5)
    monkeypatch.setattr(measured, "Levels", lambda *_: levels)
    monkeypatch.setattr("binalloc.pipeline.policies.model.expectations", lambda *_: [(tried, 1.5)])
    monkeypatch.setattr("binalloc.pipeline.estimate.estimate.estimates_of", lambda *_: None)
    monkeypatch.setattr("binalloc.pipeline.steps.proof.prove", lambda module, request, version: version)
    monkeypatch.setattr(measured, "run_level", lambda version, request, original: version)
    request = SimpleNamespace(kernel="k", progress=lambda _: None, allocator="best")
    choice = MeasuredPolicy().search(cast(Any, None), cast(Any, request), cast(Any, SimpleNamespace(base=base)))
    assert (choice.best is level) == taken
    if not taken and cycles < 1000:
        faster = "none is more than 2% faster than the original"
        assert choice.reason == f"of 1 level run, of which the model expects most, {faster}"



@pytest.mark.parametrize(("kind", "risky"), [("dram", True), ("link", True), ("unit", False), ("latency", False)])
def test_what_nothing_has_run_is_the_models_guess(kind: str, risky: bool) -> None:
    """A stencil's rows are kept by caches, which the model knows nothing of without a launch."""
    outcome = SimpleNamespace(
        kept_original=True, by_order_alone=False, error=None, original=SimpleNamespace(sampled=None, cycles=None),
        rewritten=SimpleNamespace(limiters=[]), request=SimpleNamespace(launch=None),
    )  # fmt: skip
    bound = Bound(kind, "DRAM bandwidth", 1.0, {}, measured=False)
    (note,) = notes_of(cast(Any, outcome), None, bound)
    assert note.beware == risky
    assert note.text.startswith("nothing was run: sizes and addresses not known from code")
    assert ("so DRAM bandwidth may bind less than it says" in note.text) == risky
    assert note.text.endswith("with a launch, as `binalloc launch-skeleton` writes it, the kernel runs and shows them")
    outcome.request.launch = object()
    (note,) = notes_of(cast(Any, outcome), None, bound)
    assert note.text.endswith("; a run of the launch shows them")
    assert notes_of(cast(Any, outcome), None, replace(bound, measured=True)) == []


def test_the_verdict_says_when_only_the_model_speaks() -> None:
    asked = ["recommend", PTX, "--kernel", "fma_bound", "--block", "128", "--machine", "a100", "--json"]
    (told,) = call(*asked).json["recommendations"]
    assert told["bound"]["by_throughput"]
    assert not told["bound"]["measured"]
    first = verdict(told)
    assert "by the model no number of blocks" in first
    assert "by the model" not in verdict({**told, "bound": {**told["bound"], "measured": True}})
