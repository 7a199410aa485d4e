"""Bytes that accesses may reach, common bytes, and access regions: exact cases."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import SharedMemory, shared_memory
from binalloc.analysis.shared.regions import Region, access_regions
from binalloc.bitset import bits
from tests.support.programs.builder import program

HEAD = """.kernel k
.block 64
.param p, 8
.shared_bytes 1024
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    S2R R2, SR_CTAID.X
    MOV R3, c[0][p]
    ISETP.NE.AND P0, PT, R0, 0x0, PT
    ISETP.LT.AND P1, PT, R2, R3, PT
    LDG.32 R4, [R10]
    ISETP.LT.AND P2, PT, R4, 0x0, PT
"""
FIRST = 8  # words of it


def memory(body: str, tail: str = "") -> SharedMemory:
    return shared_memory(analyse(program(f"{HEAD}{body}\n    EXIT\n.end\n{tail}"), "k"))


def words_reached(body: str) -> list[list[int]]:
    """For each access: the words that it may reach."""
    return [sorted({b // 4 for b in bits(a.may)}) for a in memory(body).reach.accesses]


@pytest.mark.parametrize(("body", "expected"), [
    ("STS.32 [R1], R0", range(64)),
    ("STS.32 [R1+0x100], R0", range(64, 128)),
    ("@!P0 STS.32 [R1], R0", [0]),
    ("@P0 STS.32 [R1], R0", range(1, 64)),
    ("@P0 BRA on, on\nSTS.32 [R1+0x8], R0\non:", [2]),
    ("ISETP.GE.AND P3, PT, R0, 0x8, PT\n@P3 EXIT\nSTS.32 [R1], R0", range(8)),
    ("LOP3 R5, R4, 0x1c, RZ, 0xc0\nLDS.32 R6, [R5]", range(8)),
    ("LDG.U8 R5, [R10]\nLDS.32 R6, [R5+0x10]", range(4, 69)),
    ("ISETP.GT.U32.AND P3, PT, R4, 0xff, PT\n@P3 BRA on, on\nLEA R5, R4, 0x0, 2\nLDS.32 R6, [R5]\non:", range(256)),
    ("IMNMX.U32 R5, R4, 0x3f, PT\nLEA R5, R5, 0x0, 2\nLDS.32 R6, [R5]", range(64)),
    ("LDS.32 R6, [R4]", range(257)),  # beyond the block, too
    ("LDS.64 R6, [R1+0x300]", range(192, 257)),  # the last thread's second word is beyond
    ("LD.32 R6, [R10]", range(257)),
    (("MOV R5, 0x0\nhead:\nSTS.32 [R5], R0\nIADD3 R5, R5, 0x10, RZ\nISETP.NE.AND P3, PT, R5, 0x80, PT\n"
     "@P3 BRA head, on\non:"), range(0, 32, 4)),
    (("MOV R5, R1\nhead:\nSTS.32 [R5], R0\nIADD3 R5, R5, 0x100, RZ\nISETP.LT.AND P3, PT, R5, 0x400, PT\n"
     "@P3 BRA head, on\non:"), range(256)),
    (("MOV R5, 0x400\nhead:\nIADD3 R5, R5, -0x20, RZ\nSTS.32 [R5], R0\nISETP.GT.AND P3, PT, R5, 0x200, PT\n"
     "@P3 BRA head, on\non:"), range(128, 256, 8)),
])  # fmt: skip
def test_words_that_an_access_may_reach(body: str, expected: range) -> None:
    assert words_reached(body)[-1] == list(expected)


STAGED = "@P0 BRA on, on\nSTS.32 [0x200], R3\non:\nBAR.SYNC 0\nLDS.32 R5, [0x200]\nISETP.LT.AND P3, PT, R5, 0x0, PT\n"


@pytest.mark.parametrize(("body", "common", "loads"), [
    (STAGED, 4, 1),
    (STAGED.replace("R3\n", "R2\n", 1), 0, 0),  # the block's number
    (STAGED + "STS.32 [R1], R0", 4, 1),
    (STAGED + "STS.32 [R1+0x200], R0", 0, 0),
    (STAGED + "STS.32 [R1+0x180], R0", 0, 0),
    (STAGED + "STS.32 [R4], R0", 0, 0),  # anywhere
    (STAGED + "ST.32 [R10], R0", 0, 0),
    (STAGED + "ATOMS.ADD R6, [R1+0x200], R0", 0, 0),
    (STAGED + "LDS.32 R6, [R4]", 4, 1),
    (STAGED.replace("BAR.SYNC 0", "NOP"), 4, 0),  # perhaps not yet stored
    (STAGED.replace("BAR.SYNC 0", "@P2 BAR.SYNC 0"), 4, 0),
    (STAGED.replace("@P0", "@P2"), 4, 0),  # perhaps no thread stores
    (STAGED.replace("@P0", "@P1"), 4, 0),
    (STAGED.replace("STS.32 [0x200], R3", "head:\nSTS.32 [0x200], R3\n@P2 BRA head, on"), 0, 0),
    (STAGED.replace("[0x200]", "[0x400]"), 0, 0),  # beyond the block
])  # fmt: skip
def test_common_bytes(body: str, common: int, loads: int) -> None:
    found = memory(body).common
    assert (found.bytes.bit_count(), len(found.loads)) == (common, loads)


def regions(body: str, tail: str = "") -> list[Region]:
    return access_regions(memory(body, tail))


def spans(body: str, tail: str = "") -> list[list[tuple[int, int]]]:
    return [[(a - FIRST, b - FIRST) for a, b in region.spans] for region in regions(body, tail)]


EXCHANGE = "STS.32 [R1], R0\nBAR.SYNC 0\nLDS.32 R5, [R1^]\n"
"""An exchange through 64 words; each thread reads its own, which no rule of the analysis minds."""
ONE = EXCHANGE.replace("^", "")


@pytest.mark.parametrize(("body", "expected"), [
    (ONE, [[(0, 3)]]),
    (f"NOP\n{ONE}NOP", [[(1, 4)]]),
    (f"{ONE}NOP\nBAR.SYNC 0\n{ONE}", [[(0, 3)], [(5, 8)]]),
    # without a barrier of the block, reads may come before what other threads overwrite
    (f"{ONE}NOP\n{ONE.replace('BAR.SYNC 0', 'NOP')}", [[(0, 7)]]),
    # half of the words are not overwritten
    (f"{ONE}NOP\n@P0 STS.32 [R1], R0\nBAR.SYNC 0\nLDS.32 R5, [R1]", [[(0, 7)]]),
    (f"{ONE}NOP\nSTS.32 [R1+0x4], R0\nBAR.SYNC 0\nLDS.32 R5, [R1]", [[(0, 7)]]),
    (f"{ONE}NOP\nSTS.32 [R1+0x4], R0\nBAR.SYNC 0\nLDS.32 R5, [R1+0x4]", [[(0, 3)], [(4, 7)]]),
    # beyond the static bytes one store does not overwrite what another one has stored
    (ONE.replace("R1", "R1+0x400") + "NOP\nBAR.SYNC 0\n" + ONE.replace("R1", "R1+0x800") + "LDS.32 R5, [R1+0x400]",
     [[(0, 9)]]),
    # what is stored and never read is a region as well
    ("STS.32 [R1], R0\nNOP", [[(0, 1)]]),
    # a branch at which threads part belongs to it, up to where they meet
    ("NOP\n@P0 BRA on, on\nSTS.32 [R1], R0\non:\nNOP", [[(1, 3)]]),
    ("@P1 BRA on, on\nSTS.32 [R1], R0\non:\nNOP", [[(1, 2)]]),
    # ... which may be further down than where their ways do
    ("NOP\n@P0 BRA on, far\nSTS.32 [R1], R0\non:\nNOP\nfar:\nNOP", [[(1, 4)]]),
    # a loop holds nothing from round to round
    (f"head:\n{ONE}BAR.SYNC 0\n@P1 BRA head, on\non:", [[(0, 3)]]),
    ("head:\nLDS.32 R5, [R1]\nSTS.32 [R1], R0\n@P1 BRA head, on\non:", [[(0, 3)]]),
    # all rounds together overwrite
    (("outer:\nMOV R5, R1\nhead:\nSTS.32 [R5], R0\nIADD3 R5, R5, 0x100, RZ\nISETP.LT.AND P3, PT, R5, 0x400, PT\n"
     "@P3 BRA head, on\non:\nBAR.SYNC 0\nLDS.32 R5, [R1+0x300]\nBAR.SYNC 0\n@P1 BRA outer, end\nend:"), [[(1, 7)]]),
    # ... unless they leave some words out
    (("STS.32 [R1+0x300], R0\nouter:\nMOV R5, R1\nhead:\nSTS.32 [R5], R0\nIADD3 R5, R5, 0x200, RZ\n"
     "ISETP.LT.AND P3, PT, R5, 0x400, PT\n@P3 BRA head, on\non:\nBAR.SYNC 0\nLDS.32 R5, [R1+0x300]\nBAR.SYNC 0\n"
     "@P1 BRA outer, end\nend:"), [[(0, 10)]]),
])  # fmt: skip
def test_regions(body: str, expected: list[list[tuple[int, int]]]) -> None:
    assert spans(body) == expected


def test_what_a_function_accesses_is_accessed_by_its_calls() -> None:
    callee = ".func f\n    LDS.32 R5, [R1]\n    RET\n.end\n"
    assert spans("STS.32 [R1], R0\nBAR.SYNC 0\nCALL f\nNOP\nCALL f\nNOP", callee) == [[(0, 5)]]
    assert spans("CALL f\nNOP\nSTS.32 [R1], R0", callee) == [[(0, 1)], [(2, 3)]]


def test_bounds_are_where_all_threads_come() -> None:
    (region,) = regions("NOP\n@P0 BRA on, on\nSTS.32 [R1], R0\non:\nNOP")
    assert [(b.word - FIRST, b.source) for b in region.begins] == [(1, None)]
    assert [(b.word - FIRST, b.source) for b in region.ends] == [(3, None)]
    assert (region.exits, region.ended) == (False, None)
    (region,) = regions("@P0 EXIT\nSTS.32 [R1], R0\n@P2 EXIT\nNOP")
    assert region.ended == ("k", FIRST)
    assert not region.exits
    # threads that part and do not meet again
    (region,) = regions("@P2 BRA on, on\nSTS.32 [R1], R0\nEXIT\non:")
    assert region.exits
    assert (region.begins[0].word, region.ends) == (FIRST, [])
    # a loop that blocks leave in two places: on the way back it ends, too, but not twice on the way out
    (region,) = regions("""MOV R5, 0x0
head:
BAR.SYNC 0
NOP
STS.32 [R1], R0
@P1 BRA on, on
BAR.SYNC 0
LDS.32 R6, [R1]
IADD3 R5, R5, 0x1, RZ
ISETP.LT.AND P3, PT, R5, R3, PT
@P3 BRA head, on
on:
NOP""")
    assert [(b.word - FIRST, b.source is None) for b in region.begins] == [(3, True)]
    assert [(b.word - FIRST, b.source is None) for b in region.ends] == [(1, False), (10, True)]
