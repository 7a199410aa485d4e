"""Small kernels of which two arrays lie over one another, each with the one thing that decides whether they may."""

from __future__ import annotations

import pytest

from binalloc.verify.report import CheckReport
from binalloc.verify.sharing.overlay.check import check_overlay
from tests.support.pairs.sharing.lines import BLOCK, HEAD, kinds, pair

OVER = HEAD.replace(".shared_bytes 512", """
    o| .shared a, 256, 4, 0 => .shared a, 256, 4, 0
    o| .shared b, 256, 4, 256 => .shared b, 256, 4, 0
    o| .shared_bytes 512 => .shared_bytes 256
""")  # fmt: skip
"""The second of two arrays with a word a thread lies over the first one."""
OTHER = "LOP3 R2, R1, 0x4, RZ, 0x3c\n"  # the word of the thread beside
FIRST = OTHER + """
    STS.32 [R1], R0
    BAR.SYNC 0
    LDS.32 R3, [R2]
"""
"""The first array is written, and read by other threads."""
SECOND = """
    o| STS.32 [R1+0x100], R0 => STS.32 [R1], R0
    BAR.SYNC 0
    o| LDS.32 R4, [R2+0x100] => LDS.32 R4, [R2]
"""
BARRIER = "BAR.SYNC 0\n"
END = "IADD3 R3, R3, R4, RZ\nSTG.32 [R8], R3\nEXIT\n"
WHOLE = FIRST + BARRIER + SECOND + END


def judged(body: str, head: str = OVER, dynamic: int = 0, block: tuple[int, int, int] = BLOCK) -> CheckReport:
    """What the checker says of a pair behind `head`."""
    return check_overlay(*pair(head + body), "k", block, dynamic)


def changed(text: str, *changes: tuple[str, str]) -> str:
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


def test_arrays_with_a_barrier_between_them_may_lie_over_one_another() -> None:
    report = judged(WHOLE)
    assert report.ok, str(report)
    assert (report.stats["accesses"], report.stats["moved"]) == (4, 2)


def test_without_the_barrier_they_may_not() -> None:
    assert kinds(judged(FIRST + SECOND + END)) == {"overlap"}
    assert "`LDS.32 R3, [R2]`; expected byte 0x0 for k+9 alone" in str(judged(FIRST + SECOND + END))


@pytest.mark.parametrize(
    ("barrier", "found"),
    [
        ("BAR.SYNC 0", set()),
        ("BAR.SYNC 3", set()),  # all barriers of all threads order accesses
        ("BAR.SYNC 1, 0x40", set()),  # 64 threads are the whole block
        ("BAR.SYNC 1, 0x20", {"not proven"}),
        ("BAR.ARV 1, 0x40", {"not proven"}),
        ("@P0 BAR.SYNC 0", {"not proven"}),
        ("WARPSYNC 0xffffffff", {"overlap"}),
        ("MEMBAR.CTA", {"overlap"}),
        ("BAR.RED.POPC R5, 0, P0", set()),
    ],
)
def test_what_orders_accesses(barrier: str, found: set[str]) -> None:
    assert kinds(judged(FIRST + barrier + "\n" + SECOND + END)) == found


def test_what_is_read_later_may_not_be_overwritten() -> None:
    """The second array is written between a write and a read of the first one, each behind a barrier of its own."""
    late = OTHER + "STS.32 [R1], R0\n" + BARRIER + SECOND + BARRIER + "LDS.32 R3, [R2]\n" + END
    assert kinds(judged(late)) == {"contents"}
    again = late.replace("LDS.32 R3, [R2]", "STS.32 [R1], R3\n" + BARRIER + "LDS.32 R3, [R2]")
    assert judged(again).ok, str(judged(again))
    some = again.replace("STS.32 [R1], R3", "@P0 STS.32 [R1], R3")  # not all words are written again
    assert kinds(judged(some)) == {"contents"}


ROUNDS = """
    MOV R6, 0x0
again:
""" + FIRST + BARRIER + SECOND + """
    IADD3 R6, R6, 0x1, RZ
    ISETP.LT.AND P1, PT, R6, {0}, PT
    {1}@P1 BRA again, after
after:
""" + END  # fmt: skip


@pytest.mark.parametrize("rounds", ["0x3", "c[0][0x0]"])
def test_arrays_in_a_loop_need_a_barrier_at_its_end(rounds: str) -> None:
    assert judged(ROUNDS.format(rounds, BARRIER)).ok
    assert kinds(judged(ROUNDS.format(rounds, ""))) == {"overlap"}


def test_what_a_loop_keeps_from_round_to_round_may_not_be_overwritten() -> None:
    kept = ROUNDS.replace("MOV R6, 0x0\n", "MOV R6, 0x0\nSTS.32 [R1], R6\n" + BARRIER)
    kept = changed(kept, ("STS.32 [R1], R0\n    BAR.SYNC 0\n    LDS.32 R3", "LDS.32 R3"))
    assert kinds(judged(kept.format("0x3", BARRIER))) == {"contents"}


@pytest.mark.parametrize(
    ("decides", "found"), [("c[0][0x4]", set()), ("R0", {"together"}), ("R3", {"together"})]
)  # fmt: skip
def test_all_threads_have_to_come_to_the_barrier(decides: str, found: set[str]) -> None:
    """A barrier on one of two ways: parameters decide for all threads, others do not."""
    ways = f"""
        ISETP.LT.AND P2, PT, RZ, {decides}, PT
        @P2 BRA beside, meet
        BAR.SYNC 0
        BRA meet
    beside:
        BAR.SYNC 0
    meet:
    """
    assert kinds(judged(FIRST + ways + SECOND + END)) == found


def test_threads_may_end_before_but_what_they_write_counts() -> None:
    assert judged(FIRST + "@P0 EXIT\n" + BARRIER + SECOND + END).ok
    last = """
        ISETP.LT.AND P2, PT, R0, 0x20, PT
        @!P2 BRA on, on
        o| STS.32 [R1+0x100], R0 => STS.32 [R1], R0
        EXIT
    on:
    """
    begin, end = OTHER + "STS.32 [R1], R0\n" + BARRIER + last, "LDS.32 R3, [R2-0x80]\n" + END
    assert kinds(judged(begin + end)) == {"overlap"}
    meanwhile = begin + "LDS.32 R3, [R2-0x80]\n" + BARRIER + END
    assert kinds(judged(meanwhile)) == {"overlap"}
    assert kinds(judged(begin + BARRIER + end)) == {"contents"}
    own = end.replace("[R2-0x80]", "[R2]")  # words that those who ended had nothing to do with
    assert judged(begin + own).ok
    assert judged(begin + BARRIER + own).ok


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("=> LDS.32 R4, [R2]", "=> LDS.32 R4, [R2+0x100]", "bounds"),  # left unmoved
        ("=> LDS.32 R4, [R2]", "=> LDS.32 R4, [R2+0x4]", "bounds"),
        ("=> LDS.32 R4, [R2]", "=> LDS.32 R4, [R2-0x2]", "alignment"),
        ("=> LDS.32 R4, [R2]", "=> LDS.32 R4, [R1]", "instruction"),
        ("=> LDS.32 R4, [R2]", "=> STS.32 [R2], R4", "instruction"),
        ("STG.32 [R8], R3", "STG.32 [R8], R3\n-| RELSSP", "instruction"),
    ],
)
def test_one_access_is_wrong(before: str, after: str, kind: str) -> None:
    assert kind in kinds(judged(changed(WHOLE, (before, after))))


def test_accesses_of_one_array_have_one_distance() -> None:
    wide = OVER.replace("=> .shared_bytes 256", "=> .shared_bytes 384").replace("b, 256, 4, 0\n", "b, 256, 4, 128\n")
    here = changed(SECOND, ("=> STS.32 [R1]", "=> STS.32 [R1+0x80]"), ("=> LDS.32 R4, [R2]", "=> LDS.32 R4, [R2+0x80]"))
    assert judged(FIRST + BARRIER + here + END, head=wide).ok
    one = changed(here, ("=> LDS.32 R4, [R2+0x80]", "=> LDS.32 R4, [R2]"))
    assert kinds(judged(FIRST + BARRIER + one + END, head=wide)) == {"distance"}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("=> .shared b, 256, 4, 0", "=> .shared b, 256, 4, 128", "variables"),
        ("=> .shared b, 256, 4, 0", "=> .shared b, 128, 4, 0", "variables"),
        ("=> .shared_bytes 256", "=> .shared_bytes 1024", "resources"),
    ],
)
def test_records_and_tables_say_the_same(before: str, after: str, kind: str) -> None:
    small = OVER.replace("=> .shared_bytes 256", "=> .shared_bytes 512") if "128" in after else OVER
    assert kinds(judged(WHOLE, head=changed(small, (before, after)))) == {kind}


def test_the_new_block_has_the_bytes() -> None:
    head = OVER.replace("=> .shared_bytes 256", "=> .shared_bytes 512").replace(
        "o| .shared a, 256, 4, 0 => .shared a, 256, 4, 0\n", ""
    ).replace("o| .shared b, 256, 4, 256 => .shared b, 256, 4, 0\n", "")  # fmt: skip
    assert judged(WHOLE, head=head).ok
    assert kinds(judged(WHOLE, head=head.replace("=> .shared_bytes 512", "=> .shared_bytes 252"))) == {"bounds"}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("S2R R5, SR_TOTAL_SMEM", {"not proven"}),
        ("S2R R5, SR_DYNAMIC_SMEM", set()),
        ("LD.32 R5, [R8]", {"not proven"}),
    ],
)
def test_code_that_asks_for_the_size_or_is_generic_is_refused(word: str, found: set[str]) -> None:
    assert kinds(judged(changed(WHOLE, ("STG.32 [R8], R3", f"{word}\nSTG.32 [R8], R3")))) == found


def test_dynamic_memory_follows_the_end_of_the_static_one() -> None:
    body = changed(WHOLE, ("STG.32 [R8], R3", """
        o| STS.32 [R1+0x200], R3 => STS.32 [R1+0x100], R3
        BAR.SYNC 0
        o| LDS.32 R3, [R2+0x200] => LDS.32 R3, [R2+0x100]
        STG.32 [R8], R3
    """))  # fmt: skip
    assert judged(body, dynamic=256).ok
    assert kinds(judged(changed(body, ("=> LDS.32 R3, [R2+0x100]", "=> LDS.32 R3, [R2+0x200]")), dynamic=256)) == {
        "bounds"
    }
    assert kinds(judged(body, dynamic=128)) == {"bounds"}


CALLED = """
    MOV R3, 0x0
    MOV R4, 0x0
    {0}CALL waits
    @P0 STS.32 [R1], R0
    @P0 LDS.32 R3, [R1]
    BAR.SYNC 0
    o| @!P0 STS.32 [R1+0x100], R0 => @!P0 STS.32 [R1], R0
    o| @!P0 LDS.32 R4, [R1+0x100] => @!P0 LDS.32 R4, [R1]
    BAR.SYNC 0
""" + END + """
    .end
    .func waits
    BAR.SYNC 0
    RET
"""  # fmt: skip


@pytest.mark.parametrize(("guard", "found"), [("", set()), ("@P0 ", {"together"})])
def test_barriers_of_a_function_that_touches_nothing_count(guard: str, found: set[str]) -> None:
    """Where one warp alone calls it, the other one is a barrier ahead from there on."""
    assert kinds(judged(CALLED.format(guard))) == found


def test_a_barrier_of_a_called_function_is_one_between_two_arrays() -> None:
    """It touches no shared memory itself."""
    called = FIRST + "CALL waits\n" + SECOND + END + ".end\n.func waits\nBAR.SYNC 0\nRET\n"
    assert judged(called).ok, str(judged(called))
