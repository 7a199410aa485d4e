"""Rewrites that are wrong in ways which need a closer look: each was once accepted."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

import pytest

from binalloc.isa.instruction import GlobalVar, Module, Param
from binalloc.verify.checker import check
from tests.support.pairs.verdict import mapped, verdict
from tests.support.programs.builder import identity, program

STORE = """
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
"""


# -- one original call, two words in the rewritten program, two clones of the callee

TWO_WAYS = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
MOV R4, 0x7
S2R R0, SR_TID.X
CALL g
STG.32 [R2], R4
STG.32 [R2], R1
EXIT
.func g
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 BRA other, uniform
NOP
BRA join
other:
NOP
join:
CALL f
RET
.func f
IADD3 R1, R0, 0x3, RZ
RET
"""

TWO_CLONES = """
.kernel k registers=12
0| MOV R2, 0x40
1| MOV R3, 0x0
2| MOV R4, 0x7
3| S2R R0, SR_TID.X
4| CALL g
5| STG.32 [R2], R4
6| STG.32 [R2], R1
7| EXIT
.func g
0| ISETP.LT.AND P0, PT, R0, 0x10, PT
1| @P0 BRA other, uniform
5| CALL f
-| BRA join
other:
5| CALL f.two
join:
6| RET
.func f
{one}
0| IADD3 R1, R0, 0x3, RZ
1| RET
.func f.two
{two}
0| IADD3 R1, R0, 0x3, RZ
1| RET
"""


@pytest.mark.parametrize("breaks", ["one", "two"])
def test_what_either_clone_of_a_callee_overwrites_is_lost_behind_the_call(breaks: str) -> None:
    assert verdict(TWO_WAYS, TWO_CLONES.format(one="", two="")) == set()
    bad = {"one": "", "two": "", breaks: "-| MOV R4, 0x9"}
    assert verdict(TWO_WAYS, TWO_CLONES.format(**bad)) == {"operand"}


# -- two results in one predicate: the second stands

BOTH = """
.kernel k registers=8
MOV R2, 0x40
MOV R3, 0x0
{first}
@P0 STG.32 [R2], R3
@P1 STG.32 [R2], R2
EXIT
"""


def both(first: str, guards: tuple[int, int] = (0, 1)) -> str:
    text = BOTH.format(first=first)
    return text.replace("@P0", f"@P{guards[0]}").replace("@P1", f"@P{guards[1]}")


TRUE_FALSE = "PLOP3 P0, P0, PT, PT, PT, 0xff, 0x0"


def test_of_two_tables_for_one_predicate_the_second_stands() -> None:
    apart = "PLOP3 P0, P1, PT, PT, PT, 0xff, 0x0"
    together = both(TRUE_FALSE + "\n" + "PLOP3 P1, PT, PT, PT, PT, 0xff, 0x0")
    assert verdict(together, mapped(together)) == set()
    # P0 is false in the original, but true in what the first table says
    one = both(TRUE_FALSE + "\nNOP\nPLOP3 P1, PT, PT, PT, PT, 0x0, 0x0", (0, 0))
    other = mapped(one).replace("2| PLOP3 P0, P0", "-| PLOP3 P0, P1")
    assert verdict(one, other) == {"guard"}
    assert verdict(both(apart), mapped(both(TRUE_FALSE))) != set()


# -- added reads of constant memory

READS = """
.kernel k registers=8
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
STG.32 [R2], R3
EXIT
"""


def with_read(words: str) -> tuple[Module, Module]:
    original = program(READS)
    original.constants[3] = bytes(20)
    original.functions[0].info.params = [Param("p", 0, 8), Param("n", 8, 4)]
    added = mapped(READS).replace("2| STG", f"-| {words}\n2| STG")
    rewritten = program(added)
    rewritten.constants[3] = bytes(20)
    rewritten.functions[0].info.params = list(original.functions[0].info.params)
    return original, rewritten


@pytest.mark.parametrize(
    "words",
    [
        "MOV R4, c[3][0x10]",
        "MOV R4, c[0][0x8]",
        "LDC.64 R4, c[3][0x8]",
        "IADD3 R4, R2, RZ, c[3][0x10]",
        "DADD R4, R2, c[3][0x8]",
    ],
)
def test_constants_within_their_bank_may_be_read_again(words: str) -> None:
    report = check(*with_read(words), "k")
    assert report.ok, str(report)


@pytest.mark.parametrize(
    "words",
    [
        "MOV R4, c[3][0x14]",
        "MOV R4, c[4][0x0]",
        "MOV R4, c[0][0xc]",
        "MOV R4, c[0][0xfffc]",
        "LDC.64 R4, c[3][0x10]",
        "LDC.U8 R4, c[9][0x0]",
        "LDC.U8 R4, c[3][R3]",
        "IADD3 R4, R2, RZ, c[3][0x14]",
        "DADD R4, R2, c[3][0x10]",
        "@P0 MOV R4, c[5][0x0]",
    ],
)
def test_an_added_read_of_constants_that_may_fault_is_refused(words: str) -> None:
    assert {e.kind for e in check(*with_read(words), "k").errors} == {"inserted"}


# -- a value written on one way only

ONE_WAY = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
S2R R0, SR_TID.X
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 BRA join, join
S2R R1, SR_TID.Y
join:
IADD3 R4, R1, -R1, RZ
STG.32 [R2], R4
EXIT
"""

ONE_WAY_TWICE = """
.kernel k registers=12
0| MOV R2, 0x40
1| MOV R3, 0x0
2| S2R R0, SR_TID.X
3| ISETP.LT.AND P0, PT, R0, 0x10, PT
4| @P0 BRA join, join
5| S2R R1, SR_TID.Y
-| MOV R5, R1
join:
6| IADD3 R4, R1, -R{second}, RZ
7| STG.32 [R2], R4
8| EXIT
"""


def test_a_value_written_on_one_way_only_is_noted_and_not_read_as_two() -> None:
    original = program(ONE_WAY)
    same = check(original, identity(original), "k")
    assert same.ok
    assert [n.origin_index for n in same.notes] == [6]
    assert check(original, program(ONE_WAY_TWICE.format(second=1)), "k").ok
    assert verdict(ONE_WAY, ONE_WAY_TWICE.format(second=5)) == {"operand"}


def test_a_value_written_on_both_ways_has_no_note() -> None:
    text = ONE_WAY.replace("0x10, PT\n", "0x10, PT\nMOV R1, 0x5\n")
    report = check(program(text), identity(program(text)), "k")
    assert report.ok
    assert not report.notes


def test_what_changed_among_many_declarations_is_named() -> None:
    """Not both lists from end to end, nor twice the same words."""
    original = program(TWO_WAYS)
    original.function("k").info.params = [Param(f"p{n}", 8 * n, 8) for n in range(8)]
    original.constants = {3: bytes(16)}
    original.globals = [GlobalVar("g", 0, 16, 16, bytes(16)), GlobalVar("h", 16, 4, 4, bytes(4))]

    def words(change: Callable[[Module], None]) -> list[tuple[str, str]]:
        changed = copy.deepcopy(identity(original))
        change(changed)
        return [(e.expected, e.found) for e in check(original, changed, "k").errors]

    def parameter(m: Module) -> None:
        m.function("k").info.params[3] = Param("p3", 24, 4)

    def data(m: Module) -> None:
        m.globals[1] = dataclasses.replace(m.globals[1], data=b"\0\0\1\0")

    assert words(parameter) == [("p3 size 8", "p3 size 4")]
    assert words(data) == [("h with other bytes from offset 0x2", "h with other bytes from offset 0x2")]
    assert words(lambda m: m.globals.pop()) == [("h", "none")]
    assert words(lambda m: m.constants.clear()) == [("16 bytes, unchanged", "no such bank")]
    assert words(lambda m: m.constants.update({3: bytes(8)})) == [("16 bytes, unchanged", "8 bytes")]
    assert words(lambda m: m.constants.update({3: bytes(9) + bytes([7] * 7)})) == [
        ("16 bytes, unchanged", "other bytes from offset 0x9")
    ]
