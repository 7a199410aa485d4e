"""Small kernels, each with the one thing that decides whether the proof may hold."""

from __future__ import annotations

import re

import pytest

from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from binalloc.verify.report import CheckReport
from tests.support.pairs.multiplex.lines import both_kernels, kinds
from tests.support.programs.builder import program

BLOCK = (64, 1, 1)
ALL = Division(0, 0, 512, 512)
"""All of the memory is public, at the base; words 0 to 63 are the threads' own, the others a table for all."""
OWN = """
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    S2R R2, SR_CTAID.X
    ISETP.LT.AND P1, PT, R0, 0x20, PT
    ISETP.LT.AND P2, PT, R2, 0x4, PT
    MOV R4, c[0][0x0]
    MOV R5, c[0][0x4]
"""
ALLOC, FREE, AT = "-| BAR.ALLOC R20, 0x200", "-| BAR.FREE R20", "-| IADD3 R21, R1, R20, RZ"


def judge(new: str, division: Division = ALL, block: tuple[int, int, int] = BLOCK, **size: int) -> CheckReport:
    """Judge the kernel `new`, behind `OWN`; both are lines of `both_kernels`."""
    old_lines, new_lines = both_kernels(OWN + new)
    shared = size.get("shared", 512)
    private = size.get("private", shared - division.moved)
    texts = [
        "\n".join([".kernel k", ".param p, 16", f".shared_bytes {n}", *lines, ""])
        for n, lines in ((shared, old_lines), (private, new_lines))
    ]
    original, made = program(texts[0]), program(texts[1])
    made.functions[0].info.registers = original.functions[0].info.registers = 32
    return check_public(original, made, "k", block, division, size.get("dynamic"))


EXCHANGE = f"""
    {ALLOC}
    {AT}
    o| STS.32 [R1], R0 => STS.32 [R21], R0
    BAR.SYNC 0
    IADD3 R3, -R1, 0xfc, RZ
    -| IADD3 R22, R3, R20, RZ
    o| LDS.32 R6, [R3] => LDS.32 R6, [R22]
    {FREE}
    EXIT
"""


def test_an_exchange_of_words_is_proven() -> None:
    report = judge(EXCHANGE)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("BAR.ALLOC R20, 0x200", "BAR.ALLOC R0, 0x200", "inserted"),
        (FREE, "-| STS.32 [R20], R0\n" + FREE, "inserted"),
        (FREE, "-| LDC.32 R23, c[0][R0+0x0]\n" + FREE, "inserted"),
        (FREE, "-| @P1 BAR.FREE R20", "together"),
        (FREE, "-| ISETP.LT.AND P1, PT, R0, 0x3, PT\n" + FREE, ""),
        ("IADD3 R22, R3, R20, RZ", "IADD3 R22, R3, R20, R20", "address"),
        ("IADD3 R22, R3, R20, RZ", "@P1 IADD3 R22, R3, R20, RZ", "address"),
        ("BAR.SYNC 0", "o| BAR.SYNC 0", "barrier"),
        ("BAR.SYNC 0", f"{FREE}\n{ALLOC}\no| BAR.SYNC 0", "contents"),
        (ALLOC, f"{ALLOC}\n{ALLOC}", "held"),
        (FREE, f"{FREE}\n{FREE}", "held"),
        (FREE, "", ""),
        ("0x200", "0x1fc", "size"),
        ("-| BAR.ALLOC R20, 0x200", "-| BAR.ALLOC R20, R0", "size"),
        ("LDS.32 R6, [R22]", "LDS.64 R6, [R22]", "instruction"),
    ],
)
def test_one_change_of_the_exchange(before: str, after: str, kind: str) -> None:
    assert before in EXCHANGE
    assert kinds(judge(EXCHANGE.replace(before, after))) >= ({kind} if kind else set())
    assert bool(kinds(judge(EXCHANGE.replace(before, after)))) == bool(kind)


def test_words_behind_a_jump_to_the_next_word_are_walked() -> None:
    jump = EXCHANGE.replace("BAR.SYNC 0", "BAR.SYNC 0\nBRA N\nN:")
    assert judge(jump).ok
    assert kinds(judge(jump.replace("LDS.32 R6, [R22]", "LDS.32 R6, [R22+0x4]"))) == {"address"}


def test_a_predicate_that_is_needed_may_not_be_overwritten() -> None:
    wrong = EXCHANGE.replace("EXIT", "@P1 EXIT\nEXIT").replace(FREE, "-| ISETP.LT.AND P1, PT, R0, 0x3, PT\n" + FREE)
    assert kinds(judge(wrong)) == {"inserted"}


# -- together

BRANCH = f"""
    STS.32 [R1+0x100], R0
    BAR.SYNC 0
    LDS.32 R7, [0x180]
    ISETP.EQ.AND P3, PT, R7, 0x5, PT
    @P3 BRA L, L
    {ALLOC}
    {AT}
    o| STS.32 [R1], R0 => STS.32 [R21], R0
    {FREE}
    L:
    EXIT
"""
TABLE = Division(0, 0, 256, 256)
"""The threads' own words are public, the table is private."""


def table(text: str) -> CheckReport:
    """Judge a kernel with a table, in the addresses of which nothing is to be changed by hand."""
    moved = re.sub(r"^( *)((?:STS|LDS)\.32[^\n]*?)(0x1[0-9a-f]{2})\]([^\n]*)$", _private, text, flags=re.M)
    return judge(moved.replace("0x200", "0x100"), TABLE)


def _private(m: re.Match[str]) -> str:
    address = int(m[3], 16)
    return f"{m[1]}o| {m[2]}{m[3]}]{m[4]} => {m[2]}{address - 256:#x}]{m[4]}"


def test_all_threads_go_one_way_where_they_read_one_word_that_nobody_writes_at_the_time() -> None:
    report = table(BRANCH)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    BAR.SYNC 0\n", ""),  # some threads may read before another one writes
        ("LDS.32 R7, [0x180]", "LDS.32 R7, [R1+0x100]"),
        ("LDS.32 R7, [0x180]", "LDG.32 R7, [R4]"),
        ("LDS.32 R7, [0x180]", "@P1 LDS.32 R7, [0x180]"),
        ("LDS.32 R7, [0x180]", "ATOMS.ADD R7, [0x180], R0"),
        ("    @P3 BRA L, L", "    STS.32 [0x180], R0\n    @P3 BRA L, L"),
        ("LDS.32 R7, [0x180]", "VOTE.ANY R7, P4, P1"),
        ("LDS.32 R7, [0x180]", "S2R R7, SR_LANEID"),
        ("LDS.32 R7, [0x180]", "S2R R7, SR_CLOCKLO"),
    ],
)
def test_threads_that_may_go_two_ways_come_to_no_barrier(before: str, after: str) -> None:
    assert before in BRANCH
    assert "together" in kinds(table(BRANCH.replace(before, after)) if "ATOMS" not in after
                               else judge(BRANCH.replace(before, after), Division(0, 0, 0, 0)))  # fmt: skip


PARTED = f"""
    ISETP.LT.AND P3, PT, R0, 0x5, PT
    @P3 BRA L, M
    MOV R7, 0x1
    L:
    MOV R8, 0x1
    {ALLOC}
    {FREE}
    M:
    EXIT
"""


def test_lanes_meet_at_their_reconvergence_point_before_a_barrier() -> None:
    assert judge(PARTED.replace("L, M", "L, L")).ok
    assert kinds(judge(PARTED)) == {"together"}
    assert judge(PARTED.replace("0x5", "0x20")).ok  # whole warps part


ROUNDS = f"""
    MOV R7, RZ
    H:
    IADD3 R7, R7, 0x1, RZ
    ISETP.GE.AND P3, PT, R7, 0x4, PT
    @P3 BRA E, E
    ISETP.LT.AND P4, PT, R7, 0x2, PT
    ISETP.LT.AND P4, PT, R0, 0x20, P4
    @P4 BRA H, J
    J:
    ISETP.NE.AND P5, PT, R7, 0x2, PT
    @P5 BRA N, N
    {ALLOC}
    {FREE}
    N:
    BRA H
    E:
    EXIT
"""


def test_threads_may_meet_in_different_rounds_of_a_loop() -> None:
    """Half of the threads come to J in round 2 when the others come there in round 1."""
    assert "together" in kinds(judge(ROUNDS))
    assert judge(ROUNDS.replace("ISETP.LT.AND P4, PT, R0, 0x20, P4", "NOP")).ok


def test_a_loop_that_waits_for_another_thread_is_refused() -> None:
    loop = f"""
    {ALLOC}
    {FREE}
    H:
    LDG.32.CV R7, [R4]
    ISETP.EQ.AND P3, PT, R7, 0x0, PT
    @P3 BRA H, E
    E:
    EXIT
    """
    assert kinds(judge(loop)) == {"waits"}
    assert judge(loop.replace(".CV", "")).ok  # a race, if another thread writes there
    through = "LDG.32.CV R7, [R4]\n    STS.32 [R1], R7\n    LDS.32 R7, [R1]"
    assert "waits" in kinds(judge(loop.replace("LDG.32.CV R7, [R4]", through)))


@pytest.mark.parametrize(
    ("again", "ok"),
    [("LDG.32 R7, [R4]", True), ("@P1 LDG.32 R7, [R4]", False), ("IADD3 R7, R7, 0x1, RZ", False), ("NOP", False)],
)
def test_a_register_that_is_written_again_does_not_wait(again: str, ok: bool) -> None:
    """The old value that an atomic returns is often read by nobody, and its register is used for something else."""
    loop = f"""
    {ALLOC}
    {FREE}
    H:
    LDG.32.CV R7, [R4]
    {again}
    ISETP.EQ.AND P3, PT, R7, 0x0, PT
    @P3 BRA H, E
    E:
    EXIT
    """
    assert kinds(judge(loop)) == (set() if ok else {"waits"})


def test_a_register_may_wait_from_one_round_to_the_next() -> None:
    loop = f"""
    {ALLOC}
    {FREE}
    LDG.32 R7, [R4]
    H:
    ISETP.EQ.AND P3, PT, R7, 0x0, PT
    AGAIN
    @P3 BRA H, E
    E:
    EXIT
    """
    assert kinds(judge(loop.replace("AGAIN", "LDG.32.CV R7, [R4]"))) == {"waits"}
    assert judge(loop.replace("AGAIN", "LDG.32 R7, [R4]")).ok


# -- contents

TWICE = f"""
    {ALLOC}
    {AT}
    o| STS.32 [R1], R0 => STS.32 [R21], R0
    {FREE}
    GUARD
    {ALLOC}
    -| IADD3 R23, R1, R20, RZ
    o| STS.32 [R1], R2 => STS.32 [R23], R2
    BAR.SYNC 0
    IADD3 R3, -R1, 0xfc, RZ
    -| IADD3 R22, R3, R20, RZ
    o| LDS.32 R6, [R3] => LDS.32 R6, [R22]
    {FREE}
    EXIT
"""


@pytest.mark.parametrize(
    ("guard", "ok"),
    [
        ("NOP", True),
        ("@P2 EXIT", True),  # the whole block
        ("@P1 EXIT", False),  # their words are never written again
        ("LDG.32 R7, [R4]\nISETP.EQ.AND P3, PT, R7, RZ, PT\n@P3 EXIT", False),
    ],
)
def test_words_that_are_read_were_written_by_threads_that_are_there(guard: str, ok: bool) -> None:
    assert kinds(judge(TWICE.replace("GUARD", guard))) == (set() if ok else {"contents"})


@pytest.mark.parametrize(
    "guarded",
    ["@P1 STS.32 [R1], R2 => @P1 STS.32 [R23], R2", "STS.32 [R1+0x100], R2 => STS.32 [R23+0x100], R2"],
)
def test_words_that_are_read_were_surely_written(guarded: str) -> None:
    wrong = TWICE.replace("GUARD", "").replace("STS.32 [R1], R2 => STS.32 [R23], R2", guarded)
    assert kinds(judge(wrong)) == {"contents"}


def test_an_own_word_needs_no_barrier_but_another_threads_does() -> None:
    text = TWICE.replace("GUARD", "").replace("    BAR.SYNC 0\n", "")
    assert kinds(judge(text)) == {"contents"}
    assert judge(text.replace("IADD3 R3, -R1, 0xfc, RZ", "MOV R3, R1")).ok


def test_threads_that_ended_have_written_before() -> None:
    """The first holding period has one store alone, in threads that end; the second one reads there."""
    text = f"""
    {ALLOC}
    {AT}
    ISETP.LT.AND P3, PT, R0, 0x5, PT
    @P3 BRA X, Y
    BRA Y
    X:
    o| STS.32 [R1], R0 => STS.32 [R21], R0
    EXIT
    Y:
    MOV R8, RZ
    {FREE}
    {ALLOC}
    o| LDS.32 R6, [0x4] => LDS.32 R6, [R20+0x4]
    {FREE}
    EXIT
    """
    assert kinds(judge(text)) == {"contents"}
    assert judge(text.replace("[0x4]", "[0x40]").replace("R20+0x4]", "R20+0x40]")).ok


# -- addresses

CHOICE = """
    -| BAR.ALLOC R20, 0x100
    LDG.32 R3, [R4]
    LOP3 R3, R3, 0x1fc, RZ, 0xc0
    -| IADD3 R23, R3, 0xffffff80, RZ
    -| ISETP.LT.U32.AND P3, PT, R23, 0x100, PT
    -| ISETP.LT.U32.AND P4, PT, R3, 0x180, PT
    -| IADD3 R24, RZ, 0xffffff80, RZ
    -| IADD3 R25, RZ, 0x80, RZ
    -| @P4 MOV R24, R25
    -| @P3 MOV R24, R20
    -| IADD3 R22, R3, R24, RZ
    o| LDS.32 R6, [R3] => LDS.32 R6, [R22-0x80]
    -| BAR.FREE R20
    EXIT
"""
MIDDLE = Division(128, 128, 384, 256)


def test_an_access_to_both_parts_chooses_by_its_address() -> None:
    report = judge(CHOICE, MIDDLE)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("R23, 0x100, PT", "R23, 0xfc, PT"),
        ("R23, 0x100, PT", "R23, 0x104, PT"),
        ("R3, 0x180, PT", "R3, 0x184, PT"),
        ("R3, 0x180, PT", "R0, 0x180, PT"),
        ("ISETP.LT.U32.AND P3", "ISETP.LT.AND P3"),
        ("RZ, 0xffffff80, RZ", "RZ, 0xffffff84, RZ"),
        ("@P4 MOV", "@!P4 MOV"),
        ("@P3 MOV R24, R20", "MOV R24, R20"),
        ("[R22-0x80]", "[R22-0x7c]"),
        ("LDS.32 R6, [R3] => LDS.32 R6, [R22-0x80]", "LDS.32 R6, [R3+0x4] => LDS.32 R6, [R22-0x7c]"),
    ],
)
def test_wrong_choices_are_found(before: str, after: str) -> None:
    assert before in CHOICE
    assert kinds(judge(CHOICE.replace(before, after), MIDDLE)) == {"address"}


def test_an_access_over_the_border_is_found() -> None:
    text = "o| LDS.64 R6, [0x78] => LDS.64 R6, [0x78]\nEXIT"
    assert judge(text, MIDDLE).ok
    assert kinds(judge(text, Division(112, 124, 384, 256))) == {"address"}


def test_addresses_behind_static_memory_fault_where_there_is_no_dynamic_memory() -> None:
    text = """
    -| BAR.ALLOC R20, 0x200
    LDG.32 R3, [R4]
    LOP3 R3, R3, 0x3fc, RZ, 0xc0
    -| IADD3 R22, R3, R20, RZ
    o| LDS.32 R6, [R3] => LDS.32 R6, [R22]
    EXIT
    """
    assert kinds(judge(text)) == {"address"}
    assert judge(text, dynamic=0).ok
    assert kinds(judge(text, dynamic=4)) == {"address"}


@pytest.mark.parametrize(
    "line",
    ["LD.32 R6, [R4]", "S2R R6, SR_TOTAL_SMEM", "S2R R6, SR_SHARED_WINDOW", "BAR.SYNC 1", "@P1 BAR.SYNC 0",
     "BAR.ARV 0, 0x40", "LDS.32.SPILL R6, [0x4]", "LDSM.16.M88 R6, [R1]"],
)  # fmt: skip
def test_what_the_proof_does_not_know_is_refused(line: str) -> None:
    assert kinds(judge(f"{line}\nEXIT", Division(0, 0, 0, 0))) == {"not proven"}
