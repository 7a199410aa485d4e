"""Slots that have other numbers, or that two blocks share: what the checker proves of them, and what it rejects."""

from __future__ import annotations

import pytest

from binalloc.verify.report import CheckReport
from binalloc.verify.sharing.check import check_shared
from tests.support.pairs.sharing.lines import BLOCK, HEAD, PRIVATE, kinds, pair

SLOTS = HEAD.replace(" 512\n", " 512\n    .slots 384 R5\n") + "    S2R R5, SR_SLOTBASE\n"
"""A thread has three slots; R5 is the slot pointer."""


def judged(body: str, own: int | None) -> CheckReport:
    original, made = pair(SLOTS + body)
    return check_shared(original, made, "k", BLOCK, PRIVATE, 0, own)


EXCHANGED = """
    o|STS.32.SPILL [R5], R0 => STS.32.SPILL [R5+0x100], R0
    o|STS.32.SPILL [R5+0x80], R0 => STS.32.SPILL [R5], R0
    o|LDS.32.SPILL R2, [R5] => LDS.32.SPILL R2, [R5+0x100]
    o|LDS.32.SPILL R3, [R5+0x80] => LDS.32.SPILL R3, [R5]
    STG.32 [R8], R2
    EXIT
"""


@pytest.mark.parametrize("own", [None, 3, 2, 0])
def test_slots_may_exchange_their_numbers(own: int | None) -> None:
    report = judged(EXCHANGED, own)
    assert report.ok, report


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("o|STS.32.SPILL [R5+0x80], R0 => STS.32.SPILL [R5], R0", "STS.32.SPILL [R5+0x80], R0", "elsewhere"),
        ("LDS.32.SPILL R2, [R5+0x100]", "LDS.32.SPILL R2, [R5+0x80]", "elsewhere"),
        ("=> STS.32.SPILL [R5], R0", "=> STS.32.SPILL [R5+0x180], R0", "no slot of the thread"),
        ("=> STS.32.SPILL [R5], R0", "=> STS.32.SPILL [R5+0x4], R0", "no slot of the thread"),
        ("=> STS.32.SPILL [R5], R0", "=> STS.32.SPILL [R5], R1", "not the original's"),
    ],
)
def test_wrong_numbers_are_rejected(was: str, now: str, message: str) -> None:
    assert was in EXCHANGED
    report = judged(EXCHANGED.replace(was, now), 2)
    assert not report.ok
    assert message in str(report.errors[0])


def test_two_slots_with_one_number_are_rejected() -> None:
    report = judged(EXCHANGED.replace("[R5+0x100]", "[R5]"), None)
    assert "two slots of the original have one number" in str(report.errors[0])


RELEASED = """
    STS.32.SPILL [R5+0x100], R0
    -|RELSSP
    LDS.32.SPILL R2, [R5{offset}]
    STG.32 [R8], R2
    EXIT
"""


@pytest.mark.parametrize(
    ("offset", "own", "found"),
    [
        ("+0x100", 2, {"behind"}), ("+0x100", 3, set()), ("+0x100", None, set()), ("+0x80", 2, set()),
        ("+0x80", 1, {"behind"}), ("", 0, {"behind"}),
    ],
)  # fmt: skip
def test_no_shared_slot_is_accessed_behind_a_release(offset: str, own: int | None, found: set[str]) -> None:
    assert kinds(judged(RELEASED.format(offset=offset), own)) == found


@pytest.mark.parametrize(
    ("change", "ok"),
    [
        ("IADD3 R5, R5, 0x80, RZ\n    IADD3 R5, R5, -0x80, RZ", True), ("IADD3 R5, R5, R1, RZ", False),
        ("@P0 IADD3 R5, R5, 0x80, RZ", False), ("MOV R5, R1", False), ("S2R R5, SR_SLOTBASE", True),
    ],
)  # fmt: skip
def test_the_slot_pointer_is_followed(change: str, ok: bool) -> None:
    body = f"    {change}\n    STS.32.SPILL [R5+0x80], R0\n    EXIT\n"
    report = judged(body, 1)
    assert report.ok is ok
    assert ok or "not known" in str(report.errors[0])
    assert judged(body, None).ok, "where none is shared, nothing need be known"


def test_ways_on_which_the_pointer_differs() -> None:
    body = """
    @P0 BRA other, meet
    BRA meet
other:
    IADD3 R5, R5, 0x80, RZ
meet:
    STS.32.SPILL [R5], R0
    EXIT
"""
    assert "not known" in str(judged(body, 1).errors[0])
    assert judged(body.replace("0x80", "0x0"), 1).ok


def test_slots_through_calls() -> None:
    """The callee's first slot is the caller's second one."""
    body = """
    IADD3 R5, R5, 0x80, RZ
    CALL f
    IADD3 R5, R5, -0x80, RZ
    LDS.32.SPILL R2, [R5]
    EXIT
    .end
    .func f
    o|STS.32.SPILL [R5], R0 => STS.32.SPILL [R5+0x80], R0
    -|RELSSP
    RET
"""
    assert judged(body, 2).ok
    assert kinds(judged(body, 0)) == {"behind"}
