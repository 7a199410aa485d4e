"""Hand-made (original, rewritten) pairs that the checker must accept; the mutation library starts from them too.

Loads are U32 words: width=4. Shared slots are `STS/LDS ... spill=1 width=4`, pointer set by S2R sreg=26.
"""

from __future__ import annotations

from binalloc.isa.instruction import Module
from tests.support.pairs.text import module

_STRAIGHT = """
.kernel k registers=8
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=0 ra=2 width=4
LDG rd=1 ra=2 moff=4 width=4
FADD rd=4 ra=0 rb=1
FFMA rd=4 ra=0 rb=1 rc=4
STG ra=2 rb=4 width=4
STG ra=2 rb=0 moff=8 width=4
EXIT
"""

PAIRS: dict[str, tuple[str, str]] = {
    "renamed": (
        _STRAIGHT,
        """
.kernel k registers=6
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| LDG rd=3 ra=0 width=4
3| LDG rd=2 ra=0 moff=4 width=4
4| FADD rd=5 ra=3 rb=2
5| FFMA rd=2 ra=3 rb=2 rc=5
6| STG ra=0 rb=2 width=4
7| STG ra=0 rb=3 moff=8 width=4
8| EXIT
""",
    ),
    "slots_and_remat": (
        _STRAIGHT,
        """
.kernel k registers=7 slot_bytes=256 slot_pointer=6
-| S2R rd=6 sreg=26
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| LDG rd=2 ra=0 width=4
-| STS ra=6 rb=2 spill=1 width=4
3| LDG rd=3 ra=0 moff=4 width=4
-| STS ra=6 rb=3 moff=128 spill=1 width=4
-| LDS rd=0 ra=6 spill=1 width=4
-| LDS rd=1 ra=6 moff=128 spill=1 width=4
4| FADD rd=4 ra=0 rb=1
-| LDS rd=2 ra=6 spill=1 width=4
-| LDS rd=3 ra=6 moff=128 spill=1 width=4
5| FFMA rd=5 ra=2 rb=3 rc=4
-| MOV rd=0 form=2 cbank=0 coff=0
-| MOV rd=1 form=2 cbank=0 coff=4
6| STG ra=0 rb=5 width=4
-| LDS rd=3 ra=6 spill=1 width=4
7| STG ra=0 rb=3 moff=8 width=4
8| EXIT
""",
    ),
    "local_spill": (
        _STRAIGHT.replace("registers=8", "registers=8 local_bytes=16"),
        """
.kernel k registers=6 local_bytes=16 spill_local=4
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| LDG rd=2 ra=0 width=4
-| STL rb=2 moff=16 spill=1 width=4
3| LDG rd=3 ra=0 moff=4 width=4
4| FADD rd=4 ra=2 rb=3
-| MOV rd=5 rb=4
5| FFMA rd=4 ra=2 rb=3 rc=5
6| STG ra=0 rb=4 width=4
-| LDL rd=5 moff=16 spill=1 width=4
7| STG ra=0 rb=5 moff=8 width=4
8| EXIT
""",
    ),
    "loop": (
        """
.kernel k registers=8
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
MOV rd=0 form=1 imm=0
MOV rd=1 form=1 imm=10
loop:
LDG rd=4 ra=2 width=4
IADD3 rd=0 ra=0 rb=4
IADD3 rd=1 ra=1 form=1 imm=0xffffffff
IADD3 rd=2 ra=2 form=1 imm=4
ISETP pd0=0 ra=1 form=1 imm=0 icmp=4
@P0 BRA ->loop ^done
done:
STG ra=2 rb=0 width=4
EXIT
""",
        """
.kernel k registers=5 slot_bytes=128 slot_pointer=4 spill_local=4
-| S2R rd=4 sreg=26
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| MOV rd=2 form=1 imm=0
-| STS ra=4 rb=2 spill=1 width=4
3| MOV rd=3 form=1 imm=10
loop:
4| LDG rd=2 ra=0 width=4
-| STL rb=3 moff=0 spill=1 width=4
-| LDS rd=3 ra=4 spill=1 width=4
5| IADD3 rd=2 ra=3 rb=2
-| STS ra=4 rb=2 spill=1 width=4
-| LDL rd=3 moff=0 spill=1 width=4
6| IADD3 rd=3 ra=3 form=1 imm=0xffffffff
7| IADD3 rd=0 ra=0 form=1 imm=4
8| ISETP pd0=1 ra=3 form=1 imm=0 icmp=4
9| @P1 BRA ->loop ^done
done:
-| LDS rd=3 ra=4 spill=1 width=4
10| STG ra=0 rb=3 width=4
11| EXIT
""",
    ),
    "point_passed_again": (
        """
.kernel k registers=8
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=0 ra=2 width=4
first:
LDG rd=1 ra=2 moff=4 width=4
ISETP pd0=0 ra=1 rb=0 icmp=4
@P0 BRA ->first ^between
between:
MOV rd=6 rb=0
second:
IADD3 rd=1 ra=1 rb=0
ISETP pd0=0 ra=1 rb=0 icmp=4
@P0 BRA ->second ^done
done:
STG ra=2 rb=1 width=4
EXIT
""",
        """
.kernel k registers=5 spill_local=4
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| LDG rd=2 ra=0 width=4
-| STL rb=2 spill=1 width=4
first:
3| LDG rd=3 ra=0 moff=4 width=4
-| LDL rd=2 spill=1 width=4
4| ISETP pd0=0 ra=3 rb=2 icmp=4
5| @P0 BRA ->first ^second
second:
-| LDL rd=4 spill=1 width=4
7| IADD3 rd=3 ra=3 rb=4
8| ISETP pd0=0 ra=3 rb=4 icmp=4
9| @P0 BRA ->second ^done
done:
10| STG ra=0 rb=3 width=4
11| EXIT
""",
    ),
    "guards_one_after_the_other": (  # the first store of R1's home comes after R1 was defined again elsewhere
        """
.kernel k registers=8
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=0 ra=2 width=5
ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
ISETP pd0=1 ra=0 form=1 imm=9 icmp=1
@!P0 MOV rd=1 rb=0
@!P1 MOV rd=1 form=1 imm=1
STG ra=2 rb=1 width=4
EXIT
""",
        """
.kernel k registers=5 spill_local=4
0| MOV rd=2 form=2 cbank=0 coff=0
1| MOV rd=3 form=2 cbank=0 coff=4
2| LDG rd=0 ra=2 width=5
-| STL rb=1 spill=1 width=4
3| ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
4| ISETP pd0=1 ra=0 form=1 imm=9 icmp=1
6| @!P1 MOV rd=1 form=1 imm=1
-| @!P0 STL rb=0 spill=1 width=4
-| @!P1 STL rb=1 spill=1 width=4
-| LDL rd=1 spill=1 width=4
7| STG ra=2 rb=1 width=4
8| EXIT
""",
    ),
    "divergence": (
        """
.kernel k registers=10
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=4 ra=2 width=4
ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
@P0 BRA ->then ^join
IADD3 rd=5 ra=4 form=1 imm=1
BRA ->join
then:
IADD3 rd=5 ra=4 form=1 imm=2
join:
STG ra=2 rb=5 width=4
STG ra=2 rb=4 moff=4 width=4
EXIT
""",
        """
.kernel k registers=5 slot_bytes=128 slot_pointer=4
-| S2R rd=4 sreg=26
1| MOV rd=0 form=2 cbank=0 coff=0
2| MOV rd=1 form=2 cbank=0 coff=4
3| LDG rd=2 ra=0 width=4
-| S2R rd=3 sreg=0
4| ISETP pd0=3 ra=3 form=1 imm=5 icmp=1
5| @P3 BRA ->then ^join
6| IADD3 rd=3 ra=2 form=1 imm=1
-| STS ra=4 rb=3 spill=1 width=4
7| BRA ->join
then:
8| IADD3 rd=1 ra=2 form=1 imm=2
-| STS ra=4 rb=1 spill=1 width=4
-| MOV rd=1 form=2 cbank=0 coff=4
join:
-| LDS rd=3 ra=4 spill=1 width=4
9| STG ra=0 rb=3 width=4
10| STG ra=0 rb=2 moff=4 width=4
11| EXIT
""",
    ),
    "guarded_definitions": (
        """
.kernel k registers=10
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=4 ra=2 width=4
ISETP pd0=0 pd1=1 ra=0 form=1 imm=5 icmp=1
@P0 IADD3 rd=4 ra=4 rb=0
@!P0 IADD3 rd=5 ra=4 rb=0
@P0 MOV rd=5 rb=4
@P0 LDG rd=6 ra=2 moff=8 width=4
@P0 FADD rd=5 ra=5 rb=6
@P1 STG ra=2 rb=5 moff=4 width=4
STG ra=2 rb=5 width=4
STG ra=2 rb=4 moff=8 width=4
EXIT
""",
        """
.kernel k registers=7 slot_bytes=256 slot_pointer=6
-| S2R rd=6 sreg=26
0| S2R rd=3 sreg=0
1| MOV rd=0 form=2 cbank=0 coff=0
2| MOV rd=1 form=2 cbank=0 coff=4
3| LDG rd=2 ra=0 width=4
-| STS ra=6 rb=2 spill=1 width=4
4| ISETP pd0=2 pd1=1 ra=3 form=1 imm=5 icmp=1
-| LDS rd=4 ra=6 spill=1 width=4
5| @P2 IADD3 rd=4 ra=4 rb=3
-| @P2 STS ra=6 rb=4 spill=1 width=4
-| LDS rd=2 ra=6 spill=1 width=4
6| @!P2 IADD3 rd=5 ra=2 rb=3
-| @!P2 STS ra=6 rb=5 moff=128 spill=1 width=4
-| @P2 STS ra=6 rb=2 moff=128 spill=1 width=4
8| @P2 LDG rd=4 ra=0 moff=8 width=4
-| LDS rd=5 ra=6 moff=128 spill=1 width=4
9| @P2 FADD rd=5 ra=5 rb=4
-| STS ra=6 rb=5 moff=128 spill=1 width=4
10| @P1 STG ra=0 rb=5 moff=4 width=4
-| LDS rd=3 ra=6 moff=128 spill=1 width=4
11| STG ra=0 rb=3 width=4
-| LDS rd=3 ra=6 spill=1 width=4
12| STG ra=0 rb=3 moff=8 width=4
13| EXIT
""",
    ),
    "pairs_and_quads": (
        """
.kernel k registers=16
MOV rd=0 form=2 cbank=0 coff=0
MOV rd=1 form=2 cbank=0 coff=4
LDG rd=4 ra=0 width=6
LDG rd=2 ra=0 moff=16 width=5
DADD rd=4 ra=4 rb=2
DFMA rd=8 ra=4 rb=2 rc=6
MOV rd=10 rb=8
MOV rd=11 rb=9
STG ra=0 rb=8 width=6
STG ra=0 rb=4 moff=16 width=5
EXIT
""",
        """
.kernel k registers=13 spill_local=16 slot_bytes=256 slot_pointer=12
-| S2R rd=12 sreg=26
0| MOV rd=2 form=2 cbank=0 coff=0
1| MOV rd=3 form=2 cbank=0 coff=4
2| LDG rd=8 ra=2 width=6
3| LDG rd=0 ra=2 moff=16 width=5
-| STL rb=0 moff=8 spill=1 width=5
4| DADD rd=4 ra=8 rb=0
-| STS ra=12 rb=4 spill=1 width=4
-| STS ra=12 rb=5 moff=128 spill=1 width=4
-| LDL rd=6 moff=8 spill=1 width=5
5| DFMA rd=8 ra=4 rb=6 rc=10
-| MOV rd=10 rb=8
-| MOV rd=11 rb=9
8| STG ra=2 rb=8 width=6
-| LDS rd=0 ra=12 spill=1 width=4
-| LDS rd=1 ra=12 moff=128 spill=1 width=4
9| STG ra=2 rb=0 moff=16 width=5
10| EXIT
""",
    ),
    "coalesced": (
        """
.kernel k registers=10
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=4 ra=2 width=4
MOV rd=5 rb=4
IADD3 rd=6 ra=5 rb=4
MOV rd=7 rb=6
MOV rd=9 form=1 imm=7
IADD3 rd=8 ra=7 rb=9
STG ra=2 rb=7 width=4
STG ra=2 rb=5 moff=4 width=4
STG ra=2 rb=8 moff=8 width=4
EXIT
""",
        """
.kernel k registers=6
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| LDG rd=2 ra=0 width=4
4| IADD3 rd=3 ra=2 rb=2
-| MOV rd=4 form=1 imm=7
7| IADD3 rd=4 ra=3 rb=4
8| STG ra=0 rb=3 width=4
9| STG ra=0 rb=2 moff=4 width=4
10| STG ra=0 rb=4 moff=8 width=4
11| EXIT
""",
    ),
    "predicates": (
        """
.kernel k registers=8
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
ISETP pd0=1 ra=0 form=1 imm=9 icmp=4
PLOP3 pd0=2 ps0=0 ps1=1 lut_b=0x80
SEL rd=1 ra=0 form=1 imm=3 ps0=0
@P1 STG ra=2 rb=1 width=4
@!P2 STG ra=2 rb=0 moff=4 width=4
@P0 STG ra=2 rb=0 moff=8 width=4
EXIT
""",
        """
.kernel k registers=6 slot_bytes=128 slot_pointer=5
-| S2R rd=5 sreg=26
0| S2R rd=0 sreg=0
1| MOV rd=2 form=2 cbank=0 coff=0
2| MOV rd=3 form=2 cbank=0 coff=4
3| ISETP pd0=4 ra=0 form=1 imm=5 icmp=1
-| P2R rd=4 pmask=0x10
4| ISETP pd0=5 ra=0 form=1 imm=9 icmp=4
-| P2R rd=4 ra=4 pmask=0x20
-| STS ra=5 rb=4 spill=1 width=4
5| PLOP3 pd0=4 ps0=4 ps1=5 lut_b=0x80
-| P2R rd=1 pmask=0x10
-| LDS rd=4 ra=5 spill=1 width=4
-| R2P ra=4 pmask=0x30
-| MOV rd=4 rb=1
6| SEL rd=1 ra=0 form=1 imm=3 ps0=4
7| @P5 STG ra=2 rb=1 width=4
-| R2P ra=4 pmask=0x10
8| @!P4 STG ra=2 rb=0 moff=4 width=4
-| LDS rd=4 ra=5 spill=1 width=4
-| R2P ra=4 pmask=0x10
9| @P4 STG ra=2 rb=0 moff=8 width=4
10| EXIT
""",
    ),
    "calls": (
        """
.kernel k registers=12
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=8 ra=2 width=4
LDG rd=9 ra=2 moff=4 width=4
LDG rd=4 ra=2 moff=8 width=4
CALL ->f
STG ra=2 rb=5 width=4
MOV rd=4 rb=8
CALL ->f
IADD3 rd=5 ra=5 rb=9
STG ra=2 rb=5 moff=4 width=4
STG ra=2 rb=8 moff=8 width=4
EXIT
.function f
IADD3 rd=6 ra=4 form=1 imm=3
CALL ->g
IADD3 rd=5 ra=6 rb=7
RET
.function g
IMAD rd=7 ra=6 rb=4 rc=6
RET
""",
        """
.kernel k registers=6 slot_bytes=512 slot_pointer=5 spill_local=4
-| S2R rd=5 sreg=26
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| LDG rd=2 ra=0 width=4
-| STS ra=5 rb=2 spill=1 width=4
3| LDG rd=2 ra=0 moff=4 width=4
-| STS ra=5 rb=2 moff=128 spill=1 width=4
4| LDG rd=2 ra=0 moff=8 width=4
-| IADD3 rd=5 ra=5 form=1 imm=256
5| CALL ->f
-| IADD3 rd=5 ra=5 form=1 imm=0xffffff00
6| STG ra=0 rb=3 width=4
-| LDS rd=2 ra=5 spill=1 width=4
-| STL rb=2 moff=0 spill=1 width=4
-| LDS rd=4 ra=5 moff=128 spill=1 width=4
-| STS ra=5 rb=4 spill=1 width=4
-| IADD3 rd=5 ra=5 form=1 imm=128
8| CALL ->f
-| IADD3 rd=5 ra=5 form=1 imm=0xffffff80
-| LDS rd=4 ra=5 spill=1 width=4
9| IADD3 rd=4 ra=3 rb=4
10| STG ra=0 rb=4 moff=4 width=4
-| LDL rd=4 moff=0 spill=1 width=4
11| STG ra=0 rb=4 moff=8 width=4
12| EXIT
.function f
0| IADD3 rd=3 ra=2 form=1 imm=3
-| STS ra=5 rb=3 spill=1 width=4
-| IADD3 rd=5 ra=5 form=1 imm=128
1| CALL ->g
-| IADD3 rd=5 ra=5 form=1 imm=0xffffff80
-| LDS rd=4 ra=5 spill=1 width=4
2| IADD3 rd=3 ra=4 rb=3
3| RET
.function g
-| STS ra=5 rb=2 spill=1 width=4
-| LDS rd=4 ra=5 spill=1 width=4
0| IMAD rd=3 ra=3 rb=4 rc=3
1| RET
""",
    ),
    "guarded_call": (
        """
.kernel k registers=12
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=4 ra=2 width=4
LDG rd=5 ra=2 moff=4 width=4
ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
@P0 CALL ->f
STG ra=2 rb=5 width=4
STG ra=2 rb=0 moff=4 width=4
@!P0 CALL ->f
STG ra=2 rb=5 width=4
EXIT
.function f
FADD rd=5 ra=4 rb=5
RET
""",
        """
.kernel k registers=7 slot_bytes=128 slot_pointer=6
-| S2R rd=6 sreg=26
0| S2R rd=0 sreg=0
-| STS ra=6 rb=0 spill=1 width=4
1| MOV rd=2 form=2 cbank=0 coff=0
2| MOV rd=3 form=2 cbank=0 coff=4
3| LDG rd=4 ra=2 width=4
4| LDG rd=5 ra=2 moff=4 width=4
5| ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
-| @!P0 BRA ->skip ^skip
-| MOV rd=0 rb=4
-| MOV rd=1 rb=5
-| IADD3 rd=6 ra=6 form=1 imm=128
6| CALL ->f.1
-| IADD3 rd=6 ra=6 form=1 imm=0xffffff80
-| MOV rd=5 rb=0
skip:
7| STG ra=2 rb=5 width=4
-| LDS rd=0 ra=6 spill=1 width=4
8| STG ra=2 rb=0 moff=4 width=4
9| @!P0 CALL ->f
10| STG ra=2 rb=5 width=4
11| EXIT
.function f
0| FADD rd=5 ra=4 rb=5
1| RET
.function f.1
0| FADD rd=0 ra=0 rb=1
1| RET
""",
    ),
    "lifted_locals": (
        """
.kernel k registers=12 local_bytes=16
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
LDG rd=4 ra=2 width=4
LDG rd=6 ra=2 moff=8 width=5
STL rb=4 moff=4 width=4
STL rb=6 moff=8 width=5
CALL ->f
LDL rd=5 moff=4 width=4
LDL rd=8 moff=8 width=5
STG ra=2 rb=5 width=4
STG ra=2 rb=8 moff=8 width=5
STG ra=2 rb=4 moff=16 width=4
EXIT
.function f
LDL rd=4 moff=4 width=4
IADD3 rd=5 ra=4 form=1 imm=1
STL rb=5 moff=4 width=4
LDL rd=4 moff=12 width=4
RET
""",
        """
.kernel k registers=8 local_bytes=16 slot_bytes=128 slot_pointer=7
-| S2R rd=7 sreg=26
0| MOV rd=0 form=2 cbank=0 coff=0
1| MOV rd=1 form=2 cbank=0 coff=4
2| LDG rd=3 ra=0 width=4
3| LDG rd=4 ra=0 moff=8 width=5
6| CALL ->f
-| LDS rd=6 ra=7 spill=1 width=4
9| STG ra=0 rb=6 width=4
10| STG ra=0 rb=4 moff=8 width=5
11| STG ra=0 rb=5 moff=16 width=4
12| EXIT
.function f
1| IADD3 rd=3 ra=3 form=1 imm=1
-| STS ra=7 rb=3 spill=1 width=4
4| RET
""",
    ),
}


def pair(name: str) -> tuple[Module, Module]:
    """(original, rewritten) of that name, freshly built."""
    original, rewritten = PAIRS[name]
    return module(original), module(rewritten, rewritten=True)
