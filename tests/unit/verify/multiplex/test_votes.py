"""Small kernels whose virtual blocks vote on the end of a turn, each with the one thing that decides."""

from __future__ import annotations

import pytest

from tests.support.pairs.multiplex.lines import kinds
from tests.unit.verify.multiplex.test_merged_small import BODY, START, judge, turns

GIVES = "-| BAR.RED.OR 0"
CLOSES = "-| BAR.RED.OR 0, !PT"
ASKS = "-| BAR.RED.OR P6, 0, !PT"


def voted(body: str, name: str = "") -> str:
    """A region whose turns end with a vote; barriers of the original are votes in it."""
    body = body.replace("BAR.SYNC 0", f"o| BAR.SYNC 0\n    {GIVES}")
    return f"""
    -| MOV R23, 0x0
    T{name}:
    -| ISETP.EQ.AND P6, PT, R23, R20, PT
    -| @!P6 BRA W{name}, N{name}
    {body}
    {CLOSES}
    -| BRA N{name}
    W{name}:
    {ASKS}
    -| @P6 BRA W{name}, N{name}
    N{name}:
    -| IADD3 R23, R23, 0x1, RZ
    -| ISETP.LT.U32.AND P6, PT, R23, 0x2, PT
    -| @P6 BRA T{name}, E{name}
    E{name}:
    -| NOP
    """


LOOP = """
    MOV R9, 0x0
    STS.32 [R1], R2
    H:
    BAR.SYNC 0
    IADD3 R3, -R1, 0xfc, RZ
    LDS.32 R6, [R3]
    BAR.SYNC 0
    STS.32 [R1], R6
    IADD3 R9, R9, 0x1, RZ
    ISETP.LT.AND P3, PT, R9, {limit}, PT
    @P3 BRA H, Z
    Z:
"""
KERNEL = voted(LOOP.format(limit="R2")) + "\n    EXIT\n"


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("limit", ["0x8", "c[0][0x8]", "R2"])
def test_a_region_with_barriers_in_a_loop_is_proven(limit: str, count: int) -> None:
    """The rounds are the same in all launches, in all blocks of a launch, or in all threads of a block alone."""
    text = (voted(LOOP.format(limit=limit)) + "\nEXIT\n").replace("R23, 0x2, PT", f"R23, {count:#x}, PT")
    report = judge(text, count=count, start=START.replace("0x2, R20", f"{count:#x}, R20"))
    assert report.ok, str(report)


def test_the_rounds_have_to_be_the_same_in_a_block() -> None:
    assert "together" in kinds(judge(KERNEL.replace("P3, PT, R9, R2", "P3, PT, R9, R0")))


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (f"{GIVES}\n", "", "barrier"),
        (f"{GIVES}\n", f"{GIVES}\n{GIVES}\n", ""),
        (f"{GIVES}\n", f"{CLOSES}\n", "race"),  # the others go on too early
        (f"{GIVES}\n", "-| BAR.SYNC 0\n", "vote"),
        (f"{GIVES}\n", "-| BAR.RED.AND PT, 0, PT\n", "inserted"),
        (f"{GIVES}\n", "-| BAR.RED.OR PT, 0, P3\n", "inserted"),  # what is given is not known
        (f"{GIVES}\n", "-| BAR.RED.OR PT, 1, PT\n", "inserted"),
        (f"{GIVES}\n", "-| BAR.RED.OR PT, 0, 0x80, PT\n", "inserted"),
        (CLOSES, GIVES, ""),  # the second one has its turn once the first one asks, too
        (CLOSES, "-| NOP", ""),  # likewise
        (CLOSES, "-| BAR.SYNC 0", "vote"),
        (CLOSES, f"{CLOSES}\n{CLOSES}", "vote"),
        (ASKS, GIVES, "vote"),  # goes on at once
        (ASKS, "-| BAR.RED.OR P6, 0, PT", "order"),
        (ASKS, "-| BAR.RED.OR P5, 0, !PT", "inserted"),
        (ASKS, CLOSES, "vote"),  # likewise
        ("-| @P6 BRA W, N", "-| @!P6 BRA W, N", "inserted"),
        ("-| @P6 BRA W, N", "-| NOP", "inserted"),
        ("-| @P6 BRA W, N", "-| IADD3 R24, R23, 0x1, RZ\n-| @P6 BRA W, N", "inserted"),
        ("-| @P6 BRA W, N", "-| NOP\n-| @P6 BRA W, N", ""),
    ],
)
def test_one_change_of_the_votes(before: str, after: str, kind: str) -> None:
    assert before in KERNEL
    found = kinds(judge(KERNEL.replace(before, after, 1)))
    assert kind in found if kind else not found


def test_the_answer_does_not_take_the_place_of_a_predicate_of_the_original() -> None:
    assert "inserted" in kinds(judge(KERNEL.replace("P6", "P1").replace("EXIT\n", "@P1 STG.32 [R4], R6\nEXIT\n")))


BRANCH = """
    STS.32 [R1], R2
    @P2 BRA Y, Y
    BAR.SYNC 0
    IADD3 R3, -R1, 0xfc, RZ
    LDS.32 R6, [R3]
    Y:
"""


def test_blocks_may_go_different_ways_in_their_turns() -> None:
    behind = f"BAR.SYNC 0\n{turns(BODY, '2')}\nEXIT\n"
    assert judge(voted(BRANCH) + behind).ok
    assert "race" in kinds(judge(turns(BRANCH) + behind))


@pytest.mark.parametrize(("limit", "ok"), [("c[0][0x8]", True), ("R2", False)])
def test_behind_their_turns_blocks_are_in_step_again(limit: str, ok: bool) -> None:
    """Another loop, around a region and with barriers, has as many rounds in all blocks."""
    inner = voted(LOOP.format(limit="R2"))
    around = f"""
    MOV R10, 0x0
    A:
    {inner}
    BAR.SYNC 0
    {turns(BODY, "2")}
    BAR.SYNC 0
    IADD3 R10, R10, 0x1, RZ
    ISETP.LT.AND P4, PT, R10, {limit}, PT
    @P4 BRA A, B
    B:
    {turns(BODY, "3")}
    EXIT
    """
    report = judge(around)
    assert report.ok == ok, str(report)
