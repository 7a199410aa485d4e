"""Whether the places that a kernel accesses may hang on contents of memory."""

from __future__ import annotations

import pytest

from binalloc.analysis.loaded import places_hang_on_memory
from binalloc.analysis.program import analyse
from tests.support.programs.builder import program

HEAD = """.kernel k
.block 64
.param in, 8
.param n, 4
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    IMAD R0, R1, 64, R0
    MOV R2, 0x4
    IMAD.WIDE R4, R0, R2, c[0][in]
    LDG.32 R6, [R4]
"""
TAIL = """
    STG.32 [R4], R6
    EXIT
.end
.func f
    IADD3 R7, R7, 0x2, RZ
    RET
.end
"""
FIXED = {
    "nothing": "",
    "guard on the thread": "ISETP.LT.AND P0, PT, R0, c[0][n], PT\n@!P0 EXIT",
    "loop of n rounds": "MOV R8, RZ\nround:\nIADD3 R8, R8, 0x1, RZ\nISETP.LT.AND P0, PT, R8, c[0][n], PT\n"
    "@P0 BRA round, after\nafter:",
    "select of a value": "ISETP.LT.AND P0, PT, R6, 0x5, PT\nSEL R6, R6, R0, P0",
    "index by way of shared memory": "STS.32 [RZ+0x40], R0\nLDS.32 R8, [RZ+0x40]\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "value to local memory": "STL [RZ], R6\nLDL R6, [RZ]",
    "shared place of a value": "LOP3 R8, R6, 0x3c, RZ, 0xc0\nSTS.32 [R8], R0",
    "call with an index": "MOV R7, R0\nCALL f\nIMAD.WIDE R4, R7, R2, c[0][in]",
    "register that held a value": "MOV R6, R0\nIMAD.WIDE R8, R6, R2, c[0][in]\nLDG.32 R6, [R8]",
}
HANGING = {
    "address": "IMAD.WIDE R4, R6, R2, c[0][in]",
    "guard of an access": "ISETP.LT.AND P0, PT, R6, 0x5, PT\n@P0 STG.32 [R4+4], R0",
    "guarded address": "ISETP.LT.AND P0, PT, R6, 0x5, PT\n@P0 IADD3 R4, R4, 0x4, RZ",
    "end of threads": "ISETP.LT.AND P0, PT, R6, 0x5, PT\n@P0 EXIT",
    "loop": "round:\nLDG.32 R8, [R4]\nISETP.LT.AND P0, PT, R8, c[0][n], PT\n@P0 BRA round, after\nafter:",
    "shared memory": "STS.32 [R0], R6\nLDS.32 R8, [R0]\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "shared place": "LOP3 R8, R6, 0x3c, RZ, 0xc0\nSTS.32 [R8], R0\nLDS.32 R8, [RZ]\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "local memory": "STL [RZ], R6\nLDL R8, [RZ]\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "call": "MOV R7, R6\nCALL f\nIMAD.WIDE R4, R7, R2, c[0][in]",
    "atomic of shared memory": "ATOMS.ADD R8, [RZ], R2\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "exchange": "SHFL.IDX PT, R8, R6, 0, 0x1f\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "clock": "S2R R8, SR_CLOCKLO\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "SM": "S2R R8, SR_SMID\nIMAD.WIDE R4, R8, R2, c[0][in]",
    "place that is loaded": "LDG.64 R4, [R4]",
}


@pytest.mark.parametrize("name", FIXED)
def test_places_that_follow_from_the_launch(name: str) -> None:
    assert not places_hang_on_memory(analyse(program(HEAD + FIXED[name] + TAIL), "k"))


@pytest.mark.parametrize("name", HANGING)
def test_places_that_may_hang_on_memory(name: str) -> None:
    assert places_hang_on_memory(analyse(program(HEAD + HANGING[name] + TAIL), "k"))
