"""Hand-made pairs of straight code: where values may be held, and how groups and copies of them move."""

from __future__ import annotations

_STRAIGHT = """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R0, [R2]
LDG.32 R1, [R2+0x4]
FADD R4, R0, R1
FFMA R4, R0, R1, R4
STG.32 [R2], R4
STG.32 [R2+0x8], R0
EXIT
"""

VALUES: dict[str, tuple[str, str]] = {
    "renamed": (
        _STRAIGHT,
        """
.kernel k registers=6
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| LDG.32 R3, [R0]
3| LDG.32 R2, [R0+0x4]
4| FADD R5, R3, R2
5| FFMA R2, R3, R2, R5
6| STG.32 [R0], R2
7| STG.32 [R0+0x8], R3
8| EXIT
""",
    ),
    "slots_and_remat": (
        _STRAIGHT,
        """
.kernel k registers=7 slot_bytes=256 slot_pointer=6
-| S2R R6, SR_SLOTBASE
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| LDG.32 R2, [R0]
-| STS.32.SPILL [R6], R2
3| LDG.32 R3, [R0+0x4]
-| STS.32.SPILL [R6+0x80], R3
-| LDS.32.SPILL R0, [R6]
-| LDS.32.SPILL R1, [R6+0x80]
4| FADD R4, R0, R1
-| LDS.32.SPILL R2, [R6]
-| LDS.32.SPILL R3, [R6+0x80]
5| FFMA R5, R2, R3, R4
-| MOV R0, c[0][0x0]
-| MOV R1, c[0][0x4]
6| STG.32 [R0], R5
-| LDS.32.SPILL R3, [R6]
7| STG.32 [R0+0x8], R3
8| EXIT
""",
    ),
    "local_spill": (
        _STRAIGHT.replace("registers=8", "registers=8 local_bytes=16"),
        """
.kernel k registers=6 local_bytes=16 spill_local=4
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| LDG.32 R2, [R0]
-| STL.32.SPILL [0x10], R2
3| LDG.32 R3, [R0+0x4]
4| FADD R4, R2, R3
-| MOV R5, R4
5| FFMA R4, R2, R3, R5
6| STG.32 [R0], R4
-| LDL.32.SPILL R5, [0x10]
7| STG.32 [R0+0x8], R5
8| EXIT
""",
    ),
    "pairs_and_quads": (
        """
.kernel k registers=16
MOV R0, c[0][0x0]
MOV R1, c[0][0x4]
LDG.128 R4, [R0]
LDG.64 R2, [R0+0x10]
DADD R4, R4, R2
DFMA R8, R4, R2, R6
MOV R10, R8
MOV R11, R9
STG.128 [R0], R8
STG.64 [R0+0x10], R4
EXIT
""",
        """
.kernel k registers=13 spill_local=16 slot_bytes=256 slot_pointer=12
-| S2R R12, SR_SLOTBASE
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.128 R8, [R2]
3| LDG.64 R0, [R2+0x10]
-| STL.64.SPILL [0x8], R0
4| DADD R4, R8, R0
-| STS.32.SPILL [R12], R4
-| STS.32.SPILL [R12+0x80], R5
-| LDL.64.SPILL R6, [0x8]
5| DFMA R8, R4, R6, R10
-| MOV R10, R8
-| MOV R11, R9
8| STG.128 [R2], R8
-| LDS.32.SPILL R0, [R12]
-| LDS.32.SPILL R1, [R12+0x80]
9| STG.64 [R2+0x10], R0
10| EXIT
""",
    ),
    "coalesced": (
        """
.kernel k registers=10
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R4, [R2]
MOV R5, R4
IADD3 R6, R5, R4, RZ
MOV R7, R6
MOV R9, 0x7
IADD3 R8, R7, R9, RZ
STG.32 [R2], R7
STG.32 [R2+0x4], R5
STG.32 [R2+0x8], R8
EXIT
""",
        """
.kernel k registers=6
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| LDG.32 R2, [R0]
4| IADD3 R3, R2, R2, RZ
-| MOV R4, 0x7
7| IADD3 R4, R3, R4, RZ
8| STG.32 [R0], R3
9| STG.32 [R0+0x4], R2
10| STG.32 [R0+0x8], R4
11| EXIT
""",
    ),
    "lifted_locals": (
        """
.kernel k registers=12 local_bytes=16
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R4, [R2]
LDG.64 R6, [R2+0x8]
STL.32 [0x4], R4
STL.64 [0x8], R6
CALL f
LDL.32 R5, [0x4]
LDL.64 R8, [0x8]
STG.32 [R2], R5
STG.64 [R2+0x8], R8
STG.32 [R2+0x10], R4
EXIT
.func f
LDL.32 R4, [0x4]
IADD3 R5, R4, 0x1, RZ
STL.32 [0x4], R5
LDL.32 R4, [0xc]
RET
""",
        """
.kernel k registers=8 local_bytes=16 slot_bytes=128 slot_pointer=7
-| S2R R7, SR_SLOTBASE
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| LDG.32 R3, [R0]
3| LDG.64 R4, [R0+0x8]
6| CALL f
-| LDS.32.SPILL R6, [R7]
9| STG.32 [R0], R6
10| STG.64 [R0+0x8], R4
11| STG.32 [R0+0x10], R5
12| EXIT
.func f
1| IADD3 R3, R3, 0x1, RZ
-| STS.32.SPILL [R7], R3
4| RET
""",
    ),
}
