"""Rewrites that are wrong in ways which need a closer look: each was once accepted."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

import pytest

from binalloc.isa.instruction import GlobalVar, Module, Param
from binalloc.verify.checker import check
from tests.support.programs.builder import identity, program

STORE = """
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
"""


def verdict(original: str, rewritten: str, kernel: str = "k") -> set[str]:
    """Kinds of the findings."""
    return {e.kind for e in check(program(original), program(rewritten), kernel).errors}


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


def mapped(text: str) -> str:
    """The text with an identity map."""
    lines, number = [], 0
    for line in text.strip().splitlines():
        if line.startswith(".") or line.endswith(":"):
            lines.append(line)
            continue
        lines.append(f"{number}| {line}")
        number += 1
    return "\n".join(lines)


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


# -- right rewrites that were once refused

INVERTED = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
S2R R0, SR_TID.X
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 BRA other, join
STG.32 [R2], R0
BRA join
other:
STG.32 [R2], R3
join:
STG.32 [R2+0x4], R2
EXIT
"""

SWAPPED = """
.kernel k registers=12
0| MOV R2, 0x40
1| MOV R3, 0x0
2| S2R R0, SR_TID.X
3| ISETP.LT.AND P0, PT, R0, 0x10, PT
4| @!P0 BRA fall, join
7| STG.32 [R2], R3
-| BRA join
fall:
5| STG.32 [R2], R0
join:
8| STG.32 [R2+0x4], R2
9| EXIT
"""


def test_an_inverted_branch_with_swapped_targets_is_right_and_without_wrong() -> None:
    assert verdict(INVERTED, SWAPPED) == set()
    assert verdict(INVERTED, SWAPPED.replace("@!P0", "@P0")) != set()
    assert verdict(INVERTED, mapped(INVERTED).replace("@P0", "@!P0")) != set()
    other = SWAPPED.replace("3| ISETP", "-| ISETP.LT.AND P1, PT, R0, 0x11, PT\n3| ISETP").replace("@!P0", "@!P1")
    assert verdict(INVERTED, other) == {"guard"}


TAIL = """
.kernel k registers=12
MOV R2, 0x40
MOV R3, 0x0
S2R R0, SR_TID.X
ISETP.LT.AND P0, PT, R0, 0x10, PT
@P0 BRA other, uniform
STG.32 [R2], R0
BRA join
other:
STG.32 [R2], R3
join:
IADD3 R0, R0, R0, RZ
STG.32 [R2+0x4], R0
EXIT
"""

TAIL_TWICE = """
.kernel k registers=12
0| MOV R2, 0x40
1| MOV R3, 0x0
2| S2R R0, SR_TID.X
3| ISETP.LT.AND P0, PT, R0, 0x10, PT
4| @P0 BRA other, uniform
5| STG.32 [R2], R0
8| IADD3 R0, R0, R0, RZ
9| STG.32 [R2+0x4], R0
10| EXIT
other:
7| STG.32 [R2], R3
8| IADD3 R5, R0, R0, RZ
9| STG.32 [R2+0x4], R5
end:
10| EXIT
"""


def test_a_tail_may_be_duplicated_where_lanes_agree() -> None:
    assert verdict(TAIL, TAIL_TWICE) == set()
    wrong = TAIL_TWICE.replace("+0x4], R5", "+0x4], R0")
    assert verdict(TAIL, wrong) == {"operand"}


SPILLED = """
.kernel k registers=7 slot_bytes=256 slot_pointer=6 spill_local=8 local_bytes=16
S2R R6, SR_SLOTBASE
MOV R0, c[0][0x0]
MOV R1, c[0][0x4]
LDG.32 R2, [R0]
STS.32.SPILL [R6], R2
CALL f
STL.32.SPILL [0x10], R2
LDS.32.SPILL R3, [R6]
LDL.32.SPILL R4, [0x10]
FADD R4, R3, R4
STG.32 [R0], R4
EXIT
.func f
IADD3 R6, R6, 0x80, RZ
STS.32.SPILL [R6], R2
FADD R2, R2, R2
LDS.32.SPILL R5, [R6]
IADD3 R6, R6, 0xffffff80, RZ
FADD R2, R2, R5
RET
"""


def test_what_was_rewritten_before_is_equal_to_itself() -> None:
    original = program(SPILLED)
    assert check(original, identity(original), "k").ok
    for name, at, change in (
        ("k", 4, {"moff": 128}),
        ("k", 8, {"moff": 20}),
        ("k", 7, {"rd": 2}),
        ("f", 0, {"imm": 256}),
        ("f", 1, {"rb": 5}),
    ):
        wrong = identity(original)
        fn = wrong.function(name)
        fn.instrs[at] = fn.instrs[at].replace(**change)
        assert not check(original, wrong, "k").ok, (name, at)
    added = identity(original)
    fn = added.function("f")
    assert fn.origin is not None
    fn.instrs.insert(2, fn.instrs[1])
    fn.origin.index.insert(2, -1)
    assert not check(original, added, "k").ok
    grown = identity(original)
    grown.function("k").info = dataclasses.replace(original.function("k").info, slot_bytes=384)
    assert not check(original, grown, "k").ok


FRAME = """
.kernel k registers=8 local_bytes=16 local_stack=4
{before}
S2R R0, SR_TID.X
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
STL.32 [R4+0x4], R0
LDL.32 R1, [R4+0x4]
STG.32 [R2], R1
EXIT
"""

LIFTED = """
.kernel k registers=4
1| S2R R0, SR_TID.X
2| MOV R2, c[0][0x0]
3| MOV R3, c[0][0x4]
6| STG.32 [R2], R0
7| EXIT
"""


def test_a_stack_register_that_nobody_writes_is_a_fixed_place() -> None:
    assert verdict(FRAME.format(before="NOP"), LIFTED) == set()
    for before in ("S2R R4, SR_TID.X", "@P0 MOV R4, R0", "IADD3 R4, R4, 0x4, RZ"):
        assert verdict(FRAME.format(before=before), LIFTED) != set()
    assert verdict(FRAME.format(before="NOP"), LIFTED.replace("[R2], R0", "[R2], R2")) == {"operand"}


KEPT = range(10, 16)
"""Registers that a callee may write; 64 calls, each with another part of them live across it."""


def _calls_from_everywhere(wrong: tuple[int, int] = (-1, -1)) -> tuple[str, str]:
    """64 calls before which the rewritten program destroys what is dead (and, at one call, one value that is not)."""
    start = ["S2R R0, SR_TID.X", "MOV R2, 0x40", "MOV R3, 0x0"]
    start += ["ISETP.LT.AND P0, PT, R0, 0x9, PT"]
    old = [".kernel k registers=20", *start]
    new = [".kernel k registers=20", *(f"{n}| {word}" for n, word in enumerate(start))]
    count = len(start)

    def both(word: str) -> None:
        nonlocal count
        old.append(word)
        new.append(f"{count}| {word}")
        count += 1

    for call in range(1 << len(KEPT)):
        live = [r for k, r in enumerate(KEPT) if call >> k & 1]
        for r in live:
            both(f"IADD3 R{r}, R0, {r}, RZ")
        new.extend(f"-| MOV R{r}, 0x4d" for r in KEPT if r not in live or (call, r) == wrong)
        both("CALL f")
        for r in live:
            both(f"STG [R2+{4 * r}], R{r}")
    both("EXIT")
    callee = [*(f"@P0 MOV R{r}, {r}" for r in KEPT), "RET"]
    old += [".func f", *callee]
    new += [".func f", *(f"{n}| {word}" for n, word in enumerate(callee))]
    return "\n".join(old), "\n".join(new)


def test_a_callee_may_be_entered_with_other_facts_from_each_of_many_calls() -> None:
    assert verdict(*_calls_from_everywhere()) == set()
    assert verdict(*_calls_from_everywhere(wrong=(63, 12))) == {"operand"}


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


UNDEFINED_GUARD = """
.kernel k registers=8
S2R R0, SR_TID.X
MOV R2, 0x40
MOV R3, 0x0
{first}
@P{one} BRA over, over
STG.32 [R2], R2
@P{two} BRA there, over
BRA over
there:
STG.32 [R2], R{stored}
over:
EXIT
"""


@pytest.mark.parametrize(("one", "two", "stored", "kinds"), [
    (0, 0, 2, set()), (1, 1, 2, set()), (1, 1, 0, set()), (1, 2, 2, {"guard"}), (1, 2, 0, {"guard"}),
])
def test_a_predicate_that_nobody_wrote_has_one_value_for_all_guards(
    one: int, two: int, stored: int, kinds: set[str]
) -> None:
    """What is behind a branch that cannot be taken, since the predicate was false before, may be anything."""
    original = UNDEFINED_GUARD.format(first="", one=0, two=0, stored=2)
    lines = UNDEFINED_GUARD.format(first="", one=one, two=two, stored=stored).strip().splitlines()
    numbered, count = [], 0
    for line in filter(None, lines):
        plain = not line.endswith(":") and not line.startswith(".")
        numbered.append(f"{count}| {line}" if plain else line)
        count += plain
    added = "-| ISETP.NE.AND P1, PT, RZ, 0x0, PT\n-| ISETP.EQ.AND P2, PT, RZ, 0x0, PT"
    numbered.insert(4, added)
    assert verdict(original, "\n".join(numbered)) == kinds


def test_a_predicate_written_on_one_way_is_what_the_first_guard_read() -> None:
    original = """
.kernel k registers=8
S2R R0, SR_TID.X
ISETP.LT.AND P1, PT, R0, 0x10, PT
@P1 BRA join, join
ISETP.LT.AND P0, PT, R0, 0x8, PT
join:
@P0 BRA a, end
EXIT
a:
@P0 BRA b, end
STG.32 [R2], R0
b:
STG.32 [R2], R1
end:
EXIT
.func f
RET
"""
    rewritten = """
.kernel k registers=8
0| S2R R0, SR_TID.X
1| ISETP.LT.AND P1, PT, R0, 0x10, PT
-| MOV R6, RZ
-| ISETP.GE.AND P0, PT, R0, 0x18, PT
2| @P1 BRA join, join
3| ISETP.LT.AND P0, PT, R0, 0x8, PT
-| P2R R6, RZ, 0x1
join:
4| @P0 BRA a, end
5| EXIT
a:
-| {again}
6| @P0 BRA b, end
7| STG.32 [R2], R0
b:
8| STG.32 [R2], R1
end:
9| EXIT
.func f
0| RET
"""
    assert verdict(original, rewritten.format(again="NOP")) == set()
    assert verdict(original, rewritten.format(again="R2P R6, 0x1")) == {"guard"}
