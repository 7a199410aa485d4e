"""What the checker knows at a point: indices that agree with the facts, and no facts that nobody can ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from binalloc.isa.instruction import Module
from binalloc.verify import calls
from binalloc.verify.calls import TIDY, _Run
from binalloc.verify.checker import check
from binalloc.verify.lockstep import LockstepNode
from binalloc.verify.reading.names import DEFINED, Names, const_key, const_of
from binalloc.verify.values.lattice import State
from binalloc.verify.values.tidy import prune
from tests.support.pairs.random_pairs import random_original, random_rewrite
from tests.support.pairs.scrambled import scramble
from tests.support.pairs.verdict import verdict
from tests.support.programs.builder import program

# -- indices


def indices_agree(state: State) -> bool:
    """Whether what leads from names to rows leads to the rows that name them, and to no others."""
    where: dict[int, set[int]] = {}
    for key, values in state.S.items():
        for x in values:
            where.setdefault(x, set()).add(key)
    named: dict[int, set[int]] = {}
    for key, facts in state.C.items():
        for conds, values in facts.items():
            for x in (*values, *(p for p, _ in conds)):
                named.setdefault(x, set()).add(key)
    made = state.names.leaves
    told = all(x in state.row(const_key(t)) for x, t in state.of.items() if t in made)
    return where == state.where and named == state.named and told and state.row(DEFINED) <= state.doubt


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every state before and behind a step of the lockstep, whether its indices agree with its facts."""
    seen: list[bool] = []
    step = _Run._node

    def watched(self: _Run, node: LockstepNode, state: State) -> State | None:
        seen.append(indices_agree(state))
        after = step(self, node, state)
        if after is not None:
            seen.append(indices_agree(after))
        return after

    monkeypatch.setattr(_Run, "_node", watched)
    return seen


def pairs(seed: int) -> Iterator[tuple[Module, Module]]:
    original = random_original(seed, size=8)
    yield original, random_rewrite(original, seed)
    yield original, scramble(original, seed)


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(300, 308))
def test_indices_agree_with_the_facts_at_every_step(seed: int, states: list[bool]) -> None:
    for original, rewritten in pairs(seed):
        assert check(original, rewritten, "k").ok
    assert len(states) > 100
    assert all(states)


# -- values in doubt


def test_a_copy_of_what_was_surely_written_is_not_in_doubt() -> None:
    written, unwritten, copy, other = (1 << 24) + 1, (1 << 24) + 2, (1 << 24) + 3, (1 << 24) + 4
    state = State(Names(), frozenset((written, unwritten)))
    state.kill((written,))
    state.copy_columns([(copy, written), (other, unwritten)])
    assert state.defined(copy)
    assert not state.defined(other)
    assert state.doubt == {written, unwritten, other}
    state.copy_columns([(other, copy)])
    assert state.defined(other)
    state.copy_columns([(written, unwritten)])
    assert not state.defined(written)


# -- facts that pile up in long blocks

LONG = """
.kernel k registers=16
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
LDG.64 R0, [R2]
SHF.L.U32 R4, R0, 0x3, RZ
IADD3 R5, R4, R1, RZ
{words}
STG.32 [R2], R5
STG.32 [R2+0x4], R0
EXIT
"""
AGAIN = """
.kernel k registers=16
0| MOV R2, c[0][0x0]
1| MOV R3, c[0][0x4]
2| LDG.64 R0, [R2]
{words}
-| SHF.L.U32 R4, R0, 0x3, RZ
-| IADD3 R5, R4, {operand}, RZ
{store}| STG.32 [R2], R5
{last}| STG.32 [R2+0x4], R0
{end}| EXIT
"""


def long_block(count: int, operand: str = "R1") -> tuple[str, str]:
    """A block of so many words that make values of no further use, and a value behind them that is made again of one
    that the original has no more."""
    words = [f"IADD3 R{8 + n % 4}, R{8 + (n + 1) % 4}, R1, RZ\nSTG.32 [R2+0x8], R{8 + n % 4}" for n in range(count)]
    lines = [line for word in words for line in word.splitlines()]
    first = ["SHF.L.U32 R4, RZ, 0x3, RZ", *(f"MOV R{r}, 0x1" for r in range(8, 12))]
    lines = [*first, *lines]
    mapped = [f"{n}| {line}" for n, line in enumerate(lines, 5)]
    behind = 5 + len(lines)
    rewritten = AGAIN.format(words="\n".join(mapped), operand=operand, store=behind, last=behind + 1, end=behind + 2)
    return LONG.format(words="\n".join(lines)), rewritten


@pytest.mark.parametrize("count", [4, TIDY, 5 * TIDY])
def test_what_was_made_of_dead_values_is_made_again_far_behind_them(count: int) -> None:
    assert verdict(*long_block(count)) == set()
    assert verdict(*long_block(count, operand="R2")) == {"operand"}


def test_facts_do_not_pile_up_in_a_long_block(monkeypatch: pytest.MonkeyPatch) -> None:
    def most(count: int) -> int:
        found = [0]

        def counted(state: State, live: Callable[[int], bool]) -> None:
            prune(state, live)
            found[0] = max(found[0], sum(const_of(k) is not None for k in state.S) + len(state.of))

        with monkeypatch.context() as patch:
            patch.setattr(calls, "prune", counted)
            assert check(*map(program, long_block(count)), "k").ok
        return found[0]

    assert 0 < most(20 * TIDY) <= most(4 * TIDY) + 2
