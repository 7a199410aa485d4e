"""Small programs whose rewrites once went wrong or could: what the rewriter leaves of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from binalloc.emulator.host.run import run
from binalloc.errors import Refused
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module, Param
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.report.inspect import inspect_module
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.pairs.text import module

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


HEAD = """
.kernel k registers=8 local_bytes=16
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
IMAD.WIDE rd=2 ra=0 form=1 imm=4 rc=2
"""

SPLIT = HEAD + """
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
    assert_rewritten_right(original, 8)
    assert (results(original) == expected).all()


CROSSED = HEAD + """
ISETP pd0=1 ra=0 form=1 imm=8 icmp=6
ISETP pd0=2 ra=0 form=1 imm=16 icmp=6
@!P1 BRA ->A ^A
@P2 BRA ->B ^B
A:
{between}
B:
VOTE rd=1 pd0=7 ps0=7 vote=0
STG ra=2 rb=1 width=4
EXIT
.function f
RET
"""


@pytest.mark.parametrize("between", [
    "STL rb=0 width=4", "MOV rd=0 rb=0", "LDL rd=255 width=4", "@!P7 CALL ->f", "NOP", "STL rb=0 width=4\nNOP",
])
@pytest.mark.parametrize("registers", [8, 7, 6])
def test_points_that_lanes_pass_while_they_wait_for_another_stay_two(between: str, registers: int) -> None:
    """Lanes 8 to 15 come to A while they wait for B: where A and B are two words, they vote without lanes 0 to 7."""
    original = module(CROSSED.format(between=between))
    expected = results(original)
    assert expected.tolist() == [0xFF] * 8 + [0xFFFFFF00] * 24
    assert_rewritten_right(original, registers)


PASSED_BY = HEAD + """
ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
@P0 BRA ->side ^point
BRA ->behind
side:
STL rb=0 width=4
point:
STL rb=0 moff=4 width=4
behind:
VOTE rd=1 pd0=7 ps0=7 vote=0
STG ra=2 rb=1 width=4
EXIT
"""


@pytest.mark.parametrize("registers", [8, 7, 6])
def test_a_point_that_other_lanes_pass_by_does_not_become_the_word_behind_it(registers: int) -> None:
    original = module(PASSED_BY)
    expected = results(original)
    assert expected.tolist() == [0xFFFF] * 16 + [0xFFFF0000] * 16
    assert_rewritten_right(original, registers)


@pytest.mark.parametrize("call", ["@!P7 CALL ->g", "@!P7 CALL.IND ra=5"])
def test_a_call_that_nobody_executes_hinders_nothing(call: str) -> None:
    text = CROSSED.format(between=call).replace(".function f", ".function g\nCALL ->g\nRET\n.function f")
    original = module(text)
    assert_rewritten_right(original, 6)
    found = inspect_module(original, write_module(original), "k", ["cfg", "webs", "pressure", "stack", "minimum"], None)
    assert found["minimum"]["registers"] <= 6


def test_spill_words_lie_within_reach_of_an_access_or_it_is_refused() -> None:
    """An access names at most 23 bits of offset, of which the kernel's own frames take all."""
    values = "\n".join(f"IADD3 rd={10 + n} ra=0 form=1 imm={n}" for n in range(6))
    sums = "\n".join(f"IADD3 rd=9 ra=9 rb={10 + n}" for n in range(6))
    text = f"""
.kernel k registers=16 local_bytes={{size}}
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
MOV rd=9 rb=255
STL ra=0 rb=0 width=4
{values}
{sums}
STG ra=2 rb=9 width=4
EXIT
"""
    with pytest.raises(Refused, match=r"cannot reach behind .* found 8,388,608 bytes of its own and \d+ spilled"):
        rewrite(module(text.format(size=1 << 23)), "k", 6, 0)
    fits = rewrite(module(text.format(size=(1 << 23) - 64)), "k", 6, 0)
    assert read_module(write_module(fits)).function("k").info.spill_local <= 64
    assert rewrite(module(text.format(size=1 << 23)), "k", 12, 0).function("k").info.spill_local == 0


def test_clones_of_functions_with_long_names_have_names() -> None:
    kernel, callee = "k" * 600, "f" * 600
    original = module(f"""
.kernel {kernel}
CALL ->{callee}
CALL ->{callee}g
EXIT
.kernel other
CALL ->{callee}
CALL ->{callee}g
EXIT
.function {callee}
IADD3 rd=4 ra=4 form=1 imm=5
RET
.function {callee}g
IADD3 rd=4 ra=4 form=1 imm=7
RET
""")
    rewritten = read_module(write_module(rewrite(original, kernel, 5, 0)))
    assert check(original, rewritten, kernel).ok
    assert len({fn.name for fn in rewritten}) == 6


def assert_rewritten_right(original: Module, registers: int) -> None:
    """The rewrite is proven, and leaves what the original leaves."""
    expected = results(original)
    rewritten = rewrite(original, "k", registers, 0)
    assert check(original, rewritten, "k").ok
    assert (results(rewritten) == expected).all()


def results(program: Module) -> np.ndarray:
    """What the 32 threads of one block leave in the buffer."""
    launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, (Argument("x", "buffer", "u32", (32,)),))
    program = copy.deepcopy(program)
    program.function("k").info.params = [Param("x", 0, 8)]
    return run(schedule(program, MACHINE), "k", launch, MACHINE, engine="python").buffers["x"]
