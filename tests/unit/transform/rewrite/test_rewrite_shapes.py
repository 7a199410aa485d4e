"""Small programs whose rewrites once went wrong or could: what the rewriter leaves of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import Refused
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module, Param
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.report.views.inspect import inspect_module
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.programs.builder import program

MACHINE = load_machine("gtx680")


def test_two_reconvergence_points_become_one_where_the_code_between_them_is_lifted_away() -> None:
    original = program("""
.kernel k registers=8 local_bytes=16
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
ISETP.LT.AND P0, PT, R0, 0x5, PT
ISETP.LT.AND P1, PT, R0, 0x9, PT
@P0 BRA outer, outer
@P1 BRA inner, inner
STG.32 [R2], R0
inner:
STL.32 [0x4], R0
outer:
STG.32 [R2+0x4], R0
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
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
IMAD.WIDE R2, R0, 0x4, R2
"""

SPLIT = HEAD + """
ISETP.LT.AND P0, PT, R0, 0x10, PT
{before}
@P0 BRA L, done
{between}
L:
VOTE.ALL R1, PT, PT
done:
STG.32 [R2], R1
EXIT
"""


@pytest.mark.rotates
@pytest.mark.parametrize("before", ["", "STL.32 [0x4], R0"])
@pytest.mark.parametrize("between", ["", "NOP", "MOV R4, R0", "STL.32 [0x0], R0"])
def test_lanes_split_at_a_branch_whatever_of_the_code_behind_it_is_left(before: str, between: str) -> None:
    original = program(SPLIT.format(before=before, between=between))
    expected = results(original)
    assert expected.tolist() == [0xFFFF] * 16 + [0xFFFF0000] * 16
    assert_rewritten_right(original, 8)
    assert (results(original) == expected).all()


CROSSED = HEAD + """
ISETP.GE.AND P1, PT, R0, 0x8, PT
ISETP.GE.AND P2, PT, R0, 0x10, PT
@!P1 BRA A, A
@P2 BRA B, B
A:
{between}
B:
VOTE.ALL R1, PT, PT
STG.32 [R2], R1
EXIT
.func f
RET
"""


@pytest.mark.rotates
@pytest.mark.parametrize("between", [
    "STL.32 [0x0], R0", "MOV R0, R0", "LDL.32 RZ, [0x0]", "@!PT CALL f", "NOP", "STL.32 [0x0], R0\nNOP",
])
@pytest.mark.parametrize("registers", [8, 7, 6])
def test_points_that_lanes_pass_while_they_wait_for_another_stay_two(between: str, registers: int) -> None:
    """Lanes 8 to 15 come to A while they wait for B: where A and B are two words, they vote without lanes 0 to 7."""
    original = program(CROSSED.format(between=between))
    expected = results(original)
    assert expected.tolist() == [0xFF] * 8 + [0xFFFFFF00] * 24
    assert_rewritten_right(original, registers)


PASSED_BY = HEAD + """
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 BRA side, point
BRA behind
side:
STL.32 [0x0], R0
point:
STL.32 [0x4], R0
behind:
VOTE.ALL R1, PT, PT
STG.32 [R2], R1
EXIT
"""


@pytest.mark.parametrize("registers", [8, 7, 6])
def test_a_point_that_other_lanes_pass_by_does_not_become_the_word_behind_it(registers: int) -> None:
    original = program(PASSED_BY)
    expected = results(original)
    assert expected.tolist() == [0xFFFF] * 16 + [0xFFFF0000] * 16
    assert_rewritten_right(original, registers)


@pytest.mark.parametrize("call", ["@!PT CALL g", "@!PT CALL.IND R5"])
def test_a_call_that_nobody_executes_hinders_nothing(call: str) -> None:
    text = CROSSED.format(between=call).replace(".func f", ".func g\nCALL g\nRET\n.func f")
    original = program(text)
    assert_rewritten_right(original, 6)
    found = inspect_module(original, write_module(original), "k", ["cfg", "webs", "pressure", "stack", "minimum"], None)
    assert found["minimum"]["registers"] <= 6


def test_spill_words_lie_within_reach_of_an_access_or_it_is_refused() -> None:
    """An access names at most 23 bits of offset, of which the kernel's own frames take all."""
    values = "\n".join(f"LDG.32 R{10 + n}, [R2+{4 * n}]" for n in range(6))
    sums = "\n".join(f"IADD3 R9, R9, R{10 + n}, RZ" for n in (*range(6), *range(6)))
    text = f"""
.kernel k registers=16 local_bytes={{size}}
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
MOV R9, RZ
STL.32 [R0], R0
{values}
{sums}
STG.32 [R2], R9
EXIT
"""
    with pytest.raises(Refused, match=r"cannot reach behind .* found 8,388,608 bytes of its own and \d+ spilled"):
        rewrite(program(text.format(size=1 << 23)), "k", 6, 0)
    fits = rewrite(program(text.format(size=(1 << 23) - 64)), "k", 6, 0)
    assert read_module(write_module(fits)).function("k").info.spill_local <= 64
    assert rewrite(program(text.format(size=1 << 23)), "k", 12, 0).function("k").info.spill_local == 0


def test_clones_of_functions_with_long_names_have_names() -> None:
    kernel, callee = "k" * 600, "f" * 600
    original = program(f"""
.kernel {kernel}
CALL {callee}
CALL {callee}g
EXIT
.kernel other
CALL {callee}
CALL {callee}g
EXIT
.func {callee}
IADD3 R4, R4, 0x5, RZ
RET
.func {callee}g
IADD3 R4, R4, 0x7, RZ
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


def results(module: Module) -> np.ndarray:
    """What the 32 threads of one block leave in the buffer."""
    launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, (Argument("x", "buffer", "u32", (32,)),))
    module = copy.deepcopy(module)
    module.function("k").info.params = [Param("x", 0, 8)]
    return run(schedule(module, MACHINE), "k", launch, MACHINE, engine="python").buffers["x"]
