"""A callee goes by the guard of its call: a right rewrite that needs it, and wrong ones beside it."""

from __future__ import annotations

import pytest

from tests.support.pairs.verdict import mapped, verdict

NESTED = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
S2R R0, SR_TID.X
ISETP.LT.AND P1, PT, R0, 0x10, PT
{call}
{again}
IADD3 R5, R0, 0x3, RZ
STG.32 [R2], R2
STG.32 [R2+0x4], R5
EXIT
.func f
{first}
{inner}
RET
.func g
MOV R0, {value}
RET
"""

NESTED_LATE = """
.kernel k registers=12
0| MOV R2, 0x40
1| MOV R3, 0x0
2| S2R R0, SR_TID.X
3| ISETP.LT.AND P1, PT, R0, 0x10, PT
4| {call}
5| {again}
7| STG.32 [R2], R2
-| IADD3 R5, R0, 0x3, RZ
8| STG.32 [R2+0x4], R5
9| EXIT
.func f
0| {first}
1| {inner}
2| RET
.func g
{copy}
1| RET
"""


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True),
        ({"first": "ISETP.LT.AND P2, PT, R2, 0x8, PT"}, True),
        ({"again": "@P1 CALL f"}, True),
        ({"call": "@!P1 CALL f", "inner": "@P1 CALL g"}, True),
        ({"call": "CALL f"}, False),
        ({"call": "@!P1 CALL f"}, False),
        ({"again": "@!P1 CALL f"}, False),
        ({"again": "CALL f"}, False),
        ({"inner": "@P1 CALL g"}, False),
        ({"inner": "CALL g"}, False),
        ({"first": "ISETP.LT.AND P1, PT, R2, 0x8, PT"}, False),
        ({"first": "@P1 ISETP.LT.AND P1, PT, R2, 0x8, PT"}, False),
    ],
)
def test_a_callee_goes_by_the_guard_of_its_call(change: dict[str, str], right: bool) -> None:
    """What it calls under the opposite guard is called nowhere: that writes nothing, and brings nothing of what nobody
    wrote (R9)."""
    words = {"call": "@P1 CALL f", "again": "NOP", "first": "NOP", "inner": "@!P1 CALL g", **change}
    for value, copy in (("R9", "0| MOV R0, R9"), ("R2", "0| NOP")):
        assert (verdict(NESTED.format(**words, value=value), NESTED_LATE.format(**words, copy=copy)) == set()) is right


BEYOND = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
S2R R0, SR_TID.X
ISETP.LT.AND P0, PT, R0, 0x10, PT
ISETP.LT.AND P2, PT, R0, 0x18, PT
LDG.32 R5, [R2]
STG.32 [R2+0x4], R5
@P0 LDG.32 R5, [R2+0x8]
{call}
{late} LDG.32 R5, [R2+0xc]
STG.32 [R2], R5
STG.32 [R2], R0
EXIT
.func f
{first}
CALL g
RET
.func g
{leave} RET
{then}
LDG.32 R5, [R2+0x10]
RET
"""


def elsewhere(text: str) -> str:
    """The value that is in R5 from the guarded load on is in R7; what was there before it stays in R5."""
    before, loaded, rest = text.partition("@P0 LDG.32 R5")
    functions = (before + (loaded + rest).replace("R5", "R7")).split("\n.func ")
    return "\n.func ".join(mapped(f) if f.startswith("\n") else f[:1] + "\n" + mapped(f[2:]) for f in functions)


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True),
        ({"call": "@P2 CALL f"}, True),
        ({"call": "@!P2 CALL f"}, True),
        ({"call": "@P0 CALL f"}, True),
        ({"leave": "@P1"}, True),
        ({"then": "ISETP.LT.AND P2, PT, R0, 0x4, PT"}, True),
        ({"first": "ISETP.LT.AND P1, PT, R0, 0x4, PT"}, True),
        ({"late": "@!P2"}, True),
        ({"leave": "@!P0"}, True),
        ({"first": "@P2 ISETP.LT.AND P0, PT, R0, 0x4, PT"}, True),
        ({"then": "ISETP.LT.AND P0, PT, R0, 0x4, PT"}, True),
        ({"late": "@P0"}, False),
        ({"late": "@P2"}, False),
        ({"late": "@P1"}, False),
        ({"late": "@!P2", "leave": "@P2"}, False),
        ({"first": "ISETP.LT.AND P0, PT, R0, 0x4, PT"}, False),
        ({"first": "@!P2 ISETP.LT.AND P0, PT, R0, 0x4, PT"}, False),
        ({"first": "@P1 ISETP.LT.AND P0, PT, R0, 0x4, PT"}, False),
        ({"call": "CALL f", "then": "ISETP.LT.AND P0, PT, R0, 0x4, PT", "leave": "@P2", "late": "@!P2"}, False),
    ],
)
def test_what_holds_under_a_predicate_that_the_callee_does_not_know_holds_behind_the_call(
    change: dict[str, str], right: bool
) -> None:
    """Two loads under opposite guards make one value, and the callee between them may write it or not: what it was
    before the first load is wanted nowhere, unless the callee changes the guard where it does not write the value.
    Another predicate in its place is no way to tell."""
    words = {"call": "CALL f", "late": "@!P0", "first": "NOP", "leave": "@!P2", "then": "NOP", **change}
    original = BEYOND.format(**words)
    assert (verdict(original, elsewhere(original)) == set()) is right
