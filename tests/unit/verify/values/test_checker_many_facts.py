"""Rewrites that need many facts kept apart: of many calls of one function, of predicates that nobody wrote."""

from __future__ import annotations

import pytest

from tests.support.pairs.verdict import verdict

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
