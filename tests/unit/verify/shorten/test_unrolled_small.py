"""Small kernels whose loops are written out, each with the one thing that decides whether the proof may hold."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.launch.types import Argument, Launch
from binalloc.transform.shorten.shorten import Step, shortened
from binalloc.verify.shorten.unrolled import check_unrolled
from tests.property.verify.multiplex.test_public_proofs import left, same
from tests.support.programs.builder import program

LAUNCH = Launch("k", (1, 1, 1), (32, 1, 1), 0, (Argument("out", "buffer", "u32", (32,)),))
TEXT = """
.kernel k registers=24
.param out, 8
.shared_bytes 128
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    MOV R6, c[0][out]
    MOV R7, c[0][out+0x4]
    IMAD.WIDE R6, R0, 0x4, R6
    LOP3 R8, R0, 0x1, RZ, 0xc0
    ISETP.EQ.AND P0, PT, R8, 0x0, PT
    ISETP.LT.AND P1, PT, R0, 0xa, PT
    MOV R3, 0x0
    MOV R8, 0x0
head:
{body}
    IADD3 R3, R3, 0x1, RZ
    ISETP.LT.AND P1, PT, R0, 0x0, PT
    ISETP.LT.AND P2, PT, R3, 0x2, PT
    @P2 BRA head, out
out:
    VOTE.ALL R10, P3, PT
    STG.32 [R6], R10
    EXIT
"""
# in the first round the inner branch's lanes pass the outer one's point before they meet, so the lanes of the outer
# one meet there in the second round
CROSSED = """
    @P0 BRA x, jay
    IADD3 R8, R8, 0x1, RZ
x:
    @P1 BRA y, kay
    IADD3 R8, R8, 0x1, RZ
y:
    IADD3 R8, R8, 0x1, RZ
jay:
    STS.32 [R1], R8
kay:
"""
NESTED = CROSSED.replace("y, kay", "y, jay")
TO_THE_NEXT_WORD = """
    @P0 BRA x, jay
x:
    VOTE.ALL R10, P3, PT
    IADD3 R8, R8, R10, RZ
jay:
    STS.32 [R1], R8
"""
NEXT_ROUND = """
    @P0 BRA x, head
    IADD3 R8, R8, 0x1, RZ
x:
    STS.32 [R1], R8
"""


@pytest.mark.parametrize(("body", "proven"), [
    (NESTED, True), (CROSSED, False), (TO_THE_NEXT_WORD, True),
], ids=["nested", "crossed", "a branch to the next word"])  # fmt: skip
def test_lanes_meet_where_they_did(body: str, proven: bool) -> None:
    module = program(TEXT.format(body=body))
    step: Step = shortened(module, "k", LAUNCH.block)[0]
    assert step.last == ((10, 1),)
    report = check_unrolled(module, step.module, "k", LAUNCH.block, dict(step.last))
    assert report.ok is proven, report
    assert same(left(module, LAUNCH), left(step.module, LAUNCH)) or not proven
    if not proven:
        assert [error.kind for error in report.errors] == ["reconvergence"]


def test_lanes_that_meet_in_the_next_round_keep_their_loop() -> None:
    """In the last round they would meet in a round that is not there."""
    with pytest.raises(Refused, match="lanes would not meet again"):
        shortened(program(TEXT.format(body=NEXT_ROUND)), "k", LAUNCH.block)
