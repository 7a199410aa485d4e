"""A callee goes by the guard of its call: a right rewrite that needs it, and wrong ones beside it."""

from __future__ import annotations

import pytest

from tests.support.pairs.verdict import verdict

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
