"""Which values may differ between the lanes of a warp."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.varying import varying_webs
from tests.support.programs.builder import program

CODE = """.kernel k
.block 64
.param in, 8
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    MOV R2, c[0][in]
    MOV R3, c[0][in+4]
    IADD3 R4, R1, 0x7, RZ
    IADD3 R5, R0, R4, RZ
    LDG.32 R6, [R2]
    IADD3 R7, R6, R4, RZ
    IMAD.WIDE R8, R0, 0x4, R2
    LDG.32 R10, [R8]
    ISETP.LT.AND P0, PT, R7, 0x5, PT
    ISETP.LT.AND P1, PT, R10, 0x5, PT
    SEL R11, R4, R1, P0
    SEL R12, R4, R1, P1
    MOV R13, R11
    CALL f
    IADD3 R14, R13, 0x1, RZ
    STG.32 [R2], R14
    STG.32 [R8], R12
    STG.32 [R8], R5
    EXIT
.end
.func f
    IADD3 R13, R13, 0x2, RZ
    RET
.end
"""
SAME = {"R1", "R2", "R3", "R4", "R6", "R7", "R11", "P0"}
APART = {"R0", "R5", "R8", "R10", "R12", "R14", "P1"}


@pytest.mark.parametrize(("names", "varies"), [(SAME, False), (APART, True)])
def test_values_vary_by_what_they_are_made_of(names: set[str], varies: bool) -> None:
    """The block's own number, constants and what is loaded from where all lanes look do not; the lane's number, what is
    loaded by it, and a call's result do."""
    f = analyse(program(CODE), "k")["k"]
    found = {f"{web.file}{web.arch}": flag for web, flag in zip(f.webs.webs, varying_webs(f), strict=True)}
    assert {name: found[name] for name in names} == dict.fromkeys(names, varies)


def test_a_callers_arguments_vary() -> None:
    f = analyse(program(CODE), "k")["f"]
    assert varying_webs(f) == [True] * len(f.webs.webs)
