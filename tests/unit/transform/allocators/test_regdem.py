"""The allocator `regdem`, word for word: which registers leave, what their accesses become, where the others go."""

from __future__ import annotations

import pytest

from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_of
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.allocate.demoted import Demotions
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import minimum_registers, prepare, rewrite, rewrite_to_budget
from binalloc.transform.spill.prices import LOCAL_COST
from binalloc.verify.checker import check
from tests.support.programs.builder import program

HEAD = """
.kernel k registers=8 local_bytes=16
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
IMAD.WIDE R2, R0, 0x4, R2
"""


def words(module: Module, function: str = "k") -> list[str]:
    """The function's instructions, labels as they are."""
    fn = module.function(function)
    return [set_of(module).text(instr, fn, index, module) for index, instr in enumerate(fn.instrs)]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines() if not line.startswith(".") and line[-1] != ":"]


def made(text: str, registers: int, slots: int) -> Module:
    """The rewrite, proven and within its budget."""
    original = program(text)
    new = rewrite(original, "k", registers, slots, "regdem")
    report = check(original, new, "k")
    assert report.ok, report.errors[:3]
    info = new.function("k").info
    assert info.registers <= registers
    assert info.slots <= slots
    return new


GUARDED = (
    HEAD
    + """
MOV R4, 0x7
MOV R5, 0x9
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 IADD3 R4, R0, R0, RZ
@!P0 MOV R5, R0
STG.32 [R2], R4
STG.32 [R2+0x80], R5
EXIT
"""
)


def test_a_guarded_definition_stores_under_its_guard() -> None:
    """R4 and R5 go through R1, which held nothing; where the guard fails their words keep what they held."""
    assert words(made(GUARDED, 4, 0))[4:] == lines("""
        MOV R1, 0x7
        STL.32.SPILL [0x0], R1
        MOV R1, 0x9
        STL.32.SPILL [0x4], R1
        ISETP.LT.AND P0, PT, R0, 0x10, PT
        @P0 IADD3 R1, R0, R0, RZ
        @P0 STL.32.SPILL [0x0], R1
        @!P0 MOV R1, R0
        @!P0 STL.32.SPILL [0x4], R1
        LDL.32.SPILL R1, [0x0]
        STG.32 [R2], R1
        LDL.32.SPILL R1, [0x4]
        STG.32 [R2+0x80], R1
        EXIT
    """)


def test_a_line_that_changes_its_own_guard_has_the_old_value_before_it() -> None:
    """What it leaves in the window is the whole word, so that nobody needs the store."""
    new = GUARDED.replace("IADD3 R4, R0, R0", "IADD3 R4, P0, R0, R0").replace("@!P0 MOV R5, R0\n", "")
    assert words(made(new, 4, 0))[8:] == lines("""
        ISETP.LT.AND P0, PT, R0, 0x10, PT
        LDL.32.SPILL R1, [0x0]
        @P0 IADD3 R1, P0, R0, R0, RZ
        STG.32 [R2], R1
        LDL.32.SPILL R1, [0x4]
        STG.32 [R2+0x80], R1
        EXIT
    """)


def test_pairs_leave_in_whole_and_come_back_as_they_are_read() -> None:
    """R4:R5 and R6:R7 go through R4:R5; what it still holds is not loaded again."""
    new = made(
        HEAD
        + """
LDG.64 R4, [R2]
LDG.64 R6, [R2+0x80]
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 LDG.64 R4, [R2+0x100]
IADD3 R0, R0, R6, RZ
IADD3 R0, R0, R7, RZ
IADD3 R0, R0, R4, RZ
STG.32 [R2], R0
STG.64 [R2+0x80], R4
EXIT
""",
        6,
        0,
    )
    assert words(new)[4:] == lines("""
        LDG.64 R4, [R2]
        STL.32.SPILL [0x0], R4
        STL.32.SPILL [0x4], R5
        LDG.64 R4, [R2+0x80]
        STL.32.SPILL [0x8], R4
        STL.32.SPILL [0xc], R5
        ISETP.LT.AND P0, PT, R0, 0x10, PT
        @P0 LDG.64 R4, [R2+0x100]
        @P0 STL.32.SPILL [0x0], R4
        @P0 STL.32.SPILL [0x4], R5
        LDL.32.SPILL R4, [0x8]
        IADD3 R0, R0, R4, RZ
        LDL.32.SPILL R4, [0xc]
        IADD3 R0, R0, R4, RZ
        LDL.32.SPILL R4, [0x0]
        IADD3 R0, R0, R4, RZ
        STG.32 [R2], R0
        LDL.32.SPILL R5, [0x4]
        STG.64 [R2+0x80], R4
        EXIT
    """)


LOOP = (
    HEAD
    + """
MOV R4, 0x0
MOV R5, 0x9
MOV R6, 0x8
MOV R7, 0x7
loop:
IADD3 R4, R4, R5, RZ
ISETP.LT.AND P0, PT, R4, 0x10, PT
@P0 BRA loop, end
end:
IADD3 R4, R4, R6, RZ
IADD3 R4, R4, R6, RZ
STG.32 [R2], R4
STG.32 [R2+0x80], R7
STG.32 [R2+0x100], R0
EXIT
"""
)


def test_what_a_loop_reads_stays() -> None:
    """R5 has as few accesses as R7 in the text, and fewer than R6, but for the loop."""
    assert words(made(LOOP, 6, 0)) == lines("""
        S2R R0, SR_TID.X
        MOV R2, c[0][0x0]
        MOV R3, c[0][0x4]
        IMAD.WIDE R2, R0, 0x4, R2
        MOV R4, 0x0
        MOV R5, 0x9
        MOV R1, 0x8
        STL.32.SPILL [0x0], R1
        MOV R1, 0x7
        STL.32.SPILL [0x4], R1
        IADD3 R4, R4, R5, RZ
        ISETP.LT.AND P0, PT, R4, 0x10, PT
        @P0 BRA loop, end
        LDL.32.SPILL R1, [0x0]
        IADD3 R4, R4, R1, RZ
        IADD3 R4, R4, R1, RZ
        STG.32 [R2], R4
        LDL.32.SPILL R1, [0x4]
        STG.32 [R2+0x80], R1
        STG.32 [R2+0x100], R0
        EXIT
    """)


CALL = (
    HEAD
    + """
MOV R6, 0x9
MOV R5, 0x3
IADD3 R4, R0, R5, RZ
CALL f
IADD3 R4, R4, R6, RZ
IADD3 R4, R4, R5, RZ
STG.32 [R2], R4
EXIT
.func f
MOV R0, 0x2
IADD3 R7, R0, R4, RZ
SHF.L.S32 R4, R7, R0, R4
RET
"""
)


def test_registers_are_the_same_ones_in_callers_and_callees() -> None:
    """R4, argument and result, stays, and R7 becomes R1 in both; the window is the callee's as well, so that nothing is
    held in it across the call."""
    new = made(CALL, 6, 4)
    assert words(new)[5:] == lines("""
        MOV R1, 0x9
        STS.32.SPILL [R5+0x80], R1
        MOV R1, 0x3
        STS.32.SPILL [R5], R1
        IADD3 R4, R0, R1, RZ
        CALL f
        LDS.32.SPILL R1, [R5+0x80]
        IADD3 R4, R4, R1, RZ
        LDS.32.SPILL R1, [R5]
        IADD3 R4, R4, R1, RZ
        STG.32 [R2], R4
        EXIT
    """)
    assert words(new, "f") == lines("""
        MOV R0, 0x2
        IADD3 R1, R0, R4, RZ
        SHF.L.S32 R4, R1, R0, R4
        RET
    """)


def test_what_is_handed_over_does_not_leave() -> None:
    original = program(CALL)
    least = minimum_registers(original, "k", 4, "regdem")
    assert least == 4
    with pytest.raises(Infeasible, match="4 needed"):
        rewrite(original, "k", least - 1, 4, "regdem")


def test_the_inputs_own_spills_stay_where_they_are() -> None:
    text = (
        HEAD
        + """
ISETP.LT.AND P0, PT, R0, 0x10, PT
STL.64 [0x0], RZ
@P0 STL.32 [0x0], R0
LDL.32 R4, [0x0]
LDL.32 R5, [0x4]
IADD3 R4, R4, R5, RZ
STG.32 [R2], R4
EXIT
"""
    )
    assert words(made(text, 6, 8))[4:] == lines("""
        ISETP.LT.AND P0, PT, R0, 0x10, PT
        STL.32.SPILL [0x0], RZ
        STL.32.SPILL [0x4], RZ
        @P0 STL.32.SPILL [0x0], R0
        LDL.32.SPILL R4, [0x0]
        LDL.32.SPILL R5, [0x4]
        IADD3 R4, R4, R5, RZ
        STG.32 [R2], R4
        EXIT
    """)
    tight = made(text, 4, 8)
    assert tight.function("k").info.slots == 4
    assert tight.function("k").info.spill_local == 8


@pytest.mark.parametrize("text", [GUARDED, LOOP, CALL])
def test_with_registers_enough_the_binary_stays_as_it_is(text: str) -> None:
    original = program(text)
    new = made(text, 8, 8)
    assert [fn.instrs for fn in new] == [fn.instrs for fn in original]


def test_the_order_of_less_cost_is_taken() -> None:
    """R5 and R4, of the fewest accesses, are read together: with both of them gone the window takes two registers, and
    a third has to leave."""
    text = (
        HEAD
        + """
MOV R4, 0x7
MOV R5, 0x9
MOV R6, 0x5
MOV R7, 0x6
IADD3 R0, R4, R5, RZ
IADD3 R0, R0, R6, R6
IADD3 R0, R0, R6, RZ
IADD3 R0, R0, R7, R7
IADD3 R0, R0, R7, RZ
STG.32 [R2], R0
EXIT
"""
    )
    prepared = prepare(program(text), "k")
    work = Demotions(prepared.program, LOCAL_COST)

    def left(attempt: Attempt | None) -> set[str]:
        assert attempt is not None
        found = attempt.allocations["k"]
        return {found.code.names[v] for v in found.memory}

    assert left(work.attempt(6, "cfg", pointer=False)) == {"R4", "R5", "R7"}
    assert left(work.attempt(6, "conflict", pointer=False)) == {"R5", "R7"}
    assert left(rewrite_to_budget(prepared, 6, 0, "regdem").plan.attempt) == {"R5", "R7"}


def test_the_explanation_tells_whole_registers() -> None:
    told = rewrite_to_budget(prepare(program(GUARDED), "k"), 4, 0, "regdem").explain()
    assert [(s.name, s.whole, s.defined, s.local, s.loads[0], s.stores[0], s.accesses) for s in told] == [
        ("R4", True, [4, 7], 0, 1, 2, 3.0),
        ("R5", True, [5, 8], 1, 1, 2, 3.0),
    ]


UNWRITTEN = (
    HEAD
    + """
LDG.32 R4, [R2]
STG.32 [R2+0x4], R5
STG.32 [R2+0x8], R6
CALL f
STG.32 [R2+0xc], R4
STG.32 [R2+0x10], R5
STG.32 [R2+0x14], R6
EXIT
.func f
S2R R1, SR_TID.X
STG.32 [R2], R1
RET
"""
)


@pytest.mark.parametrize("slots", [0, 1, 2, 3])
def test_registers_that_nobody_wrote_leave_around_a_call(slots: int) -> None:
    least = minimum_registers(program(UNWRITTEN), "k", 0, "regdem")
    for registers in range(least, 8):
        made(UNWRITTEN, registers, slots)
