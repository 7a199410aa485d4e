"""Hand-made pairs with guards, branches, loops and calls."""

from __future__ import annotations

CONTROL: dict[str, tuple[str, str]] = {
    "loop": (
        """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
MOV R0, 0x0
MOV R1, 0xa
loop:
LDG.32 R4, [R2]
IADD3 R0, R0, R4, RZ
IADD3 R1, R1, 0xffffffff, RZ
IADD3 R2, R2, 0x4, RZ
ISETP.GT.AND P0, PT, R1, 0x0, PT
@P0 BRA loop, done
done:
STG.32 [R2], R0
EXIT
""",
        """
.kernel k registers=5 slot_bytes=128 slot_pointer=4 spill_local=4
-| S2R R4, SR_SLOTBASE
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| MOV R2, 0x0
-| STS.32.SPILL [R4], R2
3| MOV R3, 0xa
loop:
4| LDG.32 R2, [R0]
-| STL.32.SPILL [0x0], R3
-| LDS.32.SPILL R3, [R4]
5| IADD3 R2, R3, R2, RZ
-| STS.32.SPILL [R4], R2
-| LDL.32.SPILL R3, [0x0]
6| IADD3 R3, R3, 0xffffffff, RZ
7| IADD3 R0, R0, 0x4, RZ
8| ISETP.GT.AND P1, PT, R3, 0x0, PT
9| @P1 BRA loop, done
done:
-| LDS.32.SPILL R3, [R4]
10| STG.32 [R0], R3
11| EXIT
""",
    ),
    "point_passed_again": (
        """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R0, [R2]
first:
LDG.32 R1, [R2+0x4]
ISETP.GT.AND P0, PT, R1, R0, PT
@P0 BRA first, between
between:
MOV R6, R0
second:
IADD3 R1, R1, R0, RZ
ISETP.GT.AND P0, PT, R1, R0, PT
@P0 BRA second, done
done:
STG.32 [R2], R1
EXIT
""",
        """
.kernel k registers=5 spill_local=4
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| LDG.32 R2, [R0]
-| STL.32.SPILL [0x0], R2
first:
3| LDG.32 R3, [R0+0x4]
-| LDL.32.SPILL R2, [0x0]
4| ISETP.GT.AND P0, PT, R3, R2, PT
5| @P0 BRA first, second
second:
-| LDL.32.SPILL R4, [0x0]
7| IADD3 R3, R3, R4, RZ
8| ISETP.GT.AND P0, PT, R3, R4, PT
9| @P0 BRA second, done
done:
10| STG.32 [R0], R3
11| EXIT
""",
    ),
    "guards_one_after_the_other": (  # the first store of R1's home comes after R1 was defined again elsewhere
        """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.64 R0, [R2]
ISETP.LT.AND P0, PT, R0, 0x5, PT
ISETP.LT.AND P1, PT, R0, 0x9, PT
@!P0 MOV R1, R0
@!P1 MOV R1, 0x1
STG.32 [R2], R1
EXIT
""",
        """
.kernel k registers=5 spill_local=4
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
-| STL.32.SPILL [0x0], R1
3| ISETP.LT.AND P0, PT, R0, 0x5, PT
4| ISETP.LT.AND P1, PT, R0, 0x9, PT
6| @!P1 MOV R1, 0x1
-| @!P0 STL.32.SPILL [0x0], R0
-| @!P1 STL.32.SPILL [0x0], R1
-| LDL.32.SPILL R1, [0x0]
7| STG.32 [R2], R1
8| EXIT
""",
    ),
    "divergence": (
        """
.kernel k registers=10
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R4, [R2]
ISETP.LT.AND P0, PT, R0, 0x5, PT
@P0 BRA then, join
IADD3 R5, R4, 0x1, RZ
BRA join
then:
IADD3 R5, R4, 0x2, RZ
join:
STG.32 [R2], R5
STG.32 [R2+0x4], R4
EXIT
""",
        """
.kernel k registers=5 slot_bytes=128 slot_pointer=4
-| S2R R4, SR_SLOTBASE
1| MOV R0, c[0][0x0]
2| MOV R1, c[0][0x4]
3| LDG.32 R2, [R0]
-| S2R R3, SR_TID.X
4| ISETP.LT.AND P3, PT, R3, 0x5, PT
5| @P3 BRA then, join
6| IADD3 R3, R2, 0x1, RZ
-| STS.32.SPILL [R4], R3
7| BRA join
then:
8| IADD3 R1, R2, 0x2, RZ
-| STS.32.SPILL [R4], R1
-| MOV R1, c[0][0x4]
join:
-| LDS.32.SPILL R3, [R4]
9| STG.32 [R0], R3
10| STG.32 [R0+0x4], R2
11| EXIT
""",
    ),
    "guarded_definitions": (
        """
.kernel k registers=10
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R4, [R2]
ISETP.LT.AND P0, P1, R0, 0x5, PT
@P0 IADD3 R4, R4, R0, RZ
@!P0 IADD3 R5, R4, R0, RZ
@P0 MOV R5, R4
@P0 LDG.32 R6, [R2+0x8]
@P0 FADD R5, R5, R6
@P1 STG.32 [R2+0x4], R5
STG.32 [R2], R5
STG.32 [R2+0x8], R4
EXIT
""",
        """
.kernel k registers=7 slot_bytes=256 slot_pointer=6
-| S2R R6, SR_SLOTBASE
0| S2R R3, SR_TID.X
1| MOV R0, c[0][0x0]
2| MOV R1, c[0][0x4]
3| LDG.32 R2, [R0]
-| STS.32.SPILL [R6], R2
4| ISETP.LT.AND P2, P1, R3, 0x5, PT
-| LDS.32.SPILL R4, [R6]
5| @P2 IADD3 R4, R4, R3, RZ
-| @P2 STS.32.SPILL [R6], R4
-| LDS.32.SPILL R2, [R6]
6| @!P2 IADD3 R5, R2, R3, RZ
-| @!P2 STS.32.SPILL [R6+0x80], R5
-| @P2 STS.32.SPILL [R6+0x80], R2
8| @P2 LDG.32 R4, [R0+0x8]
-| LDS.32.SPILL R5, [R6+0x80]
9| @P2 FADD R5, R5, R4
-| STS.32.SPILL [R6+0x80], R5
10| @P1 STG.32 [R0+0x4], R5
-| LDS.32.SPILL R3, [R6+0x80]
11| STG.32 [R0], R3
-| LDS.32.SPILL R3, [R6]
12| STG.32 [R0+0x8], R3
13| EXIT
""",
    ),
    "predicates": (
        """
.kernel k registers=8
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
ISETP.LT.AND P0, PT, R0, 0x5, PT
ISETP.GT.AND P1, PT, R0, 0x9, PT
PLOP3 P2, PT, P0, P1, PT, 0x80, 0x0
SEL R1, R0, 0x3, P0
@P1 STG.32 [R2], R1
@!P2 STG.32 [R2+0x4], R0
@P0 STG.32 [R2+0x8], R0
EXIT
""",
        """
.kernel k registers=6 slot_bytes=128 slot_pointer=5
-| S2R R5, SR_SLOTBASE
0| S2R R0, SR_TID.X
1| MOV R2, c[0][0x0]
2| MOV R3, c[0][0x4]
3| ISETP.LT.AND P4, PT, R0, 0x5, PT
-| P2R R4, RZ, 0x10
4| ISETP.GT.AND P5, PT, R0, 0x9, PT
-| P2R R4, R4, 0x20
-| STS.32.SPILL [R5], R4
5| PLOP3 P4, PT, P4, P5, PT, 0x80, 0x0
-| P2R R1, RZ, 0x10
-| LDS.32.SPILL R4, [R5]
-| R2P R4, 0x30
-| MOV R4, R1
6| SEL R1, R0, 0x3, P4
7| @P5 STG.32 [R2], R1
-| R2P R4, 0x10
8| @!P4 STG.32 [R2+0x4], R0
-| LDS.32.SPILL R4, [R5]
-| R2P R4, 0x10
9| @P4 STG.32 [R2+0x8], R0
10| EXIT
""",
    ),
    "calls": (
        """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R8, [R2]
LDG.32 R9, [R2+0x4]
LDG.32 R4, [R2+0x8]
CALL f
STG.32 [R2], R5
MOV R4, R8
CALL f
IADD3 R5, R5, R9, RZ
STG.32 [R2+0x4], R5
STG.32 [R2+0x8], R8
EXIT
.func f
IADD3 R6, R4, 0x3, RZ
CALL g
IADD3 R5, R6, R7, RZ
RET
.func g
IMAD R7, R6, R4, R6
RET
""",
        """
.kernel k registers=6 slot_bytes=512 slot_pointer=5 spill_local=4
-| S2R R5, SR_SLOTBASE
0| MOV R0, c[0][0x0]
1| MOV R1, c[0][0x4]
2| LDG.32 R2, [R0]
-| STS.32.SPILL [R5], R2
3| LDG.32 R2, [R0+0x4]
-| STS.32.SPILL [R5+0x80], R2
4| LDG.32 R2, [R0+0x8]
-| IADD3 R5, R5, 0x100, RZ
5| CALL f
-| IADD3 R5, R5, 0xffffff00, RZ
6| STG.32 [R0], R3
-| LDS.32.SPILL R2, [R5]
-| STL.32.SPILL [0x0], R2
-| LDS.32.SPILL R4, [R5+0x80]
-| STS.32.SPILL [R5], R4
-| IADD3 R5, R5, 0x80, RZ
8| CALL f
-| IADD3 R5, R5, 0xffffff80, RZ
-| LDS.32.SPILL R4, [R5]
9| IADD3 R4, R3, R4, RZ
10| STG.32 [R0+0x4], R4
-| LDL.32.SPILL R4, [0x0]
11| STG.32 [R0+0x8], R4
12| EXIT
.func f
0| IADD3 R3, R2, 0x3, RZ
-| STS.32.SPILL [R5], R3
-| IADD3 R5, R5, 0x80, RZ
1| CALL g
-| IADD3 R5, R5, 0xffffff80, RZ
-| LDS.32.SPILL R4, [R5]
2| IADD3 R3, R4, R3, RZ
3| RET
.func g
-| STS.32.SPILL [R5], R2
-| LDS.32.SPILL R4, [R5]
0| IMAD R3, R3, R4, R3
1| RET
""",
    ),
    "guarded_call": (
        """
.kernel k registers=12
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R4, [R2]
LDG.32 R5, [R2+0x4]
ISETP.LT.AND P0, PT, R0, 0x5, PT
@P0 CALL f
STG.32 [R2], R5
STG.32 [R2+0x4], R0
@!P0 CALL f
STG.32 [R2], R5
EXIT
.func f
FADD R5, R4, R5
RET
""",
        """
.kernel k registers=7 slot_bytes=128 slot_pointer=6
-| S2R R6, SR_SLOTBASE
0| S2R R0, SR_TID.X
-| STS.32.SPILL [R6], R0
1| MOV R2, c[0][0x0]
2| MOV R3, c[0][0x4]
3| LDG.32 R4, [R2]
4| LDG.32 R5, [R2+0x4]
5| ISETP.LT.AND P0, PT, R0, 0x5, PT
-| @!P0 BRA skip, skip
-| MOV R0, R4
-| MOV R1, R5
-| IADD3 R6, R6, 0x80, RZ
6| CALL f.1
-| IADD3 R6, R6, 0xffffff80, RZ
-| MOV R5, R0
skip:
7| STG.32 [R2], R5
-| LDS.32.SPILL R0, [R6]
8| STG.32 [R2+0x4], R0
9| @!P0 CALL f
10| STG.32 [R2], R5
11| EXIT
.func f
0| FADD R5, R4, R5
1| RET
.func f.1
0| FADD R0, R0, R1
1| RET
""",
    ),
}
