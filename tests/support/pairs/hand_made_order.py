"""Hand-made pairs whose rewrites execute instructions in another order, elsewhere, or more than once."""

from __future__ import annotations

_TWO_VALUES = """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R0, [R2]
FADD R4, R0, R0
STG.32 [R2], R4
LDG.32 R0, [R2+0x8]
FADD R4, R0, R0
STG.32 [R2+0x8], R4
ATOMG.ADD R5, [R2+0x10], R4
RED.ADD [R2+0x14], R5
BAR 0x0
LDS.32 R6, [R5]
BAR 0x0
EXIT
"""

ORDER: dict[str, tuple[str, str]] = {
    "one_register_two_values": (  # R0 and R4 hold unrelated values, which the rewrite has alive at once
        _TWO_VALUES,
        """
.kernel k registers=10
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
5| LDG.32 R6, [R2+0x8]
2| LDG.32 R0, [R2]
6| FADD R7, R6, R6
3| FADD R4, R0, R0
7| STG.32 [R2+0x8], R7
4| STG.32 [R2], R4
8| ATOMG.ADD R5, [R2+0x10], R7
9| RED.ADD [R2+0x14], R5
10| BAR 0x0
11| LDS.32 R6, [R5]
12| BAR 0x0
13| EXIT
""",
    ),
    "order_in_a_loop": (  # the counter is tested before the body, and the body's load comes first
        """
.kernel k registers=10
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
MOV R0, 0x0
MOV R1, 0xa
loop:
IADD3 R1, R1, 0xffffffff, RZ
LDG.32 R4, [R2]
IADD3 R0, R0, R4, RZ
ISETP.GT.AND P0, PT, R1, 0x0, PT
LDS.32 R4, [R1]
IADD3 R0, R0, R4, RZ
STS.32 [R0], R4
IADD3 R2, R2, 0x4, RZ
@P0 BRA loop, done
done:
STG.32 [R2], R0
EXIT
""",
        """
.kernel k registers=8
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| MOV R0, 0x0
3| MOV R1, 0xa
loop:
5| LDG.32 R4, [R2]
4| IADD3 R1, R1, 0xffffffff, RZ
8| LDS.32 R5, [R1]
11| IADD3 R2, R2, 0x4, RZ
6| IADD3 R0, R0, R4, RZ
7| ISETP.GT.AND P1, PT, R1, 0x0, PT
9| IADD3 R0, R0, R5, RZ
10| STS.32 [R0], R5
12| @P1 BRA loop, done
done:
13| STG.32 [R2], R0
14| EXIT
""",
    ),
    "order_of_guards": (
        """
.kernel k registers=10
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.64 R0, [R2]
ISETP.LT.AND P0, PT, R0, 0x5, PT
@P0 IADD3 R4, R0, R1, RZ
@!P0 IADD3 R4, R1, -R0, RZ
ISETP.LT.AND P0, PT, R1, 0x9, PT
@P0 STG.32 [R2], R4
@!P0 STG.32 [R2+0x4], R4
EXIT
""",
        """
.kernel k registers=8
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
6| ISETP.LT.AND P1, PT, R1, 0x9, PT
3| ISETP.LT.AND P0, PT, R0, 0x5, PT
4| @P0 IADD3 R4, R0, R1, RZ
5| @!P0 IADD3 R4, R1, -R0, RZ
8| @!P1 STG.32 [R2+0x4], R4
7| @P1 STG.32 [R2], R4
9| EXIT
""",
    ),
    "order_before_a_guarded_exit": (  # likewise those that do not exit: they read no R0 that the others wrote
        """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.64 R0, [R2]
ISETP.LT.AND P2, PT, R0, 0x5, PT
@!P2 IADD3 R0, R0, 0x8, RZ
@P2 IADD3 R1, R1, R0, RZ
@!P2 STG.32 [R2], R0
@!P2 EXIT
STG.64 [R2+0x8], R0
EXIT
""",
        """
.kernel k registers=12
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
3| ISETP.LT.AND P2, PT, R0, 0x5, PT
5| @P2 IADD3 R1, R1, R0, RZ
4| @!P2 IADD3 R0, R0, 0x8, RZ
6| @!P2 STG.32 [R2], R0
7| @!P2 EXIT
8| STG.64 [R2+0x8], R0
9| EXIT
""",
    ),
    "order_behind_a_guarded_return": (  # those that go on have in R0 what was there before, not what the others return
        """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R0, [R2]
LDG.32 R4, [R2+0x4]
ISETP.LT.AND P2, PT, R0, 0x5, PT
CALL f
STG.32 [R2], R0
STG.32 [R2+0x4], R4
EXIT
.func f
ISETP.LT.AND P4, PT, R4, R0, PT
@!P2 IADD3 R0, R0, 0x8, RZ
@!P2 RET
@P4 IADD3 R4, R4, R0, RZ
IADD3 R0, R0, 0x10, RZ
RET
""",
        """
.kernel k registers=12
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.32 R0, [R2]
3| LDG.32 R4, [R2+0x4]
4| ISETP.LT.AND P2, PT, R0, 0x5, PT
5| CALL f
6| STG.32 [R2], R0
7| STG.32 [R2+0x4], R4
8| EXIT
.func f
0| ISETP.LT.AND P4, PT, R4, R0, PT
1| @!P2 IADD3 R0, R0, 0x8, RZ
2| @!P2 RET
4| IADD3 R5, R0, 0x10, RZ
3| @P4 IADD3 R4, R4, R0, RZ
-| MOV R0, R5
5| RET
""",
    ),
}

ELSEWHERE: dict[str, tuple[str, str]] = {
    "sunk_and_hoisted": (  # the address is made where it is read; what one way alone needs is made before the branch
        """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R0, [R2]
IMAD.WIDE R6, R0, 0x4, R2
SHF.L.U32 R8, R0, 0x3, RZ
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 BRA small, join
STG.32 [R6], R8
LOP3 R9, R0, R8, RZ, 0x3c
BRA join
small:
LOP3 R9, R0, R8, RZ, 0xc0
STG.32 [R6], R9
join:
STG.32 [R2], R9
EXIT
""",
        """
.kernel k registers=12
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.32 R0, [R2]
5| ISETP.LT.AND P0, PT, R0, 0x10, PT
4| SHF.L.U32 R8, R0, 0x3, RZ
10| LOP3 R9, R0, R8, RZ, 0xc0
6| @P0 BRA small, join
3| IMAD.WIDE R6, R0, 0x4, R2
7| STG.32 [R6], R8
-| SHF.L.U32 R5, R0, 0x3, RZ
8| LOP3 R9, R0, R5, RZ, 0x3c
-| BRA join
small:
3| IMAD.WIDE R4, R0, 0x4, R2
11| STG.32 [R4], R9
join:
12| STG.32 [R2], R9
13| EXIT
""",
    ),
    "made_again": (  # an address with its carry, from a product, a special register and a constant
        """
.kernel k registers=14
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
S2R R0, SR_TID.X
LDC.32 R1, c[0][0x0]
IMAD.WIDE R4, R0, 0x8, R2
IADD3 R6, P0, R4, R1, RZ
IADD3.X R7, R5, RZ, RZ, P0
LDG.32 R8, [R6]
MOV R9, 0x0
loop:
LDG.32 R10, [R6+0x4]
IADD3 R9, R9, R10, RZ
ISETP.LT.AND P0, PT, R9, R8, PT
@P0 BRA loop, done
done:
STG.32 [R6], R9
EXIT
""",
        """
.kernel k registers=10
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| S2R R0, SR_TID.X
3| LDC.32 R1, c[0][0x0]
4| IMAD.WIDE R4, R0, 0x8, R2
5| IADD3 R6, P0, R4, R1, RZ
6| IADD3.X R7, R5, RZ, RZ, P0
7| LDG.32 R8, [R6]
8| MOV R9, 0x0
loop:
-| S2R R0, SR_TID.X
-| MOV R2, c[0][0x0]
-| MOV R3, c[0][0x4]
4| IMAD.WIDE R4, R0, 0x8, R2
-| LDC.32 R1, c[0][0x0]
5| IADD3 R6, P1, R4, R1, RZ
-| IADD3.X R7, R5, RZ, RZ, P1
9| LDG.32 R6, [R6+0x4]
10| IADD3 R9, R9, R6, RZ
11| ISETP.LT.AND P0, PT, R9, R8, PT
12| @P0 BRA loop, done
done:
-| IMAD.WIDE R0, R0, 0x8, R2
-| LDC.32 R5, c[0][0x0]
-| IADD3 R6, P1, R0, R5, RZ
-| IADD3.X R7, R1, RZ, RZ, P1
13| STG.32 [R6], R9
14| EXIT
""",
    ),
    "exchanged": (
        """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.64 R0, [R2]
STG.32 [R2], R0
IADD3 R4, R0, -R1, RZ
STG.64 [R2+0x8], R0
STG.32 [R2+0x4], R4
EXIT
""",
        """
.kernel k registers=8
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
-| LOP3 R0, R0, R1, RZ, 0x3c
-| LOP3 R1, R0, R1, RZ, 0x3c
-| MOV R5, 0x1
-| LOP3 R0, R0, R1, RZ, 0x3c
3| STG.32 [R2], R1
4| IADD3 R4, R1, -R0, RZ
-| LOP3 R1, R1, R0, RZ, 0x3c
-| LOP3 R0, R0, R1, RZ, 0x3c
-| LOP3 R1, R1, R0, RZ, 0x3c
5| STG.64 [R2+0x8], R0
6| STG.32 [R2+0x4], R4
7| EXIT
""",
    ),
    "predicate_as_a_word": (
        """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.64 R0, [R2]
ISETP.LT.AND P0, PT, R0, R1, PT
ISETP.LT.AND P1, PT, R1, 0x7, PT
@P1 STG.32 [R2], R0
@P0 STG.32 [R2+0x4], R1
@!P0 STG.32 [R2+0x8], R1
EXIT
""",
        """
.kernel k registers=6 spill_local=4
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
3| ISETP.LT.AND P0, PT, R0, R1, PT
-| SEL R4, RZ, 0x1, !P0
-| STL.32.SPILL [0x0], R4
4| ISETP.LT.AND P0, PT, R1, 0x7, PT
5| @P0 STG.32 [R2], R0
-| LDL.32.SPILL R5, [0x0]
-| ISETP.NE.AND P0, PT, R5, RZ, PT
6| @P0 STG.32 [R2+0x4], R1
7| @!P0 STG.32 [R2+0x8], R1
8| EXIT
""",
    ),
}
