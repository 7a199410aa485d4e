"""Small kernels of merged blocks, each with the one thing that decides whether the proof may hold."""

from __future__ import annotations

import pytest

from binalloc.isa.instruction import Module
from binalloc.verify.multiplex.merged.check import check_merged
from binalloc.verify.report import CheckReport
from tests.support.pairs.multiplex.lines import both_kernels, kinds
from tests.support.programs.builder import program

BLOCK = (64, 1, 1)
START = """
    -| S2R R20, SR_TID.Z
    -| S2R R21, SR_CTAID.X
    -| IMAD R21, R21, 0x2, R20
    -| MOV R22, c[0][0x10]
    -| ISETP.LT.U32.AND P6, PT, R21, R22, PT
    -| @!P6 EXIT
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    S2R R2, SR_CTAID.X
    -| IMAD R2, R2, 0x2, R20
    MOV R4, c[0][0x0]
    MOV R5, c[0][0x4]
    ISETP.LT.AND P1, PT, R0, 0x20, PT
    ISETP.LT.AND P2, PT, R2, 0x4, PT
"""
BARRIER = "    -| BAR.SYNC 0\n"


def turns(body: str, name: str = "", last: bool = True) -> str:
    """A region whose turns have as many barriers as the original has in it. last: the last turn has no barrier
    behind it."""
    barriers = BARRIER * body.count("BAR.SYNC")
    guard = "@P6 " if last else ""
    return f"""
    -| MOV R23, 0x0
    T{name}:
    -| ISETP.EQ.AND P6, PT, R23, R20, PT
    -| @!P6 BRA W{name}, N{name}
    {body}
    -| BRA N{name}
    W{name}:
    -| NOP
    {barriers}
    N{name}:
    -| IADD3 R23, R23, 0x1, RZ
    -| ISETP.LT.U32.AND P6, PT, R23, 0x2, PT
    -| {guard}BAR.SYNC 0
    -| @P6 BRA T{name}, E{name}
    E{name}:
    -| NOP
    """


def both(
    new: str, start: str = START, room: int = 512, called: str = "", shared: int = 512
) -> tuple[Module, Module]:
    """Return the original and the merged kernel `new`, behind `start`; both are lines of `both_kernels`. room: bytes of
    shared memory of the merged one, and shared: of the original. called: a function of both."""
    old_lines, new_lines = both_kernels(start + new)
    texts = [
        "\n".join([".kernel k", ".param p, 16", *more, *lines, *([".end", called] if called else []), ""])
        for more, lines in (
            ([f".shared_bytes {shared}"], old_lines), ([".param original_grid, 4", f".shared_bytes {room}"], new_lines),
        )
    ]  # fmt: skip
    original, made = program(texts[0]), program(texts[1])
    made.functions[0].info.registers = original.functions[0].info.registers = 32
    return original, made


def judge(
    new: str, block: tuple[int, int, int] = BLOCK, count: int = 2, start: str = START, room: int = 512,
    called: str = "", shared: int = 512,
) -> CheckReport:  # fmt: skip
    return check_merged(*both(new, start, room, called, shared), "k", block, count, 0)


BODY = """
    STS.32 [R1], R2
    BAR.SYNC 0
    IADD3 R3, -R1, 0xfc, RZ
    LDS.32 R6, [R3]
"""
EXCHANGE = turns(BODY) + "\n    EXIT\n"


def test_an_exchange_of_words_in_turns_is_proven() -> None:
    report = judge(EXCHANGE)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (BARRIER, "", "race"),
        (BARRIER, BARRIER * 2, ""),  # the other one begins later
        ("    -| @P6 BAR.SYNC 0\n", "", "race"),
        ("    -| @P6 BAR.SYNC 0\n", "    -| @!P6 BAR.SYNC 0\n", "race"),
        ("    -| @P6 BAR.SYNC 0\n", "    -| BAR.SYNC 0\n", ""),
        ("BAR.SYNC 0\n    IADD3", "o| BAR.SYNC 0\n    IADD3", "barrier"),
        ("ISETP.EQ.AND P6", "ISETP.NE.AND P6", ""),  # the other one first
        ("ISETP.EQ.AND P6, PT, R23, R20", "ISETP.LE.AND P6, PT, R23, R20", "order"),
        ("ISETP.EQ.AND P6, PT, R23, R20", "ISETP.EQ.AND P6, PT, R23, R0", "inserted"),
        ("ISETP.EQ.AND P6", "ISETP.EQ.AND P1", "order"),
        ("MOV R23, 0x0", "MOV R23, 0x1", "order"),
        ("R23, 0x1, RZ", "R23, 0x2, RZ", "order"),
        ("R23, 0x2, PT", "R23, 0x1, PT", "order"),
        ("R23, 0x2, PT", "R23, 0x3, PT", ""),  # a turn in vain
        ("-| NOP", "-| STS.32 [R1], R2", "inserted"),
        ("-| NOP", "-| BAR.SYNC 1", "inserted"),
        ("-| NOP", "-| MOV R2, R20", "inserted"),
        ("-| NOP", "-| EXIT", "inserted"),
        ("LDS.32 R6, [R3]", "o| LDS.32 R6, [R3] => LDS.32 R6, [R3+0x4]", "address"),
        ("STS.32 [R1], R2", "o| STS.32 [R1], R2 => @P1 STS.32 [R1], R2", "instruction"),
    ],
)
def test_one_change_of_the_turns(before: str, after: str, kind: str) -> None:
    assert before in EXCHANGE
    found = kinds(judge(EXCHANGE.replace(before, after, 1)))
    assert kind in found if kind else not found


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("-| IMAD R2, R2, 0x2, R20\n", "", "special"),
        ("-| IMAD R2, R2, 0x2, R20", "-| IMAD R2, R2, 0x4, R20", "special"),
        ("-| IMAD R2, R2, 0x2, R20", "-| IMAD R2, R2, 0x2, R0", "special"),
        ("-| IMAD R2, R2, 0x2, R20", "-| MOV R2, R21", ""),
        ("-| IMAD R2, R2, 0x2, R20", "-| @P1 IMAD R2, R2, 0x2, R20", "special"),
        ("-| @!P6 EXIT", "-| @P6 EXIT", "inserted"),
        ("-| @!P6 EXIT", "-| NOP", "surplus"),
        ("P6, PT, R21, R22", "P6, PT, R20, R22", "inserted"),
        ("ISETP.LT.U32.AND P6", "ISETP.LE.U32.AND P6", "inserted"),
        ("ISETP.LT.U32.AND P6", "ISETP.LT.AND P6", "inserted"),
        ("c[0][0x10]", "c[0][0xc]", "inserted"),
        ("-| @!P6 EXIT", "-| BAR.SYNC 0\n-| @!P6 EXIT", "surplus"),
    ],
)
def test_one_change_of_the_start(before: str, after: str, kind: str) -> None:
    assert before in START
    assert (kind or "none") in (kinds(judge(EXCHANGE, start=START.replace(before, after, 1))) or {"none"})


# -- special registers


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("words", "ok"),
    [
        ("o| S2R R6, SR_NCTAID.X => MOV R6, c[0][0x10]", True),
        ("o| S2R R6, SR_NCTAID.X => MOV R6, c[0][0xc]", False),
        ("S2R R6, SR_NCTAID.X", False),
        ("S2R R6, SR_NCTAID.Y\nS2R R7, SR_CTAID.Y\nS2R R8, SR_NTID.X\nS2R R9, SR_LANEID", True),
        ("o| S2R R6, SR_NTID.Z => MOV R6, 0x1", True),
        ("S2R R6, SR_NTID.Z", False),
        ("o| S2R R6, SR_TID.Z => MOV R6, RZ", True),
        ("S2R R6, SR_TID.Z", False),
        ("S2R R6, SR_WARPID\n-| IMAD R24, R20, 0x2, RZ\n-| IADD3 R6, R6, -R24, RZ", True),
        ("S2R R6, SR_WARPID\n-| LOP3 R6, R6, 0x1, RZ, 0xc0", True),
        ("S2R R6, SR_WARPID", False),
        ("o| S2R R6, SR_NWARPID => MOV R6, 0x2", True),
        ("S2R R6, SR_NWARPID", False),
        ("@P1 S2R R6, SR_WARPID\n-| @P1 LOP3 R6, R6, 0x1, RZ, 0xc0", False),  # right, but not known
        ("S2R R6, SR_CLOCKLO", False),
        ("S2R R6, SR_SMID", False),
    ],
)
def test_special_registers_have_the_virtual_blocks_values(words: str, ok: bool) -> None:
    used = "\nSTG.32 [R4], R6\n"
    assert kinds(judge(words + used + EXCHANGE)) <= {"special", "not proven"}
    assert judge(words + used + EXCHANGE).ok == ok
    if "CLOCK" not in words and "SMID" not in words and "@P1" not in words:
        assert judge(words + "\nMOV R6, RZ" + used + EXCHANGE).ok  # what it read was not needed


DEEP = """
    -| S2R R20, SR_TID.Z
    -| IMAD.HI.U32 R20, R20, R24, RZ
    -| S2R R21, SR_CTAID.X
    -| IMAD R21, R21, 0x4, R20
    -| MOV R22, c[0][0x10]
    -| ISETP.LT.U32.AND P6, PT, R21, R22, PT
    -| @!P6 EXIT
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    S2R R2, SR_TID.Z
    -| IMAD R25, R20, 0x3, RZ
    -| IADD3 R2, R2, -R25, RZ
    STG.32 [R4], R2
"""


@pytest.mark.parametrize("factor", [0x55555556, 0x55555555, 0x80000000])
def test_blocks_that_are_deep_divide_by_their_depth(factor: int) -> None:
    start = f"\n    -| MOV R24, {factor:#x}\n" + DEEP
    body = turns("STS.32 [R1], R0\nLDS.32 R6, [R1]").replace("R23, 0x2, PT", "R23, 0x4, PT") + "\nEXIT\n"
    assert judge(body, (32, 1, 3), 4, start).ok == (factor == 0x55555556)


PADDED = """
    -| S2R R21, SR_TID.X
    -| SHF.R.U32 R20, R21, 0x7, RZ
    -| IMAD R22, R20, 0xffffff80, R21
    -| ISETP.LT.U32.AND P6, PT, R22, 0x64, PT
    -| @!P6 EXIT
    -| S2R R21, SR_CTAID.X
    -| IMAD R21, R21, 0x2, R20
    -| MOV R22, c[0][0x10]
    -| ISETP.LT.U32.AND P6, PT, R21, R22, PT
    -| @!P6 EXIT
    S2R R0, SR_TID.X
    -| IMAD R0, R20, 0xffffff80, R0
    -| IMAD R24, R0, 0x199a, RZ
    -| SHF.R.U32 R24, R24, 0x10, RZ
    -| IMAD R0, R24, 0xfffffff6, R0
    o| S2R R3, SR_TID.Y => S2R R3, SR_TID.X
    -| IMAD R3, R20, 0xffffff80, R3
    -| IMAD R24, R3, 0x199a, RZ
    -| SHF.R.U32 R3, R24, 0x10, RZ
    o| S2R R6, SR_TID.Z => MOV R6, 0x0
    o| S2R R7, SR_NTID.X => MOV R7, 0xa
    IMAD R1, R3, 0xa, R0
    IADD3 R1, R1, R6, R7
    SHF.L.U32 R1, R1, 0x2, RZ
    S2R R2, SR_CTAID.X
    -| IMAD R2, R2, 0x2, R20
    ISETP.LT.AND P1, PT, R0, 0x5, PT
    ISETP.LT.AND P2, PT, R2, 0x4, PT
"""
"""Blocks of 10 x 10 threads, padded to 128."""


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("", "", ""),
        ("0x64, PT\n    -| @!P6 EXIT", "0x64, PT", "padding"),
        ("0x64, PT\n    -| @!P6 EXIT", "0x64, PT\n    -| @P6 EXIT", "inserted"),
        ("0x64, PT\n    -| @!P6 EXIT", "0x65, PT\n    -| @!P6 EXIT", "padding"),
        ("0x64, PT\n    -| @!P6 EXIT", "0x63, PT\n    -| @!P6 EXIT", "inserted"),
        ("0x64, PT\n    -| @!P6 EXIT", "0x64, PT\n    -| BAR.SYNC 0\n    -| @!P6 EXIT", "padding"),
        ("0x64, PT\n    -| @!P6 EXIT", "0x64, PT\n    -| VOTE.ANY R24, P5, PT\n    -| @!P6 EXIT", "inserted"),
        ("R21, 0x7, RZ", "R21, 0x6, RZ", "inserted"),  # padded to 64
        ("R20, 0xffffff80, R21", "R20, 0xffffffa0, R21", "inserted"),  # padded to 96
        ("R20, 0xffffff80, R0", "R20, 0xffffffa0, R0", "special"),
        ("R24, R0, 0x199a", "R24, R0, 0x1746", "special"),  # divided by 11
        ("R24, R0, 0x199a", "R24, R0, 0x1999", "special"),  # rounded down
        ("R24, 0xfffffff6, R0", "R24, 0xfffffff5, R0", "special"),
        ("o| S2R R3, SR_TID.Y => S2R R3, SR_TID.X", "o| S2R R3, SR_TID.X => S2R R3, SR_TID.X", "special"),
        ("    S2R R0, SR_TID.X", "    o| S2R R0, SR_TID.Y => S2R R0, SR_TID.X", "special"),
        ("MOV R6, 0x0", "MOV R6, 0x1", "special"),
        ("MOV R7, 0xa", "MOV R7, 0x80", "special"),
        ("o| S2R R7, SR_NTID.X => MOV R7, 0xa", "S2R R7, SR_NTID.X", "special"),
        ("o| S2R R7, SR_NTID.X => MOV R7, 0xa", "o| S2R R7, SR_NWARPID => MOV R7, 0x4", ""),
        ("o| S2R R7, SR_NTID.X => MOV R7, 0xa", "o| S2R R7, SR_NWARPID => MOV R7, 0x3", "special"),
        ("o| S2R R7, SR_NTID.X => MOV R7, 0xa", "S2R R7, SR_WARPID\n-| LOP3 R7, R7, 0x3, RZ, 0xc0", ""),
        ("o| S2R R7, SR_NTID.X => MOV R7, 0xa", "S2R R7, SR_LANEID", ""),
    ],
)
def test_one_change_of_padded_blocks(before: str, after: str, kind: str) -> None:
    assert before in PADDED
    start, text = PADDED.replace(before, after, 1), turns(BODY.replace("0xfc", "0x200")) + "\n    EXIT\n"
    found = kinds(judge(text, (10, 10, 1), start=start, room=1024, shared=1024))
    assert kind in found if kind else not found


def test_padded_blocks_count_with_their_padding() -> None:
    text = turns(BODY) + "\n    EXIT\n"
    assert "merge" in kinds(judge(text, (10, 10, 1), 9, PADDED, 1024, shared=1024))
    assert "merge" not in kinds(judge(text, (10, 10, 1), 8, PADDED, 1024, shared=1024))


@pytest.mark.parametrize(("first", "ok"), [("ISETP.LT.AND P6, PT, R0, 0x20, PT", True), ("NOP", False)])
def test_a_function_needs_no_predicate_that_it_writes_first(first: str, ok: bool) -> None:
    """The predicate of the turns holds nothing behind the region where the function is called."""
    function = f".func f\n{first}\n@P6 IADD3 R6, R6, 0x1, RZ\nRET\n.end\n"
    text = EXCHANGE.replace("EXIT", "CALL f\nSTG.32 [R4], R6\nEXIT")
    assert kinds(judge(text, called=function)) == (set() if ok else {"inserted"})


# -- barriers


@pytest.mark.parametrize(
    "line",
    ["BAR.RED.POPC R6, 0, PT", "BAR.SYNC 1", "@P1 BAR.SYNC 0", "LD.32 R6, [R4]", "LDS.32.SPILL R6, [0x4]"],
)
def test_what_the_proof_of_merged_blocks_does_not_know_is_refused(line: str) -> None:
    assert "not proven" in kinds(judge(f"{line}\nEXIT"))


def test_a_loop_that_waits_for_another_block_is_refused() -> None:
    loop = "H:\nLDG.32.CV R7, [R4]\nISETP.EQ.AND P3, PT, R7, 0x0, PT\n@P3 BRA H, Z\nZ:\n"
    assert kinds(judge(loop + EXCHANGE)) == {"waits"}
    assert judge(loop.replace(".CV", "") + EXCHANGE).ok


def test_threads_that_part_come_to_no_inserted_barrier() -> None:
    parted = f"@P1 BRA Z, Z\n{EXCHANGE.replace('EXIT', '')}\nZ:\nBAR.SYNC 0\nEXIT\n"
    assert "together" in kinds(judge(parted))
    assert judge(parted.replace("    BAR.SYNC 0\n    EXIT", "EXIT").replace("Z:\nBAR.SYNC 0", "Z:")).ok  # they end
    assert judge(parted.replace("@P1", "@P2")).ok  # whole blocks


def test_a_barrier_that_orders_nothing_may_be_left_out() -> None:
    plain = f"{EXCHANGE.replace('EXIT', '')}\no| BAR.SYNC 0\nSTG.32 [R4], R6\nEXIT\n"
    assert judge(plain).ok
    loads = plain.replace("LDS.32 R6, [R3]", "LDS.32 R6, [R3]\nLDG.32 R8, [R4]")
    assert kinds(judge(loads)) == {"barrier"}
    assert judge(loads.replace("STG.32 [R4], R6", "LDG.32 R8, [R4]")).ok
    assert judge(loads.replace("-| @P6 BAR", "-| BAR")).ok  # another one takes its place
    assert "race" in kinds(judge(plain.replace("STG.32 [R4], R6", turns(BODY, "2"))))


ROUNDS = """
    MOV R9, 0x0
    H:
    {first}
    {last}
    IADD3 R9, R9, 0x1, RZ
    ISETP.LT.AND P3, PT, R9, {limit}, PT
    @P3 BRA H, Z
    Z:
    {second}
    EXIT
"""


@pytest.mark.parametrize(
    ("limit", "second", "ok"),
    [
        ("c[0][0x8]", True, True),  # the same in all blocks
        ("R2", True, False),
        ("R2", False, True),  # no barrier behind it: who has ended is not waited for
        ("R0", False, False),
    ],
)
def test_blocks_come_to_barriers_in_step(limit: str, second: bool, ok: bool) -> None:
    behind = f"BAR.SYNC 0\n{turns(BODY, '2')}" if second else "STG.32 [R4], R6"
    text = ROUNDS.format(first=turns(BODY), last="BAR.SYNC 0", limit=limit, second=behind)
    assert judge(text).ok == ok


# -- contents, and common bytes


def test_contents_do_not_outlive_a_turn() -> None:
    kept = EXCHANGE.replace("EXIT", "BAR.SYNC 0") + turns("LDS.32 R7, [R1]", "2") + "\nEXIT\n"
    assert kinds(judge(kept)) == {"contents"}
    assert judge(kept.replace("LDS.32 R7, [R1]", "STS.32 [R1], R6\nLDS.32 R7, [R1]")).ok
    assert kinds(judge(kept.replace("LDS.32 R7, [R1]", "@P1 STS.32 [R1], R6\nLDS.32 R7, [R1]"))) == {"contents"}


STAGED = """
    MOV R8, c[0][0x8]
    -| ISETP.EQ.AND P6, PT, R20, RZ, PT
    o| STS.32 [0x1f0], R8 => @P6 STS.32 [0x1f0], R8
    BAR.SYNC 0
    LDS.32 R9, [0x1f0]
"""


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("", "", ""),
        ("    BAR.SYNC 0\n", "", "common"),
        ("R20, RZ, PT", "R20, 0x1, PT", "common"),  # the second one, which may not be there
        ("MOV R8, c[0][0x8]", "MOV R8, R2", "common"),
        ("MOV R8, c[0][0x8]", "LDG.32 R8, [R4]", "common"),
        ("MOV R8, c[0][0x8]", "MOV R8, R0", ""),  # a race of the original
        ("MOV R8, c[0][0x8]", "@P2 MOV R8, c[0][0x8]", "common"),
        ("MOV R8, c[0][0x8]", "@P2 BRA Y, Y\nMOV R8, c[0][0x8]\nY:", "common"),
        ("LDS.32 R9, [0x1f0]", "STS.32 [0x1f0], R8\nLDS.32 R9, [0x1f0]", "common"),
        ("    BAR.SYNC 0\n", "BAR.SYNC 0\n@P2 EXIT\n", ""),
        ("o| STS", "@P2 BRA Y, Y\no| STS", "Y"),
        ("@P6 STS.32 [0x1f0], R8\n", "STS.32 [0x1f0], R8\n", "race"),
    ],
)
def test_one_virtual_block_stores_for_all(before: str, after: str, kind: str) -> None:
    assert before in STAGED
    staged = STAGED.replace(before, after)
    if kind == "Y":  # its block may go another way than the others
        staged, kind = staged.replace("    BAR.SYNC", "    Y:\nBAR.SYNC"), "contents"
    found = kinds(judge(staged + EXCHANGE))
    assert kind in found if kind else not found


# -- threads that end


@pytest.mark.parametrize(
    ("guard", "ok"),
    [
        ("@P2", False),  # its own block may end, and the other one goes on, with no barrier between their accesses
        ("@P1", False),  # a warp ends
        ("@P3", True),  # all blocks, or none
    ],
)
def test_no_barrier_orders_accesses_of_threads_that_end(guard: str, ok: bool) -> None:
    ends = f"MOV R10, c[0][0x8]\nISETP.LT.AND P3, PT, R10, 0x5, PT\n{turns('STS.32 [R1], R2')}\n{guard} EXIT\n"
    text = ends + "BAR.SYNC 0\n" + turns("STS.32 [R1], R0\nLDS.32 R6, [R1]", "2") + "\nEXIT\n"
    assert kinds(judge(text)) == (set() if ok else {"ended"})
    assert judge(text.replace("-| @P6 BAR.SYNC 0", "-| BAR.SYNC 0", 1)).ok


@pytest.mark.parametrize(("guard", "found"), [
    ("@P3", set()), ("@P2", {"ended"}), ("@P5", {"contents", "ended", "together"}),
])  # fmt: skip
def test_blocks_leave_a_loop_in_step_where_the_others_come_to_a_barrier(guard: str, found: set[str]) -> None:
    """No way from the branch to the end has a barrier."""
    text = f"""
    MOV R10, c[0][0x8]
    ISETP.LT.AND P3, PT, R10, 0x5, PT
    LDG.32 R10, [R4]
    ISETP.LT.AND P5, PT, R10, 0x5, PT
    MOV R9, 0x0
    H:
    {guard} BRA Z, Z
    BAR.SYNC 0
    {turns(BODY)}
    IADD3 R9, R9, 0x1, RZ
    ISETP.LT.AND P4, PT, R9, c[0][0xc], PT
    @P4 BRA H, Z
    Z:
    EXIT
    """
    assert kinds(judge(text)) == found


# -- predicates of called functions


WRITES = "ISETP.LT.AND P6, PT, R6, 0x5, PT"
READS = "@P6 MOV R7, 0x1"


@pytest.mark.parametrize(
    ("behind", "f", "g", "ok"),
    [
        ("CALL f", f"{WRITES}\n{READS}", "NOP", True),
        ("CALL f", READS, "NOP", False),
        ("CALL f", f"@P1 {WRITES}\n{READS}", "NOP", False),
        ("CALL f", f"@P1 BRA on, on\n{WRITES}\non:\n{READS}", "NOP", False),
        ("CALL f", f"@P1 BRA on, on\n{WRITES}\n{READS}\non:\nNOP", "NOP", True),
        ("CALL f", "CALL g", f"{WRITES}\n{READS}", True),
        ("CALL f", "CALL g", READS, False),
        ("CALL f", f"CALL g\n{READS}", WRITES, True),
        ("CALL f", f"{WRITES}\nCALL g", READS, True),
        ("CALL f", f"@P1 CALL g\n{READS}", WRITES, False),
        (f"CALL f\n{READS}", WRITES, "NOP", True),
        (f"CALL f\n{READS}", "CALL g", WRITES, True),
        (f"@P1 CALL f\n{READS}", WRITES, "NOP", False),
        (f"CALL f\n{READS}", f"@P1 {WRITES}", "NOP", False),
        (f"CALL f\n{READS}", f"@P1 RET\n{WRITES}", "NOP", False),
        (f"CALL f\n{READS}", f"@P1 BRA on, on\n{WRITES}\nRET\non:\n{WRITES}", "NOP", True),
        (f"CALL f\nCALL g\n{READS}", WRITES, "NOP", True),
        (f"CALL f\n{READS}\nCALL g", WRITES, READS, True),
        (f"{READS}\nCALL f", WRITES, "NOP", False),
    ],
)
def test_inserted_words_write_predicates_that_called_functions_do_not_need(
    behind: str, f: str, g: str, ok: bool
) -> None:
    """P6 is what inserted words write."""
    called = f".func f\n{f}\nRET\n.end\n.func g\n{g}\nRET"
    report = judge(EXCHANGE.replace("EXIT", f"{behind}\nEXIT"), called=called)
    assert kinds(report) == (set() if ok else {"inserted"}), str(report)
