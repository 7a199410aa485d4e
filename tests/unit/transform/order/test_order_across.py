"""Which pure instructions go to other blocks, and which have to stay."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.isa.sets.table import view
from binalloc.transform.order.across import across_blocks
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.unwritten import unwritten
from binalloc.transform.virtual.virtualise import virtualise
from binalloc.verify.checker import check
from tests.support.programs.builder import program

ONE = "LDG R1, [R20]\nLDG R2, [R20+4]\n"
USED = "STG [R20+8], R1\nSTG [R20+12], R2\n"


def code(body: str) -> Analysed:
    text = f".kernel k registers=60\n        MOV R20, c[0][p]\n        MOV R21, c[0][p+4]\n{body}\n        EXIT\n"
    analysis = analyse(program(text), "k")
    found = analysed(virtualise(analysis, "k", {}, unwritten(analysis)["k"]))
    assert check(program(text), rewrite(program(text), "k", 12, 0), "k").ok
    return found


def places(given: Analysed) -> list[tuple[int, int]]:
    """(block, original instruction), of pure ones, in order."""
    return [
        (b, item.origin)
        for b, block in enumerate(given.code.blocks)
        for item in block.items
        if item.instr is not None and view(item.instr).pure
    ]


def moved(body: str, registers: int = 3) -> dict[int, tuple[int, int]]:
    """Original instruction -> (block it stood in, block it stands in), of those that move."""
    given = code(body)
    before, after = ({k: b for b, k in places(x)} for x in (given, across_blocks(given, registers)))
    assert before.keys() == after.keys()
    return {k: (before[k], after[k]) for k in before if before[k] != after[k]}


def lives(given: Analysed) -> int:
    """Values live, over all points."""
    return int(given.live.pressure(given.flat.points).sum())


BRANCH = "ISETP.EQ P0, PT, R1, 0, PT\n@P0 BRA there, there\nSTG [R20+16], R2\nthere:\n"


def test_what_is_used_behind_sinks_where_what_it_reads_lives_anyhow() -> None:
    body = ONE + "IADD3 R3, R1, R2, RZ\n" + BRANCH + USED + "STG [R20+20], R3"
    (k, (old, new)), = moved(body).items()
    assert k == 4
    assert new > old
    assert lives(across_blocks(code(body), 3)) < lives(code(body))


def test_nothing_moves_where_registers_suffice() -> None:
    body = ONE + "IADD3 R3, R1, R2, RZ\n" + BRANCH + USED + "STG [R20+20], R3"
    assert moved(body, 8) == {}


def test_a_chain_sinks_together() -> None:
    chain = "IADD3 R3, R1, R2, RZ\nIADD3 R4, R3, R1, RZ\n"
    assert set(moved(ONE + chain + BRANCH + USED + "STG [R20+20], R4")) == {4, 5}


def test_what_it_reads_is_not_kept_alive_for_it() -> None:
    body = ONE + "IADD3 R3, R1, R2, RZ\n" + BRANCH + "STG [R20+20], R3"
    assert 4 not in moved(body)


LOOP = "MOV R5, 0\nagain:\nIADD3 R5, R5, 1, RZ\nSTG [R20+16], R2\nISETP.LT P0, PT, R5, R1, PT\n"
LOOP += "@P0 BRA again, done\ndone:\n"


def test_nothing_sinks_into_a_loop() -> None:
    loop = LOOP.replace("STG [R20+16], R2", "STG [R20+16], R3")
    assert 4 not in moved(ONE + "IADD3 R3, R1, R2, RZ\n" + loop + USED)


def test_nothing_that_a_loop_changes_sinks_out_of_it_with_another_value() -> None:
    loop = LOOP.replace("STG [R20+16], R2", "IADD3 R3, R5, R2, RZ")
    assert moved(ONE + loop + USED + "STG [R20+20], R3\nSTG [R20+24], R5") == {}  # R5 has two definitions


def test_what_every_round_computes_again_sinks_out_of_the_loop() -> None:
    loop = LOOP.replace("STG [R20+16], R2", "LDG R6, [R20+16]\nIADD3 R3, R6, R2, RZ\nSTG [R20+24], R6")
    found = moved(ONE + loop + USED + "STG [R20+24], R6\nSTG [R20+20], R3", 4)
    assert list(found) == [7]


@pytest.mark.parametrize(
    "line",
    [
        "LDG R3, [R20+4]",  # memory may change
        "SHFL.IDX PT, R3, R1, 0, 31",  # other lanes take part
        "LDSM.16.M88 R3, [R1]",
        "@P1 IADD3 R3, R1, R2, RZ",  # what it leaves standing is another definition
        "MOV R3, R1\nIADD3 R3, R3, R2, RZ\nIADD3 R1, R1, 1, RZ",  # what it read changes
    ],
)
def test_what_may_not_be_executed_elsewhere_stays(line: str) -> None:
    head = "ISETP.EQ P1, PT, R2, 0, PT\nMOV R3, 0\n" if "@P1" in line else ""
    assert not moved(ONE + head + line + "\n" + BRANCH + USED + "STG [R20+20], R3")


def test_what_ends_more_lives_than_it_begins_is_hoisted() -> None:
    body = ONE + LOOP.replace("R2", "R20").replace("R1,", "R21,") + "IADD3 R3, R1, R2, RZ\nSTG [R20+20], R3"
    found = moved(body, 4)
    assert len(found) == 1
    (old, new), = found.values()
    assert new < old


def test_what_is_hoisted_from_the_head_of_a_loop_is_proven() -> None:
    """The words before it fall through into the loop, and are all pure: the checker must not take the one in front of
    the loop for the first round's."""
    loop = LOOP.replace("STG [R20+16], R2", "IADD3 R3, R1, R2, RZ\nSTG [R20+16], R3").replace("R1, PT", "R21, PT")
    body = ONE + loop + "STG [R20+20], R3"
    assert list(moved(body, 5).values()) == [(2, 1)]
    text = f".kernel k registers=60\n        MOV R20, c[0][p]\n        MOV R21, c[0][p+4]\n{body}\n        EXIT\n"
    assert check(program(text), rewrite(program(text), "k", 5, 0), "k").ok


def test_what_is_hoisted_stands_behind_all_that_it_reads() -> None:
    loop = LOOP.replace("R2", "R20").replace("R1,", "R21,")
    branch = "ISETP.EQ P0, PT, R21, 0, PT\n@P0 BRA there, there\nSTG [R20+16], R21\nthere:\n"
    body = "LDG R1, [R20]\n" + branch + "LDG R2, [R20+4]\n" + loop + "IADD3 R3, R1, R2, RZ\nSTG [R20+20], R3"
    assert list(moved(body, 4).values()) == [(5, 3)]


def test_nothing_is_hoisted_into_a_loop() -> None:
    loop = LOOP.replace("STG [R20+16], R2", "LDG R6, [R20+16]\nLDG R7, [R20+20]")
    assert not moved(ONE + loop + USED + "IADD3 R3, R6, R7, RZ\nSTG [R20+20], R3", 4)


def test_what_is_only_computed_under_a_guard_stays() -> None:
    guarded = "ISETP.EQ P1, PT, R2, 0, PT\n@P1 IADD3 R3, R1, R2, RZ\n"
    assert not moved(ONE + guarded + BRANCH + USED + "@P1 STG [R20+20], R3")


def test_what_nobody_wrote_is_read_once() -> None:
    body = ONE + "IADD3 R3, R9, R2, RZ\n" + BRANCH + USED + "STG [R20+20], R3\nSTG [R20+24], R9"
    assert not moved(body)


def test_what_may_be_read_unwritten_stays() -> None:
    body = ONE + "ISETP.EQ P0, PT, R1, 0, PT\n@P0 MOV R9, 1\nIADD3 R3, R9, R2, RZ\n" + BRANCH + USED
    assert not moved(body + "STG [R20+20], R3\nSTG [R20+24], R9")
