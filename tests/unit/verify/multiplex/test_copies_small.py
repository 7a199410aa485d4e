"""Small kernels of merged blocks with copies of private bytes, each with the one thing that decides whether the proof
may hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.isa.instruction import SharedVar
from binalloc.verify.multiplex.merged.check import check_merged
from binalloc.verify.report import CheckReport
from tests.support.pairs.multiplex.lines import kinds
from tests.unit.verify.multiplex.test_merged_small import BARRIER, both, judge, turns

COPY = """
    -| IMAD R24, R20, 0x100, RZ
    -| IADD3 R25, R1, R24, RZ
"""
"""How far the copy of a virtual block lies behind the first one, and a thread's word in it."""
PRIVATE = f"""{COPY}
    o| STS.32 [R1], R2 => STS.32 [R25], R2
    BAR.SYNC 0
    IADD3 R3, -R1, 0xfc, RZ
    -| IADD3 R26, R3, R24, RZ
    o| LDS.32 R6, [R3] => LDS.32 R6, [R26]
"""
EITHER = """
    LDG.32 R7, [R4]
    LOP3 R7, R7, 0x1fc, RZ, 0xc0
    -| IADD3 R26, R7, RZ, RZ
    -| MOV R27, 0x100
    -| ISETP.LT.U32.AND P6, PT, R26, 0x100, PT
    -| @P6 MOV R27, R24
    -| IADD3 R26, R7, R27, RZ
    o| LDS.32 R8, [R7] => LDS.32 R8, [R26]
"""
"""A read of a private word or a public one."""
PUBLIC = f"""
    o| STS.32 [R1+0x100], R2 => STS.32 [R1+0x200], R2
    BAR.SYNC 0
    {EITHER}
"""
BOTH = f"{PRIVATE}{turns(PUBLIC)}\n    EXIT\n"
"""256 bytes are private, and 256 are used in turns."""


def judged(text: str, room: int = 768, count: int = 2) -> CheckReport:
    return judge(text, count=count, room=room)


def test_a_private_part_and_a_public_one_are_proven() -> None:
    report = judged(BOTH)
    assert report.ok, str(report)
    three = BOTH.replace("R23, 0x2, PT", "R23, 0x3, PT").replace("0x200], R2", "0x300], R2")
    assert not judged(three, 1024, 3).ok  # the start is that of two
    assert "address" in kinds(judged(BOTH.replace("MOV R27, 0x100", "MOV R27, 0x200"), 1024))


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        # copies that overlap each other, or what is used in turns
        ("R20, 0x100, RZ", "R20, 0x80, RZ", "address"),
        ("R20, 0x100, RZ", "R20, 0xfc, RZ", "address"),
        ("R20, 0x100, RZ", "R20, 0x104, RZ", "address"),
        ("R20, 0x100, RZ", "R20, 0x0, RZ", "race"),
        ("R20, 0x100, RZ", "R20, 0x102, RZ", "address"),  # and not aligned
        # another virtual block's number
        ("R20, 0x100, RZ", "R20, 0x100, R24", "address"),
        ("R20, 0x100, RZ", "R21, 0x100, RZ", "address"),
        ("R20, 0x100, RZ", "R0, 0x100, RZ", "address"),
        ("-| IMAD R24, R20, 0x100, RZ", "-| IADD3 R24, R20, 0x1, RZ\\n-| IMAD R24, R24, 0x100, RZ", "address"),
        ("-| IMAD R24, R20, 0x100, RZ", "-| IMAD R24, R20, 0xffffff00, RZ\\n-| IADD3 R24, R24, 0x100, RZ", ""),
        # the wrong half
        ("R26, 0x100, PT", "R26, 0x104, PT", "address"),
        ("R26, 0x100, PT", "R26, 0xfc, PT", "address"),
        ("R26, 0x100, PT", "R26, 0xff, PT", ""),  # a word below 0x100 is one below 0xfd
        ("ISETP.LT.U32.AND P6, PT, R26", "ISETP.LT.AND P6, PT, R26", "address"),
        ("ISETP.LT.U32.AND P6, PT, R26", "ISETP.GE.U32.AND P6, PT, R26", "address"),
        ("ISETP.LT.U32.AND P6, PT, R26", "ISETP.LT.U32.AND P6, PT, R1", "address"),
        ("-| @P6 MOV R27, R24", "-| @!P6 MOV R27, R24", "address"),
        ("-| @P6 MOV R27, R24", "-| @P2 MOV R27, R24", "address"),
        ("-| @P6 MOV R27, R24", "-| MOV R27, R24", "address"),
        ("-| @P6 MOV R27, R24", "", "address"),
        ("-| MOV R27, 0x100", "-| MOV R27, 0x0", "address"),
        ("-| IADD3 R26, R7, RZ, RZ", "-| IADD3 R26, R7, 0x4, RZ", "address"),
        # one access at another place
        ("=> STS.32 [R25], R2", "=> STS.32 [R25+0x4], R2", "address"),
        ("=> STS.32 [R25], R2", "=> STS.32 [R1], R2", "address"),
        ("=> STS.32 [R25], R2", "=> STS.32 [R24], R2", "address"),
        ("=> STS.32 [R25], R2", "=> STS.32 [R25], R0", "instruction"),
        ("=> STS.32 [R25], R2", "=> STS.64 [R25], R2", "instruction"),
        ("=> STS.32 [R1+0x200], R2", "=> STS.32 [R1+0x100], R2", "address"),
        ("=> STS.32 [R1+0x200], R2", "=> STS.32 [R25+0x200], R2", "address"),
        # a copy of the address that is not one any more
        ("o| STS.32 [R1], R2", "IADD3 R1, R1, 0x4, RZ\\no| STS.32 [R1], R2", "address"),
        ("o| LDS.32 R8, [R7]", "LDG.32 R7, [R4]\\no| LDS.32 R8, [R7]", "address"),
        ("o| STS.32 [R1], R2", "-| @P6 MOV R25, R24\\no| STS.32 [R1], R2", "address"),
        # turns
        (f"-| NOP\n    {BARRIER}", "-| NOP\n", "race"),
        ("-| @P6 BAR.SYNC 0", "-| NOP", "race"),
        ("-| @P6 BAR.SYNC 0", "-| @!P6 BAR.SYNC 0", "race"),
        ("ISETP.EQ.AND P6, PT, R23, R20", "ISETP.LE.AND P6, PT, R23, R20", "order"),
        ("o| LDS.32 R8, [R7] => LDS.32 R8, [R26]", "", ""),
    ],
)  # fmt: skip
def test_one_change(before: str, after: str, kind: str) -> None:
    assert before in BOTH
    found = kinds(judged(BOTH.replace(before, after.replace("\\n", "\n"), 1)))
    assert kind in found if kind else not found


def test_a_region_that_ends_an_access_too_early_is_rejected() -> None:
    short = f"{PRIVATE}{turns(PUBLIC.replace(EITHER, ''))}{EITHER}\n    EXIT\n"
    assert kinds(judged(short)) == {"contents"}
    alone = EITHER.replace("0x1fc", "0xfc")  # private words need no turn
    assert judged(f"{PRIVATE}{turns(PUBLIC.replace(EITHER, alone))}{alone}\n    EXIT\n").ok


@pytest.mark.parametrize(("room", "ok"), [(768, True), (1024, True), (767, False), (512, False), (256, False)])
def test_copies_need_room(room: int, ok: bool) -> None:
    report = judged(BOTH, room)
    assert report.ok == ok
    assert ok or "address" in kinds(report)


@pytest.mark.parametrize(("guard", "other", "ok"), [
    ("@P1", "@P1", True), ("@P1", "@!P1", False), ("@P1", "@P2", False), ("@P1", "", False), ("", "@P1", True),
])  # fmt: skip
def test_addresses_may_be_computed_under_the_accesses_guard(guard: str, other: str, ok: bool) -> None:
    text = f"""-| IMAD R24, R20, 0x100, RZ
    -| {guard} IADD3 R25, R1, R24, RZ
    o| {other} STS.32 [R1], R2 => {other} STS.32 [R25], R2
    EXIT
    """
    assert kinds(judged(text)) == (set() if ok else {"address"})
    changed = text.replace("    o|", "ISETP.LT.AND P1, PT, R0, 0x10, PT\n    o|")
    assert judged(changed).ok == (ok and not guard)


def test_what_one_stores_for_all_is_at_one_place() -> None:
    staged = """
    MOV R8, c[0][0x8]
    -| ISETP.EQ.AND P6, PT, R20, RZ, PT
    o| STS.32 [0x1f0], R8 => @P6 STS.32 [0x2f0], R8
    BAR.SYNC 0
    o| LDS.32 R9, [0x1f0] => LDS.32 R9, [0x2f0]
    """
    alone = turns("STS.32 [R1], R2") + "\n    EXIT\n"
    assert judged(staged + alone).ok
    for wrong in ("@P6 STS.32 [0x2f4], R8", "@P6 STS.32 [0x1f0], R8", "@!P6 STS.32 [0x2f0], R8"):
        assert not judged(staged.replace("@P6 STS.32 [0x2f0], R8", wrong) + alone).ok
    copied = "-| IMAD R24, R20, 0x4, RZ\n" + staged.replace("=> LDS.32 R9, [0x2f0]", "=> LDS.32 R9, [R24+0x2f0]")
    assert "address" in kinds(judged(copied + alone))


CALLED = ".func f\n    IADD3 R9, R9, 0x3, RZ\n    ISETP.LT.AND P1, PT, R9, 0x20, PT\n    RET\n.end"


@pytest.mark.parametrize("guard", ["", "@P6 "])
def test_inserted_words_may_use_predicates_in_front_of_a_call_that_reads_none(guard: str) -> None:
    text = BOTH.replace("o| LDS.32 R8", "CALL f\no| LDS.32 R8")
    report = judge(text, room=768, called=CALLED.replace("IADD3", f"{guard}IADD3"))
    assert kinds(report) == ({"inserted"} if guard else set())


def test_an_address_does_not_outlive_a_call_that_changes_it() -> None:
    text = BOTH.replace("o| LDS.32 R8", "CALL f\no| LDS.32 R8")
    assert judge(text, room=768, called=CALLED).ok
    assert "address" in kinds(judge(text, room=768, called=CALLED.replace("R9", "R7")))


def test_shared_variables_are_recorded_where_the_code_has_them() -> None:
    original, made = both(BOTH, room=768)
    before = [SharedVar("private", 0, 256, 4), SharedVar("public", 256, 256, 4), SharedVar("unused", 512, 0, 4)]
    original.functions[0].shared = before
    private, public, unused = before
    for shared, ok in (
        ([private, replace(public, offset=512)], True),
        ([private, replace(public, offset=512), replace(unused, offset=768)], True),
        ([], True),
        ([replace(private, offset=256), replace(public, offset=512)], False),
        ([private, public], False),
        ([replace(private, size=512), replace(public, offset=512)], False),
        ([replace(private, name="other")], False),
    ):
        made.functions[0].shared = shared
        report = check_merged(original, made, "k", (64, 1, 1), 2, 0)
        assert kinds(report) == (set() if ok else {"resources"}), shared
