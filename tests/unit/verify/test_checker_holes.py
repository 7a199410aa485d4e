"""Rewrites that are wrong in ways which need a closer look: each was once accepted."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

import pytest

from binalloc.isa.instruction import GlobalVar, Module, Param
from binalloc.verify.checker import check
from tests.support.pairs.text import identity, module

STORE = """
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
"""


def verdict(original: str, rewritten: str, kernel: str = "k") -> set[str]:
    """Kinds of the findings."""
    return {e.kind for e in check(module(original), module(rewritten, rewritten=True), kernel).errors}


# -- one original call, two words in the rewritten program, two clones of the callee

TWO_WAYS = """
.kernel k registers=12
MOV rd=2 form=1 imm=64
MOV rd=3 form=1 imm=0
MOV rd=4 form=1 imm=7
S2R rd=0 sreg=0
CALL ->g
STG ra=2 rb=4 width=4
STG ra=2 rb=1 width=4
EXIT
.function g
ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
@P0 BRA ->other
NOP
BRA ->join
other:
NOP
join:
CALL ->f
RET
.function f
IADD3 rd=1 ra=0 form=1 imm=3
RET
"""

TWO_CLONES = """
.kernel k registers=12
0| MOV rd=2 form=1 imm=64
1| MOV rd=3 form=1 imm=0
2| MOV rd=4 form=1 imm=7
3| S2R rd=0 sreg=0
4| CALL ->g
5| STG ra=2 rb=4 width=4
6| STG ra=2 rb=1 width=4
7| EXIT
.function g
0| ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
1| @P0 BRA ->other
5| CALL ->f
-| BRA ->join
other:
5| CALL ->f.two
join:
6| RET
.function f
{one}
0| IADD3 rd=1 ra=0 form=1 imm=3
1| RET
.function f.two
{two}
0| IADD3 rd=1 ra=0 form=1 imm=3
1| RET
"""


@pytest.mark.parametrize("breaks", ["one", "two"])
def test_what_either_clone_of_a_callee_overwrites_is_lost_behind_the_call(breaks: str) -> None:
    assert verdict(TWO_WAYS, TWO_CLONES.format(one="", two="")) == set()
    bad = {"one": "", "two": "", breaks: "-| MOV rd=4 form=1 imm=9"}
    assert verdict(TWO_WAYS, TWO_CLONES.format(**bad)) == {"operand"}


# -- two results in one predicate: the second stands

BOTH = """
.kernel k registers=8
MOV rd=2 form=1 imm=64
MOV rd=3 form=1 imm=0
{first}
@P0 STG ra=2 rb=3 width=4
@P1 STG ra=2 rb=2 width=4
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


TRUE_FALSE = "PLOP3 pd0=0 pd1=0 ps0=7 ps1=7 ps2=7 lut_b=255 lut2=0"


def test_of_two_tables_for_one_predicate_the_second_stands() -> None:
    apart = "PLOP3 pd0=0 pd1=1 ps0=7 ps1=7 ps2=7 lut_b=255 lut2=0"
    together = both(TRUE_FALSE + "\n" + "PLOP3 pd0=1 pd1=7 ps0=7 ps1=7 ps2=7 lut_b=255 lut2=0")
    assert verdict(together, mapped(together)) == set()
    # P0 is false in the original, but true in what the first table says
    one = both(TRUE_FALSE + "\nNOP\nPLOP3 pd0=1 pd1=7 ps0=7 ps1=7 ps2=7 lut_b=0 lut2=0", (0, 0))
    other = mapped(one).replace("2| PLOP3 pd0=0 pd1=0", "-| PLOP3 pd0=0 pd1=1")
    assert verdict(one, other) == {"guard"}
    assert verdict(both(apart), mapped(both(TRUE_FALSE))) != set()


# -- added reads of constant memory

READS = """
.kernel k registers=8
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
STG ra=2 rb=3 width=4
EXIT
"""


def with_read(words: str) -> tuple[Module, Module]:
    original = module(READS)
    original.constants[3] = bytes(20)
    original.functions[0].info.params = [Param("p", 0, 8), Param("n", 8, 4)]
    added = mapped(READS).replace("2| STG", f"-| {words}\n2| STG")
    rewritten = module(added, rewritten=True)
    rewritten.constants[3] = bytes(20)
    rewritten.functions[0].info.params = list(original.functions[0].info.params)
    return original, rewritten


@pytest.mark.parametrize(
    "words",
    [
        "MOV rd=4 form=2 cbank=3 coff=16",
        "MOV rd=4 form=2 cbank=0 coff=8",
        "LDC rd=4 cbank=3 coff=8 width=5",
        "IADD3 rd=4 ra=2 form=4 cbank=3 coff=16",
        "@P7 DADD rd=4 ra=2 form=2 cbank=3 coff=8",
    ],
)
def test_constants_within_their_bank_may_be_read_again(words: str) -> None:
    report = check(*with_read(words), "k")
    assert report.ok, str(report)


@pytest.mark.parametrize(
    "words",
    [
        "MOV rd=4 form=2 cbank=3 coff=20",
        "MOV rd=4 form=2 cbank=4 coff=0",
        "MOV rd=4 form=2 cbank=0 coff=12",
        "MOV rd=4 form=2 cbank=0 coff=65532",
        "LDC rd=4 cbank=3 coff=16 width=5",
        "LDC rd=4 cbank=9 coff=0",
        "LDC rd=4 ra=3 cbank=3 coff=0",
        "IADD3 rd=4 ra=2 form=4 cbank=3 coff=20",
        "DADD rd=4 ra=2 form=2 cbank=3 coff=16",
        "@P0 MOV rd=4 form=2 cbank=5 coff=0",
    ],
)
def test_an_added_read_of_constants_that_may_fault_is_refused(words: str) -> None:
    assert {e.kind for e in check(*with_read(words), "k").errors} == {"inserted"}


# -- a value written on one way only

ONE_WAY = """
.kernel k registers=12
MOV rd=2 form=1 imm=64
MOV rd=3 form=1 imm=0
S2R rd=0 sreg=0
ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
@P0 BRA ->join ^join
S2R rd=1 sreg=1
join:
IADD3 rd=4 ra=1 rb=1 negb=1
STG ra=2 rb=4 width=4
EXIT
"""

ONE_WAY_TWICE = """
.kernel k registers=12
0| MOV rd=2 form=1 imm=64
1| MOV rd=3 form=1 imm=0
2| S2R rd=0 sreg=0
3| ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
4| @P0 BRA ->join ^join
5| S2R rd=1 sreg=1
-| MOV rd=5 rb=1
join:
6| IADD3 rd=4 ra=1 rb={second} negb=1
7| STG ra=2 rb=4 width=4
8| EXIT
"""


def test_a_value_written_on_one_way_only_is_noted_and_not_read_as_two() -> None:
    original = module(ONE_WAY)
    same = check(original, identity(original), "k")
    assert same.ok
    assert [n.origin_index for n in same.notes] == [6]
    assert check(original, module(ONE_WAY_TWICE.format(second=1), rewritten=True), "k").ok
    assert verdict(ONE_WAY, ONE_WAY_TWICE.format(second=5)) == {"operand"}


def test_a_value_written_on_both_ways_has_no_note() -> None:
    text = ONE_WAY.replace("icmp=1\n", "icmp=1\nMOV rd=1 form=1 imm=5\n")
    report = check(module(text), identity(module(text)), "k")
    assert report.ok
    assert not report.notes


# -- right rewrites that were once refused

INVERTED = """
.kernel k registers=12
MOV rd=2 form=1 imm=64
MOV rd=3 form=1 imm=0
S2R rd=0 sreg=0
ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
@P0 BRA ->other ^join
STG ra=2 rb=0 width=4
BRA ->join
other:
STG ra=2 rb=3 width=4
join:
STG ra=2 rb=2 moff=4 width=4
EXIT
"""

SWAPPED = """
.kernel k registers=12
0| MOV rd=2 form=1 imm=64
1| MOV rd=3 form=1 imm=0
2| S2R rd=0 sreg=0
3| ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
4| @!P0 BRA ->fall ^join
7| STG ra=2 rb=3 width=4
-| BRA ->join
fall:
5| STG ra=2 rb=0 width=4
join:
8| STG ra=2 rb=2 moff=4 width=4
9| EXIT
"""


def test_an_inverted_branch_with_swapped_targets_is_right_and_without_wrong() -> None:
    assert verdict(INVERTED, SWAPPED) == set()
    assert verdict(INVERTED, SWAPPED.replace("@!P0", "@P0")) != set()
    assert verdict(INVERTED, mapped(INVERTED).replace("@P0", "@!P0")) != set()
    other = SWAPPED.replace("3| ISETP", "-| ISETP pd0=1 ra=0 form=1 imm=17 icmp=1\n3| ISETP").replace("@!P0", "@!P1")
    assert verdict(INVERTED, other) == {"guard"}


TAIL = """
.kernel k registers=12
MOV rd=2 form=1 imm=64
MOV rd=3 form=1 imm=0
S2R rd=0 sreg=0
ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
@P0 BRA ->other{point}
STG ra=2 rb=0 width=4
BRA ->join
other:
STG ra=2 rb=3 width=4
join:
IADD3 rd=0 ra=0 rb=0
STG ra=2 rb=0 moff=4 width=4
EXIT
"""

TAIL_TWICE = """
.kernel k registers=12
0| MOV rd=2 form=1 imm=64
1| MOV rd=3 form=1 imm=0
2| S2R rd=0 sreg=0
3| ISETP pd0=0 ra=0 form=1 imm=16 icmp=1
4| @P0 BRA ->other{point}
5| STG ra=2 rb=0 width=4
8| IADD3 rd=0 ra=0 rb=0
9| STG ra=2 rb=0 moff=4 width=4
10| EXIT
other:
7| STG ra=2 rb=3 width=4
8| IADD3 rd=5 ra=0 rb=0
9| STG ra=2 rb=5 moff=4 width=4
end:
10| EXIT
"""


def test_a_tail_may_be_duplicated_where_lanes_agree() -> None:
    assert verdict(TAIL.format(point=""), TAIL_TWICE.format(point="")) == set()
    wrong = TAIL_TWICE.format(point="").replace("rb=5 moff", "rb=0 moff")
    assert verdict(TAIL.format(point=""), wrong) == {"operand"}


SPILLED = """
.kernel k registers=7 slot_bytes=256 slot_pointer=6 spill_local=8 local_bytes=16
S2R rd=6 sreg=26
MOV rd=0 form=2 cbank=0 coff=0
MOV rd=1 form=2 cbank=0 coff=4
LDG rd=2 ra=0 width=4
STS ra=6 rb=2 spill=1 width=4
CALL ->f
STL rb=2 moff=16 spill=1 width=4
LDS rd=3 ra=6 spill=1 width=4
LDL rd=4 moff=16 spill=1 width=4
FADD rd=4 ra=3 rb=4
STG ra=0 rb=4 width=4
EXIT
.function f
IADD3 rd=6 ra=6 form=1 imm=128
STS ra=6 rb=2 spill=1 width=4
FADD rd=2 ra=2 rb=2
LDS rd=5 ra=6 spill=1 width=4
IADD3 rd=6 ra=6 form=1 imm=0xffffff80
FADD rd=2 ra=2 rb=5
RET
"""


def test_what_was_rewritten_before_is_equal_to_itself() -> None:
    original = module(SPILLED)
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
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
STL ra=4 rb=0 moff=4 width=4
LDL rd=1 ra=4 moff=4 width=4
STG ra=2 rb=1 width=4
EXIT
"""

LIFTED = """
.kernel k registers=4
1| S2R rd=0 sreg=0
2| MOV rd=2 form=2 cbank=0 coff=0
3| MOV rd=3 form=2 cbank=0 coff=4
6| STG ra=2 rb=0 width=4
7| EXIT
"""


def test_a_stack_register_that_nobody_writes_is_a_fixed_place() -> None:
    assert verdict(FRAME.format(before="NOP"), LIFTED) == set()
    for before in ("S2R rd=4 sreg=0", "@P0 MOV rd=4 rb=0", "IADD3 rd=4 ra=4 form=1 imm=4"):
        assert verdict(FRAME.format(before=before), LIFTED) != set()
    assert verdict(FRAME.format(before="NOP"), LIFTED.replace("rb=0 width", "rb=2 width")) == {"operand"}


KEPT = range(10, 16)
"""Registers that a callee may write; 64 calls, each with another part of them live across it."""


def _calls_from_everywhere(wrong: tuple[int, int] = (-1, -1)) -> tuple[str, str]:
    """64 calls before which the rewritten program destroys what is dead (and, at one call, one value that is not)."""
    start = ["S2R rd=0 sreg=0", "MOV rd=2 form=1 imm=64", "MOV rd=3 form=1 imm=0"]
    start += ["ISETP pd0=0 ra=0 form=1 imm=9 icmp=1"]
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
            both(f"IADD3 rd={r} ra=0 form=1 imm={r}")
        new.extend(f"-| MOV rd={r} form=1 imm=77" for r in KEPT if r not in live or (call, r) == wrong)
        both("CALL ->f")
        for r in live:
            both(f"STG ra=2 rb={r} width=4 moff={4 * r}")
    both("EXIT")
    callee = [*(f"@P0 MOV rd={r} form=1 imm={r}" for r in KEPT), "RET"]
    old += [".function f", *callee]
    new += [".function f", *(f"{n}| {word}" for n, word in enumerate(callee))]
    return "\n".join(old), "\n".join(new)


def test_a_callee_may_be_entered_with_other_facts_from_each_of_many_calls() -> None:
    assert verdict(*_calls_from_everywhere()) == set()
    assert verdict(*_calls_from_everywhere(wrong=(63, 12))) == {"operand"}


def test_what_changed_among_many_declarations_is_named() -> None:
    """Not both lists from end to end, nor twice the same words."""
    original = module(TWO_WAYS)
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
S2R rd=0 sreg=0
MOV rd=2 form=1 imm=64
MOV rd=3 form=1 imm=0
{first}
@P{one} BRA ->over ^over
STG ra=2 rb=2 width=4
@P{two} BRA ->there ^over
BRA ->over
there:
STG ra=2 rb={stored} width=4
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
    added = "-| ISETP pd0=1 ra=255 form=1 imm=0 icmp=5\n-| ISETP pd0=2 ra=255 form=1 imm=0 icmp=2"
    numbered.insert(4, added)
    assert verdict(original, "\n".join(numbered)) == kinds


def test_a_predicate_written_on_one_way_is_what_the_first_guard_read() -> None:
    original = """
.kernel k registers=8
S2R rd=0 sreg=0
ISETP pd0=1 ra=0 form=1 imm=16 icmp=1
@P1 BRA ->join ^join
ISETP pd0=0 ra=0 form=1 imm=8 icmp=1
join:
@P0 BRA ->a ^end
EXIT
a:
@P0 BRA ->b ^end
STG ra=2 rb=0 width=4
b:
STG ra=2 rb=1 width=4
end:
EXIT
.function f
RET
"""
    rewritten = """
.kernel k registers=8
0| S2R rd=0 sreg=0
1| ISETP pd0=1 ra=0 form=1 imm=16 icmp=1
-| MOV rd=6 rb=255
-| ISETP pd0=0 ra=0 form=1 imm=24 icmp=6
2| @P1 BRA ->join ^join
3| ISETP pd0=0 ra=0 form=1 imm=8 icmp=1
-| P2R rd=6 ra=255 pmask=1
join:
4| @P0 BRA ->a ^end
5| EXIT
a:
-| {again}
6| @P0 BRA ->b ^end
7| STG ra=2 rb=0 width=4
b:
8| STG ra=2 rb=1 width=4
end:
9| EXIT
.function f
0| RET
"""
    assert verdict(original, rewritten.format(again="NOP")) == set()
    assert verdict(original, rewritten.format(again="R2P ra=6 pmask=1")) == {"guard"}
