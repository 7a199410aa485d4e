"""Small kernels whose variables have moved, each with the one thing that decides whether the proof may hold."""

from __future__ import annotations

import pytest

from binalloc.verify.sharing.check import check_shared
from tests.support.pairs.sharing.lines import BLOCK, HEAD, PRIVATE, judge, kinds, pair

SWAP = """
    o| STS.32 [R1], R0 => STS.32 [R1+0x100], R0
    o| STS.32 [R1+0x100], R8 => STS.32 [R1], R8
    BAR.SYNC 0
    o| LDS.32 R3, [R1] => LDS.32 R3, [R1+0x100]
    -| RELSSP
    o| LDS.32 R4, [R1+0x100] => LDS.32 R4, [R1]
    STG.32 [R8], R3
    EXIT
"""
"""Two arrays of a word a thread change places, and the first is released before the second is read."""
NAMED = HEAD.replace(".shared_bytes 512", """
    o| .shared a, 256, 4, 0 => .shared a, 256, 4, 256
    o| .shared b, 256, 4, 256 => .shared b, 256, 4, 0
    .shared_bytes 512
""")  # fmt: skip


def changed(text: str, *changes: tuple[str, str]) -> str:
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("head", [HEAD, NAMED], ids=["bytes", "variables"])
def test_two_arrays_may_change_places(head: str) -> None:
    report = judge(SWAP, head=head)
    assert report.ok, str(report)
    assert not report.notes
    figures = {"accesses": 4, "private": 2, "placed": 4, "unknown": 0, "moved": 4}
    assert {name: report.stats[name] for name in figures} == figures


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("=> LDS.32 R3, [R1+0x100]", "=> LDS.32 R3, [R1]", "distance"),  # left unmoved
        ("=> LDS.32 R3, [R1+0x100]", "=> LDS.32 R3, [R1+0x40]", "distance"),
        ("=> LDS.32 R4, [R1]", "=> LDS.32 R4, [R1+0x200]", "bounds"),  # moved by the other array's distance
        ("=> LDS.32 R4, [R1]", "=> LDS.32 R4, [R1+0x100]", "distance"),
        ("=> LDS.32 R4, [R1]", "=> LDS.32 R4, [R1-0x4]", "bounds"),
        ("=> LDS.32 R4, [R1]", "=> LDS.32 R4, [R0]", "instruction"),
        ("=> LDS.32 R4, [R1]", "=> LDS.64 R4, [R1]", "instruction"),
        ("=> LDS.32 R4, [R1]", "=> LDS.32 R5, [R1]", "instruction"),
        ("=> LDS.32 R4, [R1]", "=> @P0 LDS.32 R4, [R1]", "instruction"),
        ("=> LDS.32 R4, [R1]", "=> STS.32 [R1], R4", "instruction"),
        ("STG.32 [R8], R3", "o| STG.32 [R8], R3 => STG.32 [R8+0x4], R3", "instruction"),
        ("STG.32 [R8], R3", "o| STG.32 [R8], R3", "instruction"),
        ("STG.32 [R8], R3", "STG.32 [R8], R3\n-| NOP", "instruction"),
        ("STG.32 [R8], R3", "STG.32 [R8], R3\n-| STG.32 [R8], R3", "instruction"),
    ],
)
def test_one_access_is_wrong(before: str, after: str, kind: str) -> None:
    assert kind in kinds(judge(changed(SWAP, (before, after))))


def all_of_a(to: str) -> str:
    """The exchange with the first array elsewhere, in all its accesses."""
    return changed(SWAP, ("=> STS.32 [R1+0x100], R0", f"=> STS.32 {to}, R0"),
                   ("=> LDS.32 R3, [R1+0x100]", f"=> LDS.32 R3, {to}"))  # fmt: skip


@pytest.mark.parametrize(
    ("to", "found"),
    [
        ("[R1+0x100]", set()),
        ("[R1]", {"overlap"}),
        ("[R1+0x80]", {"overlap"}),
        ("[R1+0xfc]", {"overlap"}),
        ("[R1+0x104]", {"bounds"}),
        ("[R1+0x102]", {"alignment", "bounds"}),
        ("[R1+0xfe]", {"alignment"}),
    ],
)
def test_all_accesses_of_an_array_go_to(to: str, found: set[str]) -> None:
    assert kinds(judge(changed(all_of_a(to), ("-| RELSSP", "")))) == found


def test_distances_are_multiples_of_each_access_size() -> None:
    wide = """
        SHF.L.U32 R2, R0, 0x3, RZ
        o| STS.64 [R2], R8 => STS.64 [R2+0x{0}], R8
        EXIT
    """
    head = HEAD.replace("512", "640")
    for distance, found in (("8", set()), ("4", {"alignment"}), ("80", set()), ("88", {"bounds"})):
        assert kinds(judge(wide.format(distance), head=head)) == found


def test_dynamic_memory_is_behind_the_static_and_counts_as_far_as_it_is_known() -> None:
    text = """
        o| STS.32 [R1+0x100], R0 => STS.32 [R1+0x180], R0
        EXIT
    """
    assert kinds(judge(text)) == {"bounds"}
    assert kinds(judge(text, dynamic=128)) == set()
    assert kinds(judge(text, dynamic=None)) == {"bounds"}


def test_an_access_that_may_leave_the_memory_is_not_moved() -> None:
    assert kinds(judge("o| STS.32 [R1+0x180], R0 => STS.32 [R1+0x80], R0\nEXIT")) == {"bounds"}
    assert judge("STS.32 [R1+0x180], R0\nEXIT").ok


UNKNOWN = """
    LDG.32 R2, [R8]
    o| STS.32 [R2], R0 => STS.32 [R2+0x{0}], R0
    o| LDS.32 R3, [R1] => LDS.32 R3, [R1+0x{1}]
    EXIT
"""


@pytest.mark.parametrize(
    ("one", "other", "found"), [("0", "0", set()), ("0", "100", {"distance"}), ("100", "0", {"bounds"})]
)
def test_an_unknown_address_may_be_anywhere(one: str, other: str, found: set[str]) -> None:
    report = judge(UNKNOWN.format(one, other))
    assert kinds(report) == found
    assert (report.stats["unknown"], report.stats["placed"], report.stats["private"]) == (1, 1, int(other == "0"))


def test_an_address_that_is_bounded_by_a_comparison_is_known() -> None:
    text = """
        LDG.32 R2, [R8]
        ISETP.LT.U32.AND P1, PT, R2, 0x40, PT
        @!P1 EXIT
        SHF.L.U32 R2, R2, 0x2, RZ
        o| STS.32 [R2], R0 => STS.32 [R2+0x100], R0
        o| LDS.32 R3, [R1+0x100] => LDS.32 R3, [R1]
        EXIT
    """
    assert judge(text).ok
    assert kinds(judge(text.replace("0x40", "0x41"))) == {"bounds"}


@pytest.mark.parametrize("distance", ["0", "100"])
def test_a_generic_access_may_reach_everything_and_is_not_moved(distance: str) -> None:
    text = f"""
        LD.32 R3, [R8]
        o| STS.32 [R1], R0 => STS.32 [R1+0x{distance}], R0
        EXIT
    """
    assert kinds(judge(text)) == ({"distance"} if distance != "0" else set())
    assert kinds(judge("o| LD.32 R3, [R8] => LD.32 R3, [R8+0x4]\nEXIT")) == {"instruction"}


@pytest.mark.parametrize(
    ("register", "last"), [("SR_LANEID", 31), ("SR_WARPID", 31), ("SR_TID.Y", 1023), ("SR_NTID.X", 1024)]
)
def test_special_registers_of_any_block(register: str, last: int) -> None:
    text = f"S2R R2, {register}\nSHF.L.U32 R2, R2, 0x2, RZ\no| STS.32 [R2], R0 => STS.32 [R2+0x4], R0\nEXIT"
    for words, found in ((last + 2, set()), (last + 1, {"bounds"})):
        assert kinds(judge(text, block=None, head=HEAD.replace("512", str(4 * words)))) == found


def test_without_a_block_size_addresses_are_those_of_any_block() -> None:
    text = """
        LOP3 R2, R1, 0xfc, RZ, 0xc0
        o| STS.32 [R{0}], R0 => STS.32 [R{0}+0x100], R0
        EXIT
    """
    assert judge(text.format(1)).ok
    assert kinds(judge(text.format(1), block=None)) == {"bounds"}
    assert judge(text.format(2), block=None).ok
    assert judge(text.format(1), block=None, head=HEAD.replace(".shared_bytes", ".max_threads 64\n.shared_bytes")).ok
    assert judge(text.format(1), block=None, head=HEAD.replace(".shared_bytes", ".block 64\n.shared_bytes")).ok


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("=> .shared a, 256, 4, 256", "=> .shared a, 128, 4, 256"),
        (" => .shared a, 256, 4, 256", ""),
        ("=> .shared a, 256, 4, 256", "=> .shared c, 256, 4, 256"),
    ],
)
def test_other_variables(before: str, after: str) -> None:
    assert kinds(judge(SWAP, head=changed(NAMED, (before, after)))) == {"variables"}


def test_variables_are_where_accesses_say() -> None:
    stays = NAMED.replace("o| .shared a, 256, 4, 0 => .shared a, 256, 4, 256", ".shared a, 256, 4, 0")
    stays = stays.replace("o| .shared b, 256, 4, 256 => .shared b, 256, 4, 0", ".shared b, 256, 4, 256")
    report = judge(SWAP, head=stays)
    assert kinds(report) == {"variables"}
    assert "has a moved by 0, accesses by 256" in str(report)
    assert kinds(judge("STS.32 [R1], R0\nEXIT", head=NAMED)) == {"variables"}
    assert judge("o| STS.32 [R1], R0 => STS.32 [R1+0x100], R0\nEXIT", head=NAMED).ok


@pytest.mark.parametrize(("at", "ok"), [(16, True), (496, True), (0, False), (8, False), (500, False), (-16, False)])
def test_a_variable_that_nothing_touches_may_be_anywhere_but_in_another_one(at: int, ok: bool) -> None:
    table = ".shared a, 16, 4, 0\n.shared b, 16, 4, 256\n.shared_bytes"
    original, made = pair(HEAD.replace(".shared_bytes", table) + "EXIT")
    made.function("k").shared[1].offset = at  # the assembler would refuse some of these
    assert check_shared(original, made, "k", BLOCK, PRIVATE).ok is ok
