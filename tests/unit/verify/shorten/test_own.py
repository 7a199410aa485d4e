"""Own words, proven or not, in kernels written out: what others do to a column meanwhile, and where copies stand."""

from __future__ import annotations

import pytest

from binalloc.verify.shorten.own import check_own_words
from tests.support.programs.builder import program

HEAD = """.kernel k registers=24{more}
.param out, 8
.shared_bytes 256
.shared a 256 4 0
"""
ORIGINAL = """    S2R R0, SR_TID.X
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    SHF.L.U32 R1, R0, 0x2, RZ
    LOP3 R5, R0, 0x1, RZ, 0xc0
    ISETP.EQ.AND P0, PT, R5, 0x0, PT
    STS.32 [R1], R0
    STS.32 [R1+0x80], R0
    BAR.SYNC 0
    @P0 BRA even, join
    {odd}
    BRA join
even:
    STS.32 [R1], R5
    {end}
join:
    {middle}
    BAR.SYNC 0
    LDS.32 R6, [R1+0x80]
    STG.32 [R2], R6
    EXIT
.end
"""
"""Each of 32 threads has a column of two words. Even ones change one of them, while odd ones do something else."""
INTO = """-| LDS.32 R20, [R1]
    -| LDS.32 R21, [R1+0x80]
    -| STL.32 [RZ], R20
    -| STL.32 [RZ+0x4], R21"""
BACK = """-| LDL.32 R20, [RZ]
    -| LDL.32 R21, [RZ+0x4]
    -| STS.32 [R1], R20
    -| STS.32 [R1+0x80], R21"""
LOAD, STORE = ("\n".join(BACK.split("\n")[k : k + 2]) for k in (0, 2))
MADE = """    0| S2R R0, SR_TID.X
    1| MOV R2, c[0][out]
    2| MOV R3, c[0][out+0x4]
    3| SHF.L.U32 R1, R0, 0x2, RZ
    4| LOP3 R5, R0, 0x1, RZ, 0xc0
    5| ISETP.EQ.AND P0, PT, R5, 0x0, PT
    6| STS.32 [R1], R0
    7| STS.32 [R1+0x80], R0
    8| BAR.SYNC 0
    9| @P0 BRA even, join
    10| {odd}
    11| BRA join
even:
    {into}
    12| STL.32 [RZ], R5
    13| {end}
    {back}
join:
    14| {middle}
    15| BAR.SYNC 0
    16| LDS.32 R6, [R1+0x80]
    17| STG.32 [R2], R6
    18| EXIT
.end
"""
PLAIN = {"odd": "NOP", "middle": "NOP", "end": "NOP", "into": INTO, "back": BACK}
PARTS = ((0, 256, 128, 4, 0),)


def found(**parts: str) -> list[str]:
    """What is wrong with own words in the branch of even threads."""
    given = {**PLAIN, **parts}
    original = program(HEAD.format(more="") + ORIGINAL.format(**given))
    made = program(HEAD.format(more=" local_bytes=8") + MADE.format(**given))
    return [error.message for error in check_own_words(original, made, "k", (32, 1, 1), PARTS).errors]


def test_own_words_between_two_barriers_are_proven() -> None:
    assert found() == []
    assert found(odd="STG.32 [R2], R5") == []


@pytest.mark.parametrize(("parts", "why"), [
    # a neighbour's word, which even threads keep in local memory meanwhile, and overwrite with what it was before
    ({"odd": "STS.32 [R1+0x7c], R0"}, "others may access shared memory meanwhile"),
    ({"odd": "LDS.32 R7, [R1+0x7c]"}, "others may access shared memory meanwhile"),
    ({"end": "EXIT"}, "a thread may end while others count on its words"),
    ({"middle": "LDS.32 R7, [R1]"}, "accesses shared memory where its words are in local memory"),
    ({"into": INTO.replace("-| STL.32 [RZ+0x4], R21", "-| NOP")},
     "accesses local memory where its words are in shared memory"),
    ({"into": "-| NOP"}, "accesses local memory where its words are in shared memory"),
    ({"back": BACK.replace("-| STS.32 [R1+0x80], R21", "-| NOP")},
     "its words are in shared memory on one way to a word, and not on another"),
    ({"back": BACK.replace("[R1+0x80], R21", "[R1+0x80], R20")},
     "copies another word than the one that belongs there"),
    ({"back": BACK.replace("STS.32 [R1+0x80]", "STS.32 [R1+0x84]")}, "copies what is not in the column of its thread"),
    ({"back": BACK + "\n    -| STL.32 [RZ], R20"}, "copies another word than the one that belongs there"),
    ({"into": INTO.replace("R21", "R6")}, "an inserted word writes what the original uses"),
    ({"into": INTO.replace("LDS.32 R20, [R1]", "LDS.32 R20, [R1+0x100]")},
     "copies another word than the one that belongs there"),
    # loaded before the word changes, stored behind that
    ({"into": INTO + "\n    " + LOAD, "back": STORE}, "copies another word than the one that belongs there"),
])  # fmt: skip
def test_wrong_own_words_are_rejected(parts: dict[str, str], why: str) -> None:
    assert why in found(**parts)


AGAIN = """    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    IADD3 R4, -R1, 0x7c, RZ
    STS.32 [R4], R0
    STS.32 [R4+0x80], R0
    BAR.SYNC 0
    LDS.32 R6, [R1]
    BAR.SYNC 0
    STS.32 [R4], R1
    STS.32 [R4+0x80], R1
    BAR.SYNC 0
    LDS.32 R7, [R1]
    EXIT
.end
"""
AGAIN_MADE = """    0| S2R R0, SR_TID.X
    1| SHF.L.U32 R1, R0, 0x2, RZ
    2| IADD3 R4, -R1, 0x7c, RZ
    3| STS.32 [R4], R0
    4| STS.32 [R4+0x80], R0
    5| BAR.SYNC 0
    {into}
    6| LDL.32 R6, [RZ]
    -| LDL.32 R22, [RZ]
    -| LDL.32 R23, [RZ+0x4]
    -| STS.32 [R1], R22
    -| STS.32 [R1+0x80], R23
    7| BAR.SYNC 0
    8| STS.32 [R4], R1
    9| STS.32 [R4+0x80], R1
    10| BAR.SYNC 0
    {again}
    11| LDL.32 R7, [RZ]
    12| EXIT
.end
"""
"""Each thread has the words that its opposite has stored, twice."""


def test_words_that_were_loaded_in_an_earlier_phase_are_old() -> None:
    original = program(HEAD.format(more="") + AGAIN)
    for again, ok in ((INTO, True), (INTO.replace("-| LDS.32 R20, [R1]\n", ""), False)):
        made = program(HEAD.format(more=" local_bytes=8") + AGAIN_MADE.format(into=INTO, again=again.strip()))
        report = check_own_words(original, made, "k", (32, 1, 1), PARTS)
        assert report.ok == ok, report
