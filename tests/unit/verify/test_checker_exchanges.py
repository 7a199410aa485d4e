"""Exchanges by three exclusive ors: all three must be executed, one after another."""

from __future__ import annotations

import pytest

from tests.support.pairs.verdict import verdict

ORIGINAL = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
S2R R0, SR_TID.X
S2R R1, SR_CTAID.X
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 BRA x, x
STG.32 [R2+0x8], R2
x:
STG.32 [R2], R0
STG.32 [R2+0x4], R1
EXIT
"""
REWRITTEN = """
.kernel k registers=12
0| MOV R2, 0x40
1| MOV R3, 0x0
2| S2R R0, SR_TID.X
3| S2R R1, SR_CTAID.X
4| ISETP.LT.AND P0, PT, R0, 0x10, PT
{before}
5| @P0 BRA x, x
{behind}
6| STG.32 [R2+0x8], R2
x:
7| STG.32 [R2], R0
8| STG.32 [R2+0x4], R1
9| EXIT
"""
ONE, OTHER = "-| LOP3 R0, R0, R1, RZ, 0x3c\n", "-| LOP3 R1, R0, R1, RZ, 0x3c\n"
EXCHANGE = ONE + OTHER + ONE


@pytest.mark.parametrize(
    ("before", "behind", "right"),
    [
        ("", "", True),
        ("", EXCHANGE * 2, True),
        (EXCHANGE * 2, "", True),
        (ONE + OTHER, ONE + EXCHANGE, False),
        (ONE, OTHER + ONE + EXCHANGE, False),
        (ONE + "-| MOV R1, R2\n", ONE + EXCHANGE, False),
    ],
)
def test_an_exchange_lies_in_one_block(before: str, behind: str, right: bool) -> None:
    """Whoever takes the branch would see what the registers hold in between."""
    assert (verdict(ORIGINAL, REWRITTEN.format(before=before, behind=behind)) == set()) is right
