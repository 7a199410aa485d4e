"""Guards that nobody wrote, and what is partly written by them: right rewrites pass, wrong ones do not."""

from __future__ import annotations

import pytest

from binalloc.transform.allocators.table import ALLOCATORS
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.verify.checker import check
from tests.support.pairs.verdict import mapped, verdict
from tests.support.programs.builder import program

HEAD = """
.kernel k registers=24 local_bytes=16
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
S2R R0, SR_TID.X
IMAD.WIDE R2, R0, 0x40, R2
"""
CROWD = "".join(
    [f"LDG.32 R{k}, [R2+{4 * k}]\n" for k in range(10, 18)] + [f"STG.32 [R2+{4 * k}], R{k}\n" for k in range(10, 18)]
)
ACROSS = CROWD.replace("STG", "ISETP.LT.AND P1, PT, R10, 0x9, PT\n@P1 BRA x, x\nSTG.32 [R2+0x8], R8\nx:\nSTG", 1)
MADE = f"IADD3 R9, R8, 0x3, RZ\n{ACROSS}STG.32 [R2+0x4], R8\n"
CALLEE = ".func f\n@P0 MOV R9, 0x2\n@P1 MOV R8, R9\nSTG.32 [R2], R8\nRET\n"
PREDICATES = "".join(f"ISETP.LT.AND P{p}, PT, R0, {p}, PT\n" for p in range(1, 7))
USED = "".join(f"@P{p} STG.32 [R2+{4 * p}], R0\n" for p in range(1, 7))
BODIES = {
    "constant": "@P0 MOV R9, 0x1\nCROWD",
    "copy": "@P0 MOV R9, R0\nCROWD",
    "operation": "@P0 IADD3 R9, R0, 0x1, RZ\nCROWD",
    "load": "@P0 LDG.32 R9, [R2]\nCROWD",
    "late": "CROWD@P0 MOV R9, 0x1\nCROWD",
    "both ways": "@P0 MOV R9, R0\n@!P0 MOV R9, R3\nCROWD",
    "written before": "MOV R9, R0\n@P0 MOV R9, R3\nCROWD",
    "guard again": "@P0 MOV R9, 0x1\nCROWD@P0 STG.32 [R2], R9\n",
    "select": "SEL R9, R0, R3, P0\nCROWD",
    "carry": "IADD3 R9, P1, R0, R3, RZ\nCROWDIADD3.X R8, R0, R3, RZ, P0, P1\nSTG.32 [R2], R8\n",
    "pair": "@P0 MOV R8, 0x1\nCROWDSTG.64 [R2], R8\n",
    "loaded pair": "@P0 LDG.64 R8, [R2]\nCROWDSTG.64 [R2], R8\n",
    "spilled": f"@P0 STG.32 [R2], R0\n{PREDICATES}CROWD{USED}@P0 MOV R9, 0x1\n",
    "copied": "PLOP3 P1, PT, P0, PT, PT, 0xf0, 0x0\n@P1 MOV R9, 0x1\nCROWD@P0 STG.32 [R2], R9\n",
    "packed": "P2R R9, RZ, 0x7f\nCROWDR2P R9, 0x7f\n@P0 STG.32 [R2], R0\n",
    "branch": "@P0 BRA x, x\nMOV R9, R0\nx:\nCROWD@P0 STG.32 [R2], R9\n",
    "loop": "MOV R4, 0x0\nl:\n@P0 MOV R9, R4\nIADD3 R4, R4, 0x1, RZ\nISETP.LT.AND P1, PT, R4, 0x5, PT\n"
    "CROWD@P1 BRA l, e\ne:\n",
    "local word": "@P0 STL.32 [0x0], R0\nCROWDLDL.32 R9, [0x0]\n",
    "local word twice": "STL.32 [0x0], R0\n@P0 STL.32 [0x0], R3\nCROWDLDL.32 R9, [0x0]\n",
    "copy used": f"MOV R8, R20\n{MADE}",
    "local word used": f"LDL.32 R8, [0x0]\n{MADE}",
    "copy by way of a local word used": f"STL.32 [0x0], R20\nLDL.32 R8, [0x0]\n{MADE}",
    "copy in a callee used": f"MOV R8, R0\n@P0 CALL f\n{MADE}",
    "callee": "@P0 MOV R9, 0x1\nCALL f\nCROWD",
    "guarded call": "@P0 CALL f\nCROWD",
}


@pytest.mark.rotates
@pytest.mark.parametrize("name", BODIES)
def test_what_every_allocator_makes_of_an_unwritten_guard_is_right(name: str) -> None:
    body = BODIES[name].replace("CROWD", CROWD)
    original = program(f"{HEAD}{body}STG.32 [R2], R9\nEXIT\n{CALLEE if 'CALL' in body else ''}")
    least = minimum_registers(original, "k", 0)
    for allocator in ALLOCATORS:
        low = least if allocator != "regdem" else minimum_registers(original, "k", 0, allocator)
        for registers, slots in ((low, 0), (low + 1, 1), (low + 2, 3), (24, 0)):
            report = check(original, rewrite(original, "k", registers, slots, allocator), "k")
            assert report.ok, f"{allocator}, {registers} registers, {slots} slots: {report}"


OVER = HEAD + "MOV R9, R0\n@P0 MOV R9, R3\n@P0 STG.32 [R2], R0\nSTG.32 [R2+0x4], R9\nEXIT"


def test_a_guard_that_nobody_wrote_is_one_value_in_both_programs() -> None:
    same = mapped(OVER)
    assert verdict(OVER, same) == set()
    assert verdict(OVER, same.replace("@P0", "@P3")) == set()
    for word in ("5| @P0 MOV", "6| @P0 STG"):
        assert verdict(OVER, same.replace(word, word.replace("P0", "P3"))) != set(), word
    assert verdict(OVER, same.replace("@P0 MOV R9, R3", "@P0 MOV R9, R2")) == {"operand"}
    assert verdict(OVER, same.replace("4| MOV R9, R0", "4| MOV R8, R0")) == {"operand"}


SPILLED = """
.kernel k registers=24 local_bytes=16 spill_local=4
-| STL.32.SPILL [0x10], R9
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| S2R R0, SR_TID.X
3| IMAD.WIDE R2, R0, 0x40, R2
4| @P0 LDG.32 R9, [R2]
-| @P0 STL.32.SPILL [0x10], R9
-| LDL.32.SPILL R7, [0x10]
5| STG.32 [R2], R7
6| EXIT
"""


def test_what_nobody_wrote_under_a_condition_may_be_anything_there_and_only_there() -> None:
    original = HEAD + "@P0 LDG.32 R9, [R2]\nSTG.32 [R2], R9\nEXIT"
    assert verdict(original, SPILLED) == set()
    assert verdict(original, SPILLED.replace("@P0 STL", "@!P0 STL")) == {"operand"}
    assert verdict(original, SPILLED.replace("@P0 STL", "@P1 STL")) == {"operand"}
    written = original.replace("IMAD.WIDE R2, R0", "MOV R9, R0\nIMAD.WIDE R2, R0")
    moved = SPILLED.replace("6|", "7|").replace("5|", "6|").replace("4|", "5|").replace("3|", "4|")
    assert verdict(written, moved) != set()


SOMETIMES = """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
S2R R0, SR_TID.X
ISETP.LT.AND P1, PT, R0, 0x10, PT
@P1 BRA other, join
MOV R4, 0x5
BRA join
other:
ISETP.LT.AND P0, PT, R0, 0x8, PT
join:
MOV R9, R0
@P0 MOV R9, R3
STG.32 [R2], R9
SEL R5, R0, R3, P0
STG.32 [R2+0x4], R5
EXIT
"""
TOLD_TWICE = """
.kernel k registers=12
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| S2R R0, SR_TID.X
3| ISETP.LT.AND P1, PT, R0, 0x10, PT
4| @P1 BRA other, join
5| MOV R4, 0x5
6| BRA join
other:
7| ISETP.LT.AND P0, PT, R0, 0x8, PT
-| ISETP.LT.AND P2, PT, R0, 0x8, PT
join:
-| @P0 MOV R9, R3
-| @!P2 MOV R9, R0
10| STG.32 [R2], R9
11| SEL R5, R0, R3, P0
12| STG.32 [R2+0x4], R5
13| EXIT
"""


def test_two_rows_are_not_one_predicate_where_it_was_not_written() -> None:
    """Where P0 was not written, P0 and P2 need not be the same: neither of the two moves need execute."""
    assert verdict(SOMETIMES, TOLD_TWICE) == {"operand"}
    assert verdict(SOMETIMES, TOLD_TWICE.replace("@!P2", "@!P0")) == set()


PASSING = HEAD + """
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 LDG.32 R9, [R2]
ISETP.LT.AND P0, PT, R0, 0x8, PT
@P0 BRA join, join
STG.32 [R2+0x8], R0
join:
STG.32 [R2], R9
@P0 STG.32 [R2+0x4], R9
EXIT
"""
PASSED = """
.kernel k registers=24 local_bytes=16 spill_local=4
-| STL.32.SPILL [0x10], R1
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| S2R R0, SR_TID.X
3| IMAD.WIDE R2, R0, 0x40, R2
4| ISETP.LT.AND P0, PT, R0, 0x10, PT
5| @P0 LDG.32 R9, [R2]
-| @P0 STL.32.SPILL [0x10], R9
-| MOV R9, 0x0
6| ISETP.LT.AND P0, PT, R0, 0x8, PT
7| @P0 BRA join, join
8| STG.32 [R2+0x8], R0
join:
-| LDL.32.SPILL R7, [0x10]
9| STG.32 [R2], R7
10| @P0 STG.32 [R2+0x4], R7
11| EXIT
"""


def test_what_a_row_holds_wherever_somebody_wrote_it_outlives_the_guard() -> None:
    """P0 is written anew: that R9 was written where it held is forgotten, but not where the value lies."""
    assert verdict(PASSING, PASSED) == set()
    late = PASSED.replace("-| @P0 STL.32.SPILL [0x10], R9\n-| MOV R9, 0x0\n", "")
    late = late.replace("-| LDL", "-| @P0 STL.32.SPILL [0x10], R9\n-| LDL")
    wrong = {
        "the others": PASSED.replace("-| @P0 STL", "-| @!P0 STL"),
        "another guard": PASSED.replace("-| @P0 STL", "-| @P1 STL"),
        "the new guard": late,
        "another value": PASSED.replace("[0x10], R9", "[0x10], R0"),
        "overwritten": PASSED.replace("6| ISETP", "-| @P1 STL.32.SPILL [0x10], R0\n6| ISETP"),
    }
    assert {name: verdict(PASSING, text) for name, text in wrong.items()} == {name: {"operand"} for name in wrong}
    written = PASSING.replace("IMAD.WIDE R2, R0", "MOV R9, R0\nIMAD.WIDE R2, R0")
    moved = PASSED
    for k in range(11, 2, -1):
        moved = moved.replace(f"\n{k}|", f"\n{k + 1}|")
    moved = moved.replace("4| IMAD", "3| MOV R9, R0\n4| IMAD")
    assert verdict(written, moved) == {"operand"}
    assert verdict(written, moved.replace("-| @P0 STL", "-| STL")) == set()


ROUNDS = HEAD + """
MOV R4, 0x0
round:
ISETP.LT.AND P0, PT, R4, R0, PT
@P0 LDG.32 R9, [R2]
IADD3 R4, R4, 0x1, RZ
ISETP.LT.AND P0, PT, R4, 0x5, PT
STG.32 [R2], R9
@P0 BRA round, out
out:
EXIT
"""
ROUNDED = """
.kernel k registers=24 local_bytes=16 spill_local=4
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| S2R R0, SR_TID.X
3| IMAD.WIDE R2, R0, 0x40, R2
4| MOV R4, 0x0
round:
5| ISETP.LT.AND P0, PT, R4, R0, PT
6| @P0 LDG.32 R9, [R2]
-| @P0 STL.32.SPILL [0x10], R9
-| MOV R9, 0x0
7| IADD3 R4, R4, 0x1, RZ
8| ISETP.LT.AND P0, PT, R4, 0x5, PT
-| LDL.32.SPILL R7, [0x10]
9| STG.32 [R2], R7
10| @P0 BRA round, out
out:
11| EXIT
"""


def test_what_the_round_before_wrote_is_written() -> None:
    """In a thread that writes R9 in one round and not in the next, the next one reads what the one before wrote."""
    assert verdict(ROUNDS, ROUNDED) == set()
    assert verdict(ROUNDS, ROUNDED.replace("6| @P0", "-| STL.32.SPILL [0x10], R0\n6| @P0")) == {"operand"}
    assert verdict(ROUNDS, ROUNDED.replace("-| LDL.32.SPILL R7, [0x10]\n9|", "9|").replace("R7", "R9")) == {"operand"}
    everywhere = ROUNDED.replace("-| @P0 STL", "-| STL").replace("-| MOV R9, 0x0", "-| MOV R8, 0x0")
    assert verdict(ROUNDS, everywhere) == set()
    assert verdict(ROUNDS, ROUNDED.replace("-| @P0 STL", "-| STL")) == {"operand"}


TWICE_GUARDED = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
S2R R1, SR_TID.X
ISETP.LT.AND P0, PT, R1, 0x10, PT
S2R R4, SR_CTAID.X
S2R R6, SR_CTAID.X
@P0 MOV R4, R5
{word}
STG.32 [R2], R4
EXIT
"""


@pytest.mark.parametrize("word", ["@P0 MOV R4, R6", "@P0 MOV R4, 0x7", "@P0 IADD3 R4, R1, 0x1, RZ"])
def test_what_a_guard_left_unwritten_is_written_by_the_next_word_under_it(word: str) -> None:
    """Nobody wrote R5, so R4 may be anything where P0 holds, until the word behind the copy."""
    original = TWICE_GUARDED.format(word=word)
    assert verdict(original, mapped(original)) == set()
    assert verdict(original, mapped(original).replace(f"7| {word}", "7| NOP")) != set()
    assert verdict(original, mapped(original).replace(f"7| {word}\n", "")) == {"operand"}
    assert verdict(original.replace(word, "NOP"), mapped(original).replace(f"7| {word}", "-| NOP")) == set()


@pytest.mark.parametrize(("rows", "right"), [
    ("R5, R5", True),
    ("R6, R6", True),
    ("R6, R7", True),  # both hold what R0 does
    ("R0, R7", True),
    ("R6, R8", False),  # that of R1
    ("R6, R5", False),
    ("R5, R9", False),  # nobody wrote either
])  # fmt: skip
def test_what_nobody_wrote_is_one_value_within_an_instruction(rows: str, right: bool) -> None:
    head = "MOV R2, 0x40\nMOV R3, 0x0\nS2R R0, SR_TID.X\nS2R R1, SR_CTAID.X\n"
    end = "STG.32 [R2], R4\nSTG.32 [R2+0x4], R0\nSTG.32 [R2+0x8], R1\nEXIT"
    original = f".kernel k registers=24\n{head}IADD3 R4, R5, R5, RZ\n{end}"
    copies = "-| MOV R6, R0\n-| MOV R7, R0\n-| MOV R8, R1\n"
    found = verdict(original, mapped(original).replace("4| IADD3 R4, R5, R5, RZ", f"{copies}4| IADD3 R4, {rows}, RZ"))
    assert found == (set() if right else {"operand"})


# -- two guards between them write a value: where neither holds, nobody did -------

BETWEEN = """
.kernel k registers=12
S2R R7, SR_TID.X
MOV R8, 0x40
MOV R9, 0x0
ISETP.LT.AND P1, PT, R7, 0x10, PT
ISETP.LT.AND P2, PT, R7, 0x8, PT
ISETP.LT.AND P3, PT, R7, 0x4, PT
@!P2 IADD3 R2, R7, 0x1, RZ
@P1 MOV R2, 0x0
{then}
EXIT
"""
PUT_ASIDE = """
.kernel k registers=12
0| S2R R7, SR_TID.X
1| MOV R8, 0x40
2| MOV R9, 0x0
3| ISETP.LT.AND P1, PT, R7, 0x10, PT
4| ISETP.LT.AND P2, PT, R7, 0x8, PT
5| ISETP.LT.AND P3, PT, R7, 0x4, PT
6| @!P2 IADD3 R3, R7, 0x1, RZ
7| @P1 MOV R4, 0x0
{moves}
{then}
"""
MOVES = ("-| @!P2 MOV R5, R3", "-| @P1 MOV R5, R4")
THEN = {
    "the predicate is written": ("ISETP.LT.AND P1, PT, R7, 0x2, PT\nSTG.32 [R8], R2", ""),
    "on one of two ways": ("@P3 BRA join, join\nISETP.LT.AND P1, PT, R7, 0x2, PT\njoin:\nSTG.32 [R8], R2", ""),
    "out of sight of a callee": ("CALL f", ".func f registers=12\nSTG.32 [R8], R2\nRET\n"),
}


@pytest.mark.parametrize("what", THEN)
def test_what_is_written_under_one_of_two_guards_stays_written(what: str) -> None:
    """Fuzz seed 9700191: the place held the value wherever somebody had written it, under conditions on a predicate
    that was written next."""
    then, more = THEN[what]
    original = BETWEEN.format(then=then) + more
    numbers = iter(range(8, 20))
    lines = [line if line.endswith(":") else f"{next(numbers)}| {line}" for line in [*then.splitlines(), "EXIT"]]
    rest = "\n".join(lines).replace("R2", "R5")
    callee = mapped(more).replace("R2", "R5") if more else ""

    def rewritten(*moves: str) -> str:
        return PUT_ASIDE.format(moves="\n".join(moves), then=rest) + callee

    assert verdict(original, rewritten(*MOVES)) == set()
    for wrong in (MOVES[::-1], MOVES[:1], MOVES[1:], (MOVES[0], MOVES[1].replace("@P1", "@!P1"))):
        assert verdict(original, rewritten(*wrong)) != set()
