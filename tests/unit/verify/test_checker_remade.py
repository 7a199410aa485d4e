"""Values made again, elsewhere, or exchanged: what looks alike and is not."""

from __future__ import annotations

import re

import pytest

from binalloc.isa.instruction import Param
from binalloc.verify.checker import check
from tests.support.pairs.hand_made_order import ELSEWHERE
from tests.support.pairs.verdict import verdict
from tests.support.programs.builder import program


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("made_again", "-| IADD3.X R7, R5, RZ, RZ, P1\n9|", "-| IADD3.X R7, R5, RZ, RZ, P0\n9|"),  # another carry
    ("made_again", "-| IADD3.X R7, R5, RZ, RZ, P1\n9|", "-| IADD3.X R7, R5, RZ, RZ, !P1\n9|"),
    ("made_again", "-| IADD3.X R7, R5, RZ, RZ, P1\n9|", "-| IADD3 R7, R5, RZ, RZ\n9|"),  # none
    ("made_again", "5| IADD3 R6, P1, R4, R1, RZ\n", "-| IADD3.X R6, P1, R4, R1, RZ, P0\n"),
    ("made_again", "5| IADD3 R6, P1, R4, R1, RZ\n", "-| IADD3 R6, P1, R4, R9, RZ\n"),  # another operand
    ("made_again", "-| IMAD.WIDE R0, R0, 0x8, R2\n", "-| IMAD.WIDE R0, R0, 0x4, R2\n"),  # another immediate
    ("made_again", "-| IMAD.WIDE R0, R0, 0x8, R2\n", "-| IMAD.WIDE.U32 R0, R0, 0x8, R2\n"),
    ("made_again", "-| LDC.32 R5, c[0][0x0]\n", "-| LDC.32 R5, c[0][0x4]\n"),
    ("made_again", "-| S2R R0, SR_TID.X\n", "-| S2R R0, SR_TID.Y\n"),
    ("made_again", "-| MOV R3, c[0][0x4]\n4| IMAD", "-| MOV R3, c[0][0x0]\n4| IMAD"),  # half of a pair
    ("sunk_and_hoisted", "-| SHF.L.U32 R5, R0, 0x3, RZ\n8|", "-| SHF.L.U32 R5, R8, 0x3, RZ\n8|"),
    ("sunk_and_hoisted", "-| SHF.L.U32 R5, R0, 0x3, RZ\n8|", "-| SHF.R.U32 R5, R0, 0x3, RZ\n8|"),
    ("sunk_and_hoisted", "3| IMAD.WIDE R4, R0, 0x4, R2", "3| IMAD.WIDE R4, R0, 0x8, R2"),
    ("sunk_and_hoisted", "10| LOP3 R9, R0, R8, RZ, 0xc0\n6|", "10| LOP3 R9, R0, R8, RZ, 0xc0\n-| MOV R9, 0x0\n6|"),
    ("sunk_and_hoisted", "10| LOP3 R9, R0, R8, RZ, 0xc0\n6|", "-| LOP3 R9, R0, R8, RZ, 0xc1\n6|"),
    ("exchanged", "-| LOP3 R1, R0, R1, RZ, 0x3c\n-| MOV", "-| LOP3 R0, R0, R1, RZ, 0x3c\n-| MOV"),  # the wrong order
    ("exchanged", "-| LOP3 R1, R0, R1, RZ, 0x3c\n-| MOV", "-| LOP3 R1, R0, R1, RZ, 0xc0\n-| MOV"),
    ("exchanged", "-| LOP3 R1, R0, R1, RZ, 0x3c\n-| MOV", "-| LOP3 R1, R0, R1, R2, 0x3c\n-| MOV"),
    ("exchanged", "-| LOP3 R1, R0, R1, RZ, 0x3c\n-| MOV", "-| MOV"),  # two of three
    ("exchanged", "-| LOP3 R1, R0, R1, RZ, 0x3c\n-| MOV", "-| @P0 LOP3 R1, R0, R1, RZ, 0x3c\n-| MOV"),
    ("exchanged", "-| MOV R5, 0x1\n", "-| MOV R5, R0\n-| MOV R1, R1\n"),  # seen in between
    ("exchanged", "-| MOV R5, 0x1\n", "-| MOV R0, 0x1\n"),
    ("predicate_as_a_word", "SEL R4, RZ, 0x1, !P0", "SEL R4, RZ, 0x1, P0"),
    ("predicate_as_a_word", "SEL R4, RZ, 0x1, !P0", "SEL R4, RZ, 0x0, !P0"),
    ("predicate_as_a_word", "SEL R4, RZ, 0x1, !P0", "SEL R4, R0, 0x1, !P0"),
    ("predicate_as_a_word", "ISETP.NE.AND P0, PT, R5, RZ, PT", "ISETP.EQ.AND P0, PT, R5, RZ, PT"),
    ("predicate_as_a_word", "ISETP.NE.AND P0, PT, R5, RZ, PT", "ISETP.NE.AND P0, PT, R5, R0, PT"),
    ("predicate_as_a_word", "ISETP.NE.AND P0, PT, R5, RZ, PT", "ISETP.NE.AND P0, PT, R5, RZ, P1"),
    ("predicate_as_a_word", "ISETP.NE.AND P0, PT, R5, RZ, PT", "ISETP.NE.AND P1, P0, R5, RZ, PT"),
    ("predicate_as_a_word", "ISETP.NE.AND P0, PT, R5, RZ, PT", "R2P R5, 0x2"),
    ("predicate_as_a_word", "STL.32.SPILL [0x0], R4\n", "P2R R4, R4, 0x1\n-| STL.32.SPILL [0x0], R4\n"),
])
def test_a_slip_in_what_is_made_again_is_found(name: str, right: str, wrong: str) -> None:
    original, rewritten = ELSEWHERE[name]
    assert right in rewritten
    assert verdict(original, rewritten.replace(right, wrong, 1)) != set()


LEAF = """
.kernel k registers=16
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.64 R0, [R2]
SHF.L.U32 R4, R0, 0x3, RZ
{before}
loop:
STG.32 [R2], R4
{after}
STG.32 [R2+0x4], R4
STG.32 [R2+0x8], R0
@P0 BRA loop, done
done:
EXIT
"""
AGAIN = """
.kernel k registers=16
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
-| ISETP.LT.AND P6, PT, RZ, 0x0, PT
4| {before}
loop:
-| SHF.L.U32 R5, R0, 0x3, RZ
5| STG.32 [R2], R5
6| {after}
-| SHF.L.U32 R5, R0, 0x3, RZ
7| STG.32 [R2+0x4], R5
8| STG.32 [R2+0x8], R0
9| @P0 BRA loop, done
done:
10| EXIT
"""


@pytest.mark.parametrize(("before", "after", "right"), [
    ("NOP", "NOP", True),
    ("NOP", "IADD3 R7, R0, R1, RZ", True),
    ("NOP", "IADD3 R0, R0, R1, RZ", False),  # the operand is another one in the second turn
    ("NOP", "@P1 IADD3 R0, R0, R1, RZ", False),
    ("NOP", "LDG.32 R0, [R2]", False),
    ("NOP", "CALL f", False),
    ("NOP", "CALL g", True),
    ("IADD3 R0, R0, R1, RZ", "NOP", False),
    ("@P1 IADD3 R0, R0, R1, RZ", "NOP", False),
    ("CALL f", "NOP", False),
    ("CALL g", "NOP", True),
])
def test_operands_must_hold_what_they_held(before: str, after: str, right: bool) -> None:
    functions = ".func f\nIADD3 R0, R0, 0x1, RZ\nRET\n.func g\nIADD3 R8, R0, 0x1, RZ\nRET\n"
    theirs = ".func f\n0| IADD3 R0, R0, 0x1, RZ\n1| RET\n.func g\n0| IADD3 R8, R0, 0x1, RZ\n1| RET\n"
    used = "CALL" in before + after
    original = LEAF.format(before=before, after=after) + functions * used
    rewritten = AGAIN.format(before=before, after=after) + theirs * used
    assert (verdict(original, rewritten) == set()) is right


UNWRITTEN = """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
{first}
SHF.L.U32 R4, R0, 0x3, RZ
STG.32 [R2], R4
STG.32 [R2+0x4], R4
EXIT
"""


def test_what_is_made_of_an_undefined_value_is_one_value() -> None:
    """Each reading of what nobody wrote may give something else, but its result is written once."""
    again = """
.kernel k registers=12
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| {first}
3| SHF.L.U32 R4, R0, 0x3, RZ
4| STG.32 [R2], R4
-| SHF.L.U32 R5, R0, 0x3, RZ
5| STG.32 [R2+0x4], R5
6| EXIT
"""
    defined = {"MOV R0, 0x1": True, "LDG.32 R0, [R2]": True, "NOP": False, "@P0 LDG.32 R0, [R2]": False}
    for first, right in defined.items():
        assert (verdict(UNWRITTEN.format(first=first), again.format(first=first)) == set()) is right, first


INDEXED = """
.kernel k registers=12
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.32 R0, [R2]
ISETP.LT.AND P0, PT, R0, 0x8, PT
{early}
@!P0 BRA over, over
LDC.32 R4, c[3][R0]
STG.32 [R2], R4
{late}
STG.32 [R2+0x4], R4
over:
EXIT
"""


@pytest.mark.parametrize(("early", "late", "right"), [
    ("-| NOP", "-| LDC.32 R4, c[3][R0]", True),  # the original has read there
    ("-| NOP", "-| LDC.32 R5, c[3][R2]", False),  # not there
    ("-| LDC.32 R4, c[3][R0]", "-| NOP", False),  # not yet
    ("-| LDC.32 R5, c[3][R0]", "-| NOP", False),
])
def test_constants_are_read_again_only_where_that_cannot_fault(early: str, late: str, right: bool) -> None:
    original = program(INDEXED.format(early="NOP", late="NOP"))
    lines = INDEXED.format(early="NOP", late="NOP").strip().splitlines()
    count, numbered = 0, []
    for line in lines:
        plain = not line.endswith(":") and not line.startswith(".")
        numbered.append(f"{count}| {line}" if plain else line)
        count += plain
    text = "\n".join(numbered).replace("4| NOP", early).replace("8| NOP", late)
    rewritten = program(text)
    for module in (original, rewritten):
        module.constants[3] = bytes(32)
        module.functions[0].info.params = [Param("p", 0, 8)]
    report = check(original, rewritten, "k")
    assert report.ok is right, str(report)
    if not right:
        assert {e.kind for e in report.errors} == {"inserted"}


COPIES = 9


def _of_one_of_many_copies(which: int, made: str) -> tuple[str, str]:
    """A loaded pair with many copies, of which one is multiplied; the rewrite has them all in one pair and does it
    again there. made: what it does."""
    start = ["MOV R2, c[0][0x0]", "MOV R3, c[0][0x4]", "LDG.64 R4, [R2]"]
    copies = [f"MOV R{8 + 2 * n + half}, R{4 + half}" for n in range(COPIES) for half in (0, 1)]
    at = 8 + 2 * which
    old = [*start, *copies, f"IMAD.WIDE R6, R{at + 1}, 0x18, R{at}", "STG.32 [R2], R6", "STG.32 [R2+0x4], R7"]
    stores = [f"STG.32 [R2+{hex(8 + 8 * n)}], R{{}}" for n in range(COPIES)]
    old += [line.format(8 + 2 * n) for n, line in enumerate(stores)] + ["EXIT"]
    count = len(start) + len(copies)
    new = [f"{n}| {line}" for n, line in enumerate(start)]
    new += [f"{count}| IMAD.WIDE R6, R5, 0x18, R4", f"{count + 1}| STG.32 [R2], R6", f"-| {made}"]
    new += [f"{count + 2}| STG.32 [R2+0x4], R7", *(f"{count + 3 + n}| {x.format(4)}" for n, x in enumerate(stores))]
    new += [f"{count + 3 + COPIES}| EXIT"]
    return tuple("\n".join([".kernel k registers=40", *lines]) for lines in (old, new))  # type: ignore[return-value]


@pytest.mark.parametrize("which", range(COPIES))
def test_a_value_is_made_again_of_a_place_that_holds_many_values(which: int) -> None:
    """At 100,000 instructions one place held so many copies that the one which the original had used was not tried."""
    assert verdict(*_of_one_of_many_copies(which, "IMAD.WIDE R6, R5, 0x18, R4")) == set()
    assert verdict(*_of_one_of_many_copies(which, "IMAD.WIDE R6, R4, 0x18, R4")) != set()


LONGEST = 12
"""Operations that are moved on end; what moves code takes up to eight at once, and may come again."""


def _sunk_chain(length: int, last: str) -> tuple[str, str]:
    """A chain of double multiply-adds over pairs of their own, moved past a branch; nothing but its end is live there.
    last: the pair that the rewrite's last step adds up."""
    start = ["MOV R2, c[0][0x0]", "MOV R3, c[0][0x4]", "ISETP.EQ.AND P0, PT, RZ, 0x1, PT"]
    start += [f"LDG.64 R{10 + 2 * n}, [R2+{hex(8 * n)}]" for n in range(2 * length)]
    factors = [f"R{10 + 4 * n}, R{12 + 4 * n}" for n in range(length)]
    chain = [f"DMUL R4, {factors[0]}", *(f"DFMA R4, {pair}, R4" for pair in factors[1:])]
    end = ["@P0 BRA done, done", "STG.64 [R2], R4", "done:", "EXIT"]
    mapped = [(n, line) for n, line in enumerate([*start, *chain, *(x for x in end if x != "done:")])]
    of = {line: n for n, line in mapped}
    new = [f"{of[x]}| {x}" for x in start] + [f"{of[end[0]]}| {end[0]}"]
    new += [f"-| {x}" for x in [*chain[:-1], chain[-1].replace(factors[-1], last or factors[-1])]]
    new += [f"{of[end[1]]}| {end[1]}", "done:", f"{of['EXIT']}| EXIT"]
    return tuple("\n".join([".kernel k registers=64", *x]) for x in ([*start, *chain, *end], new))  # type: ignore


@pytest.mark.parametrize("length", range(2, LONGEST + 1))
def test_chains_of_pairs_are_moved_whole(length: int) -> None:
    """Three doubles of a real kernel depended on twelve words, more than were followed."""
    assert verdict(*_sunk_chain(length, "")) == set()
    assert verdict(*_sunk_chain(length, "R10, R10")) != set()


ARGUMENT = """
.kernel k registers=16
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| MOV R8, 0x7
3| LDG.32 R0, [R2]
4| CALL f
5| STG.32 [R2], R4
6| EXIT
.func f
"""


@pytest.mark.parametrize(("again", "right"), [
    ("-| LDC.32 R7, c[0][0x0]\n-| IADD3 R4, R8, R7, RZ", True),
    ("-| LDC.32 R7, c[0][0x4]\n-| IADD3 R4, R8, R7, RZ", False),
    ("-| LDC.32 R7, c[0][0x0]\n-| IADD3 R4, R8, RZ, RZ", False),
    ("-| MOV R8, 0x5\n-| LDC.32 R7, c[0][0x0]\n-| IADD3 R4, R8, R7, RZ", False),
])
def test_an_argument_that_is_a_constant_stays_one_where_it_dies(again: str, right: bool) -> None:
    """The original tells the sum by two values or two constants, the rewrite has a dead value and a constant."""
    made = "0| LDC.32 R7, c[0][0x0]\n1| IADD3 R4, R8, R7, RZ\n"
    test = "2| ISETP.EQ.AND P0, PT, R0, 0x1, PT\n3| @P0 BRA out, out\n4| MOV R7, 0x1\nout:\n"
    original = ARGUMENT + made + test + "5| RET"
    rewritten = ARGUMENT + test + again + "\n5| RET"
    assert (verdict(re.sub(r"(?m)^\d+\| ", "", original), rewritten) == set()) is right


CONSTANT_ON_EACH_WAY = """
.kernel k registers=16
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| S2R R4, SR_TID.X
3| LOP3 R4, R4, 0xf0, RZ, 0xc0
4| LDG.32 R0, [R2]
5| MOV R5, 0x2f
6| ISETP.EQ.AND P0, PT, R0, 0x1, PT
7| @P0 BRA other, out
other:
8| MOV R5, 0x11
out:
"""


@pytest.mark.parametrize(("again", "right"), [
    ("-| S2R R6, SR_TID.X\n-| LOP3 R6, R6, 0xf0, RZ, 0xc0\n-| IADD3 R6, R5, R6, RZ", True),
    ("-| S2R R6, SR_TID.Y\n-| LOP3 R6, R6, 0xf0, RZ, 0xc0\n-| IADD3 R6, R5, R6, RZ", False),
    ("-| S2R R6, SR_TID.X\n-| LOP3 R6, R6, 0xf0, RZ, 0xc0\n-| MOV R5, 0x2f\n-| IADD3 R6, R5, R6, RZ", False),
    ("-| S2R R6, SR_TID.X\n-| LOP3 R6, R6, 0xf0, RZ, 0xc0\n-| IADD3 R6, R0, R6, RZ", False),
])
def test_a_sum_is_told_by_a_value_and_a_constant(again: str, right: bool) -> None:
    """One operand is another constant on each way and so known as a value alone; the other is dead where the sum is
    made again, and so known as a constant alone."""
    original = CONSTANT_ON_EACH_WAY + "9| IADD3 R6, R5, R4, RZ\n10| MOV R4, 0x1\n11| STG.32 [R2], R4\n"
    rewritten = CONSTANT_ON_EACH_WAY + again + "\n10| MOV R4, 0x1\n11| STG.32 [R2], R4\n"
    end = "12| STG.32 [R2+0x4], R6\n13| EXIT"
    assert (verdict(re.sub(r"(?m)^\d+\| ", "", original + end), rewritten + end) == set()) is right


MADE_OF_A_COPY = """
.kernel k registers=16
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
3| ISETP.EQ.AND P0, PT, R1, 0x1, PT
{early}
{copies}
8| @P0 BRA other, out
other:
9| STG.32 [R2+0x10], R1
out:
"""
COPIES_AND_SUM = ("4| MOV R4, R0", "5| {second}", "6| MOV R0, RZ", "7| MOV R1, RZ")


@pytest.mark.parametrize(("second", "made", "right"), [
    ("MOV R5, R4", "R0, R0, RZ", True),
    ("MOV R5, R4", "R0, R1, RZ", False),
    ("MOV R5, R1", "R0, R1, RZ", True),
    ("MOV R5, R1", "R1, R0, RZ", False),
    ("MOV R5, R1", "R0, R0, RZ", False),
    ("@P0 MOV R5, R4", "R0, R0, RZ", False),
    ("MOV R4, R1", "R1, R5, RZ", False),
])
def test_a_sum_is_moved_up_over_copies_of_its_operands(second: str, made: str, right: bool) -> None:
    """The rewritten program has neither the copies nor, behind the sum, what they were copied from."""
    sum_of = "10| IADD3 R6, R4, R5, RZ\n"
    end = "11| STG.32 [R2], R6\n12| EXIT"
    copies = "\n".join(COPIES_AND_SUM).format(second=second)
    original = MADE_OF_A_COPY.format(early="", copies=copies) + sum_of + end
    early = f"-| IADD3 R6, {made}"
    rewritten = MADE_OF_A_COPY.format(early=early, copies="6| MOV R0, RZ\n7| MOV R1, RZ") + end
    assert (verdict(re.sub(r"(?m)^\d+\| ", "", original), rewritten) == set()) is right
