"""Small programs whose rewrites once went wrong or could: what the rewriter leaves of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from binalloc.emulator.launch_types import Argument, Launch
from binalloc.emulator.run import run
from binalloc.isa.instruction import Module, Param
from binalloc.models.machine import load_machine
from binalloc.transform.rewrite import rewrite
from binalloc.transform.schedule import schedule
from binalloc.verify.checker import check
from tests.pair_text import module

MACHINE = load_machine("gtx680")


def test_two_reconvergence_points_become_one_where_the_code_between_them_is_lifted_away() -> None:
    original = module("""
.kernel k registers=8 local_bytes=16
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
ISETP pd0=1 ra=0 form=1 imm=9 icmp=1
@P0 BRA ->outer ^outer
@P1 BRA ->inner ^inner
STG ra=2 rb=0 width=4
inner:
STL rb=0 moff=4 width=4
outer:
STG ra=2 rb=0 moff=4 width=4
EXIT
""")
    rewritten = rewrite(original, "k", 8, 0)
    fn = rewritten.function("k")
    points = [p for i in range(len(fn.instrs)) if (p := fn.reconvergence(i)) is not None]
    assert len(points) == 2
    assert len(set(points)) == 1
    report = check(original, rewritten, "k")
    assert report.ok, str(report)


SPLIT = """
.kernel k registers=8 local_bytes=16
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
IMAD.WIDE rd=2 ra=0 form=1 imm=4 rc=2
ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
{before}
@P0 BRA ->L ^done
{between}
L:
VOTE rd=1 pd0=7 ps0=7 vote=0
done:
STG ra=2 rb=1 width=4
EXIT
"""


@pytest.mark.parametrize("before", ["", "STL rb=0 moff=4 width=4"])
@pytest.mark.parametrize("between", ["", "NOP", "MOV rd=4 rb=0", "STL rb=0 width=4"])
def test_lanes_split_at_a_branch_whatever_of_the_code_behind_it_is_left(before: str, between: str) -> None:
    original = module(SPLIT.format(before=before, between=between))
    expected = results(original)
    assert expected.tolist() == [0xFFFF] * 16 + [0xFFFF0000] * 16
    rewritten = rewrite(original, "k", 8, 0)
    assert check(original, rewritten, "k").ok
    assert (results(rewritten) == expected).all()
    assert (results(original) == expected).all()


def results(program: Module) -> np.ndarray:
    """What the 32 threads of one block leave in the buffer."""
    launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, (Argument("x", "buffer", "u32", (32,)),))
    program = copy.deepcopy(program)
    program.function("k").info.params = [Param("x", 0, 8)]
    return run(schedule(program, MACHINE), "k", launch, MACHINE, engine="python").buffers["x"]
