"""Weights of blocks by executions."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.analysis.executions import MOST, UNSEEN
from binalloc.analysis.program import analyse
from binalloc.emulator.runs.run import run
from binalloc.isa.instruction import Module
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.normalise import expand_guarded_calls
from binalloc.transform.rewrite.rewrite import prepare
from binalloc.transform.schedule.schedule import schedule
from tests.support.programs.builder import program

MACHINE = load_machine("gtx680")
CALLS = """
.kernel k registers=16
.param p, 8
S2R R1, SR_CTAID.X
MOV R2, c[0][p]
MOV R3, c[0][p+4]
MOV R6, 3
MOV R4, 0
top:
CALL f
IADD3 R6, R6, -1, RZ
ISETP.NE.AND P0, PT, R6, RZ, PT
@P0 BRA top, below
below:
ISETP.EQ.AND P1, PT, R1, 1, PT
@P1 CALL g
ISETP.EQ.AND P1, PT, R1, 77, PT
@P1 CALL g
@!P1 BRA end, end
IADD3 R4, R4, 5, RZ
never:
CALL h
IADD3 R4, R4, 5, RZ
ISETP.NE.AND P0, PT, R4, RZ, PT
@P0 BRA never, end
end:
STG [R2], R4
EXIT
.func f
MOV R5, 4
again:
CALL g
IADD3 R5, R5, -1, RZ
ISETP.NE.AND P2, PT, R5, RZ, PT
@P2 BRA again, out
out:
RET
.func g
back:
IADD3 R4, R4, 1, RZ
LOP3 R7, R4, 1, RZ, 0xc0
ISETP.NE.AND P3, PT, R7, RZ, PT
@P3 BRA back, on
on:
RET
.func h
IADD3 R4, R4, 1, RZ
RET
"""


def counted(module: Module, grid: int = 4) -> dict[str, list[int]]:
    launch = Launch("k", (grid, 1, 1), (32, 1, 1), 0, (Argument("p", "buffer", "u32", (4,)),))
    ready = schedule(module, MACHINE)
    found = run(ready, "k", launch, MACHINE, engine="python", buffers={"p": np.zeros(4, np.uint32)}, max_cycles=50_000)
    return {name: counts.tolist() for name, counts in found.counts.items()}


def test_weights_over_calls_are_the_executions() -> None:
    """Of what was executed: runs of a function times the weight of a block in it."""
    module = program(CALLS)
    counts = counted(module)
    assert counts["k"][0] == 4
    assert (counts["g"][0] > 4 * 3 * 4, counts["h"][0]) == (True, 0)
    prepared = prepare(module, "k", executions=counts)
    runs = prepared.program.runs
    for name, fn in prepared.program.functions.items():
        origin = prepared.normalised[name].origin
        for block, weight in zip(fn.cfg.blocks, fn.loops.weight, strict=True):
            known = [counts[name][origin[i]] for i in range(block.start, block.end) if origin[i] >= 0]
            if name != "h" and known and max(known):
                assert runs[name] * weight == pytest.approx(max(known) / 4, rel=0.05), (name, block)


def test_what_never_ran_weighs_little_and_keeps_its_loops() -> None:
    module = program(CALLS)
    plain, weighed = (prepare(module, "k", executions=e).program for e in (None, counted(module)))
    kernel = weighed["k"]
    unseen = [w for w in kernel.loops.weight if w == UNSEEN]
    assert len(unseen) == 2
    assert min(w for w in kernel.loops.weight if w != UNSEEN) > UNSEEN
    assert weighed["h"].loops.weight == plain["h"].loops.weight
    assert 0 < weighed.runs["h"] == UNSEEN


def test_a_guarded_call_that_is_made_plain_keeps_its_count() -> None:
    """The branch around it was nowhere when the code ran."""
    fn = program(CALLS).function("k")
    counts = list(range(100, 100 + len(fn.instrs)))
    normal = expand_guarded_calls(fn)
    executed = normal.executed(counts)
    assert len(executed) == len(normal.function.instrs) == len(fn.instrs) + 2
    for k, old in enumerate(normal.origin):
        assert executed[k] == counts[old if old >= 0 else normal.origin[k + 1]]


@pytest.mark.parametrize(
    ("entered", "executed", "weight"), [(1, 1 << 62, MOST), (1 << 62, 1, 2 * UNSEEN), (3, 4, 1.332)]
)
def test_weights_stay_within_what_costs_can_be_exact_in(entered: int, executed: int, weight: float) -> None:
    module = program(".kernel k\nMOV R1, 1\nISETP.NE.AND P0, PT, R1, RZ, PT\n@P0 BRA a, a\nMOV R1, 2\na:\nEXIT")
    counts = [entered] * 3 + [executed, entered]
    found = analyse(module, "k", executions={"k": counts}).kernel.loops.weight
    assert found[:1] + found[2:] == [1.0, 1.0]
    assert found[1] == pytest.approx(weight, abs=1e-3)
    assert (found[1] / UNSEEN).is_integer()
