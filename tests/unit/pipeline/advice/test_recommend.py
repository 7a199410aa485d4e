"""Recommendations: the facts behind them by hand, and the commands that they end with do what they say."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.reader import load_machine
from binalloc.models.search.unified import reading_of
from binalloc.pipeline.advice.recommend import Recommendation, recommend
from binalloc.pipeline.request import Request
from binalloc.report.recommend.facts import recommendation_to_dict
from binalloc.report.recommend.parts import next_steps
from binalloc.report.recommend.text import render_recommendation
from binalloc.report.recommend.verdict import verdict
from tests.support.kits.cli import call, launch, loom
from tests.support.kits.machines import one_sm
from tests.support.paths import sample_file
from tests.support.programs.builder import program
from tests.support.ptx.bounded import bounded


@cache
def spills_alone(name: str, machine: str) -> Recommendation:
    """By the unified paper's policy, read so that spills alone count."""
    module = import_ptx(sample_file(f"{name}.ptx").read_text(), name, machine=load_machine(machine)).module
    return recommend(module, Request(machine=machine, policy="unified", reading=reading_of(["spills"])))


@cache
def under_bounds(directives: str) -> tuple[Module, Recommendation]:
    machine = load_machine("a100")
    module = import_ptx(bounded(directives, live=80), machine=machine).module
    return module, recommend(module, Request(machine=machine, policy="model", emulate=False))


def test_the_mix_is_what_runs() -> None:
    """Ten runs of the loop are estimated: 4 of its instructions against 5 others."""
    module = program("""
.kernel k registers=8
.block 32
MOV R2, c[0][p]
MOV R3, c[0][p+4]
MOV R4, 0
loop:
LDG R5, [R2]
IADD3 R4, R4, R5, RZ
ISETP.LT P0, PT, R4, 9, PT
@P0 BRA loop, done
done:
STG [R2], R4
EXIT
""")
    mix = {share.kind: share for share in recommend(module, Request(policy="unified")).character.mix}
    assert {kind: share.static for kind, share in mix.items()} == {"alu": 5, "global": 2, "control": 2}
    assert mix["global"].executed == pytest.approx(100 * 11 / 45)
    assert mix["control"].executed == pytest.approx(100 * 11 / 45)
    assert sum(share.executed for share in mix.values()) == pytest.approx(100)


@pytest.mark.rotates("long")
@pytest.mark.parametrize("machine", ["gtx680", "c2075", "a100"])
def test_curves_are_the_machines_answers(machine: str) -> None:
    found = spills_alone("FDTD3d", machine)
    model = load_machine(machine)
    steps = found.curves["registers"].steps
    for registers in range(1, model.limits.registers_per_thread + 1):
        held = [step.blocks for step in steps if step.at <= registers][-1]
        assert held == model.occupancy(found.use.given(registers)).blocks_per_sm
    assert found.curves["threads"].steps[0].at == 32
    shared, own = found.curves["shared_bytes"].steps, found.outcome.given.registers
    for before, step in pairwise(shared):
        for at, blocks in ((step.at - 1, before.blocks), (step.at, step.blocks)):
            assert model.occupancy(KernelUse(own, at, found.use.threads)).blocks_per_sm == blocks, at


@pytest.mark.rotates("long")
def test_curves_are_those_of_the_original_under_its_directives() -> None:
    """More than 80 registers are wanted, .minnctapersm 4 leaves 64."""
    _, found = under_bounds(".maxntid 256 .minnctapersm 4")
    assert found.use.registers > found.outcome.given.registers
    assert found.given.blocks_per_sm == 4
    for name, own in (("shared_bytes", 0), ("threads", 256)):
        assert [step.blocks for step in found.curves[name].steps if step.at <= own][-1] == 4, name


@pytest.mark.rotates("long")
@pytest.mark.parametrize(
    ("directives", "there"), [(".maxntid 256 .minnctapersm 5", True), (".maxntid 256 .minnctapersm 4", False)]
)
def test_bounds_that_the_source_has_are_not_advised(directives: str, there: bool) -> None:
    module, found = under_bounds(directives)
    assert found.chosen.blocks_per_sm == 5
    told = recommendation_to_dict(module, found, "binalloc rewrite")
    assert told["next"]["already_bound"] == there
    assert ("the kernel has __launch_bounds__(256, 5) already" in next_steps(told)[-1]) == there


@pytest.mark.rotates
@pytest.mark.parametrize(("cycles", "advised"), [(1000, False), (1009, False), (1011, True)])
def test_another_order_is_advised_where_it_gains(cycles: int, advised: bool) -> None:
    """The other order takes 1,000 cycles, the input so many."""
    module, found = under_bounds(".maxntid 256 .minnctapersm 4")
    outcome = found.outcome
    given, other = (replace(outcome.given, cycles=n) for n in (cycles, 1000))
    outcome = replace(outcome, given=given, original=other, rewritten=other, kept_original=False)
    assert outcome.by_order_alone
    told = recommendation_to_dict(module, replace(found, outcome=outcome), "binalloc rewrite")
    first = verdict(told)
    assert (told["next"] is not None) == advised
    assert first.startswith("Change its order alone, at 4" if advised else "Leave it, at 4")
    assert (f"another order gains no more than {(cycles - 1000) / 10:.1f} %" in first) != advised


def test_more_blocks_by_fewer_registers() -> None:
    found = spills_alone("FDTD3d", "gtx680")
    assert (found.outcome.original.blocks_per_sm, found.chosen.blocks_per_sm) == (2, 3)
    assert found.character.concurrency_bound
    assert found.character.user_shared == 7.5
    assert found.waves is None
    assert found.warnings == []


@pytest.mark.rotates("long")
def test_what_to_beware_of() -> None:
    spilling = spills_alone("cfd", "gtx680")
    assert spilling.chosen.local_bytes > spilling.outcome.original.local_bytes
    assert any("local memory" in warning for warning in spilling.warnings)


@pytest.mark.rotates("long")
@pytest.mark.parametrize(
    ("size", "waves", "words"),
    [("", 6.4, "the last of 6.40 waves fills 40%"), ("test", 0.1, "the grid is smaller than one wave (0.10)")],
)
def test_waves_of_the_grid(size: str, waves: float, words: str) -> None:
    """256 and 4 blocks; gtx680 holds 5 on each of its 8 SMs."""
    asked = load_launch(sample_file("matmul.toml"), size or None)
    found = recommend(load(sample_file("matmul.loom")), Request(launch=asked, policy="unified", emulate=False))
    assert found.waves == waves
    assert any(words in note.text for note in found.notes)
    weights = [note.weight for note in found.notes]
    assert weights == sorted(weights, reverse=True)


@pytest.mark.rotates("long")
def test_the_command_that_it_ends_with_does_it(tmp_path: Path) -> None:
    ptx = str(sample_file("FDTD3d.ptx"))
    (told,) = call("recommend", ptx, "--policy", "unified", "--reading", "spills", "--json").json["recommendations"]
    binalloc, *words = shlex.split(told["next"]["rewrite"])
    words[words.index("-o") + 1] = str(tmp_path / "out.loom")
    assert binalloc == "binalloc"
    written = call(*words, "--json").json["rewritten"]
    for same in ("registers", "slots", "blocks_per_sm", "local_bytes"):
        assert written[same] == told["recommended"][same]
    assert told["next"]["launch_bounds"] == "__launch_bounds__(512, 3)"
    assert told["next"]["maxrregcount"] == told["recommended"]["registers"]


def test_several_machines_and_text() -> None:
    text = call("recommend", loom("matmul"), *launch("matmul"), "--machine", "gtx680,c2075", "--policy", "unified").out
    assert text.count(" per SM: bound by ") == 2
    assert "matmul on gtx680" in text
    assert "matmul on c2075" in text
    assert "Blocks that the machine would hold" in text


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--machine", "nope"], 2, "nope"),
        (["--machine", "gtx680,"], 2, ""),
        (["--policy", "exhaustive"], 2, "launch"),
        (["--reading", "spills", "--policy", "exhaustive"], 2, "--policy unified"),
        (["--emulate"], 2, "--launch FILE"),
    ],
)
def test_bad_input(options: list[str], code: int, words: str) -> None:
    answer = call("recommend", str(sample_file("FDTD3d.ptx")), *options)
    assert answer.code == code
    assert words in answer.err


def test_a_machine_that_cannot_run_it_leaves_the_others_their_answers(tmp_path: Path) -> None:
    source, binary = tmp_path / "k.lasm", str(tmp_path / "k.loom")
    source.write_text(".kernel k\n.block 1024\n    MOV R1, 1\n    EXIT\n.end\n")
    assert call("asm", str(source), "-o", binary).code == 0
    answer = call("recommend", binary, "--machine", "gtx285,gtx680")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("gtx285: refused: ")
    assert "k on gtx680" in answer.out
    first, second = call("recommend", binary, "--machine", "gtx285,gtx680", "--json").json["recommendations"]
    assert first["refused"]
    assert first["machine"] == "gtx285"
    assert second["refused"] is None
    assert call("recommend", binary, "--machine", "gtx285").code == 1
    assert call("recommend", binary, "--machine", "gtx285,gtx285").code == 1


def test_a_launch_may_be_there_for_its_grid_alone() -> None:
    (told,) = call("recommend", loom("nbody"), *launch("nbody"), "--no-emulate", "--json").json["recommendations"]
    assert told["policy"] == "model"
    assert told["measured"] == {"original": None, "recommended": None}
    assert told["original"]["cycles"] is None
    assert told["waves"] is not None


@pytest.mark.rotates("long")
def test_issue_slots_before_and_after_are_all_there_are(tmp_path: Path) -> None:
    asked = ["recommend", loom("nbody"), *launch("nbody"), "--policy", "model", "--machine", one_sm(tmp_path)]
    found = call(*asked, "--json").json
    (told,) = found["recommendations"]
    assert not told["kept_original"]
    for side in ("original", "recommended"):
        measured = told["measured"][side]
        assert measured["issued_percent"] + sum(measured["stall_percent"].values()) == pytest.approx(100, abs=0.1)
        assert 0 < measured["achieved_occupancy"] <= told[side]["occupancy"]
    text = call(*asked).out
    shown = next(line for line in text.splitlines() if line.startswith("issued"))
    issued = [told["measured"][side]["issued_percent"] for side in ("original", "recommended")]
    assert shown.split()[1:] == [f"{share:.1f}%" for share in issued]
    still = call("recommend", loom("nbody"), "--json").json["recommendations"][0]
    assert still["measured"] == {"original": None, "recommended": None}


def test_what_to_expect_where_nothing_is_run() -> None:
    found = spills_alone("FDTD3d", "gtx680")
    assert found.expected is not None
    assert 0.8 < found.expected < 1.6
    assert [v.function for v in found.values] == ["FDTD3d"]
    assert found.values[0].instructions == found.chosen.instructions
    assert found.values[0].registers == found.chosen.registers
    kept = spills_alone("convolution", "gtx680")
    assert kept.outcome.kept_original
    assert kept.expected is None


@pytest.mark.rotates("long")
def test_where_values_live_by_function() -> None:
    module = load(sample_file("nbody.loom"))
    launched = load_launch(sample_file("nbody.toml"), "test")
    found = recommend(module, Request(machine="gtx680", launch=launched, registers=32, slots=6))
    assert found.expected is None, "it was run"
    assert {v.function.split("$")[0] for v in found.values} == {"nbody", "pair"}
    assert sum(v.slot_accesses for v in found.values) > 0
    assert sum(v.local_accesses for v in found.values) > 0
    assert sum(v.instructions for v in found.values) == found.chosen.instructions
    told = recommendation_to_dict(module, found, "")
    assert "slot accesses" in render_recommendation(found.outcome, told)
