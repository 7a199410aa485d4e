"""This module decides when the result of a pure operation of the rewritten program is an original value.

Needs a state of `lattice.py`. A pure operation gives equal results for equal operands. So its result has a name of its
own, a token made of the operation's signature and of the operands' names (`Names.computed`). Where the original
executes such an operation, its result is that token. The rewritten program may execute one by itself (moved to another
block, or a second time). The written row then holds that token and all original values equal to it.

- The operands' names stand for the current values. As soon as one is written, the token says nothing more
  (`State.kill`). That holds for the operation's own result, too, if it is among its operands. So a value that a loop
  adds to itself cannot be moved out of its block or computed again from the value before.
- An operand must be one value wherever it is read. A value that nobody wrote may read as something else each time:
  nothing is concluded from it.
- A value has several names (a copy's; a constant's or another token's). The original's result is recorded under the
  names of the values themselves and under their tokens. The rewritten program's result is recorded under the contents
  of its rows if the original has recorded one so (`Names.recorded_ways`), however many values a row holds.

The limits below were chosen by hand: larger ones prove a few more rewrites, and cost time at each operation.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice, product
from typing import TypeVar

from binalloc.verify.original import OriginalFunction
from binalloc.verify.reading.names import const_of, copy_key, is_token
from binalloc.verify.values.conditions import NONE
from binalloc.verify.values.lattice import State

MOST_NAMES = 6  # names of one operand, values as well as tokens, that are tried where the original recorded none
MOST_EQUAL = 2  # further values that an operand is a copy of, or that are copies of it
MOST_RECORDED = 16  # ways of naming the operands of an operation of the original, beside the way by values alone
MOST_HELD = 30  # tokens of a result that no original value equals now
MOST_RANKED = 100  # ways among which MOST_RECORDED are selected
MOST_WAYS = 100  # ways of naming all operands of one operation

Signature = tuple[object, ...]  # an operation with its modifiers, without operands
T = TypeVar("T")


def remade_operands(old: OriginalFunction, remade: Collection[Signature]) -> frozenset[int]:
    """Return the values read by the original's operations of these signatures, and the sources of copies to them."""
    if not remade:
        return NONE
    found = {x for i, v in enumerate(old.views) if v.pure and v.signature in remade for x in old.uses[i]}
    sources: dict[int, list[int]] = {}
    for i in range(len(old)):
        for x, y in old.moves(i) or ():
            sources.setdefault(x, []).append(y)
    work = sorted(found)
    while work:
        new = [y for y in sources.get(work.pop(), ()) if y not in found and not is_token(y)]
        found.update(new)
        work += new
    return frozenset(found)


def note_copies(state: State, moves: list[tuple[int, int]], operands: frozenset[int]) -> None:
    """Record that the values of a copy are equal, after the original has made these (destination, source) copies.

    operands: the values for which this matters (`remade_operands`), and for which it is recorded. The rewritten program
    may have executed an operation on the source before, and may hold neither value any more.
    """
    now = dict(moves)  # if two write the same destination, the later one counts
    for x, y in now.items():
        if x != y and x in operands:
            state.clear_row(copy_key(x))
            if y not in now and not is_token(y) and state.sure(y):
                before = state.row(copy_key(y))
                state.put(copy_key(x), before | {x} if y in before else frozenset((x, y)))


def made_by_rows(state: State, signature: Signature, rows: list[int], units: int) -> list[list[int]]:
    """Return for each unit of the result its tokens, if the operation reads these rows.

    They are the tokens that the original has computed, too. Where none of them equals a current value, the oldest
    tokens are added: an original value that was written again since left its token.
    """
    names = state.names
    known = [_contents(state, key) for key in rows]
    ways = names.recorded_ways(signature, [[*values, *tokens] for values, tokens in known])
    out = []
    for unit in range(units):
        found = [t for way in ways if (t := names.computed(signature, unit, way)) is not None]
        equal = [t for t in found if state.equals(t)]
        out.append(equal or sorted(found)[:MOST_HELD] + _oldest(state, signature, unit, known))
    return out


def _oldest(state: State, signature: Signature, unit: int, known: list[tuple[list[int], list[int]]]) -> list[int]:
    """Return the oldest tokens of a result. known: values and tokens of each operand."""
    operands = (values[:MOST_NAMES] + tokens[:MOST_NAMES] for values, tokens in known)
    ways = islice(product(*operands), MOST_WAYS)
    found = [t for way in ways if (t := state.names.computed(signature, unit, way)) is not None]
    return sorted(found)[:MOST_NAMES]


def _contents(state: State, key: int) -> tuple[list[int], list[int]]:
    """Return the names under which the content of a row may enter an operation: original values, and tokens.

    Tokens of the values are included. The oldest come first, since the original made those.
    """
    pointers = state.names.pointers
    row = state.row(key)
    values = sorted(x for x in row if not is_token(x) and state.sure(x))
    tokens = {x for x in row if is_token(x)} | {state.of[x] for x in values if x in state.of}
    return values, sorted(t for t in tokens if t not in pointers)


def _names(state: State, x: int) -> list[int]:
    """Return the names of an original value: its token, itself, and further tokens and values that it equals.

    Tokens that depend on fewest values come first. Where ways meet, a dead value is forgotten and its tokens are not;
    and a token that a value equals on one way only is forgotten and the value is not. A result made of both kinds must
    be recorded under the name that lasts.
    """
    tokens = [t for key in state.where.get(x, ()) if (t := const_of(key)) is not None]
    tokens.sort(key=lambda t: (len(state.names.leaves.get(t, ())), t))
    equal = state.row(copy_key(x))
    others = sorted(y for y in equal if not is_token(y) and state.sure(y))[:MOST_EQUAL] if x in equal else []
    return list(dict.fromkeys((state.of.get(x, (*tokens, x)[0]), x, *tokens[:MOST_NAMES], *others)))


def _ways(state: State, uses: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the ways of naming the operands of an original operation, first the one by the usual names.

    An operand that is read twice has one name, and the halves of a two-unit result have corresponding names; otherwise
    there would be too many ways. Of the rest, ways that depend on fewest values come first: they name one value in one
    way in all operands that are made of it.
    """
    apart = {x: i for i, x in enumerate(dict.fromkeys(uses))}
    names = [_names(state, x) for x in apart]
    plain, *others = _by_rank(names, MOST_RANKED)
    leaves = state.names.leaves

    def values(way: tuple[int, ...]) -> int:
        return len(set[int]().union(*(leaves.get(x, ()) if is_token(x) else (x,) for x in way)))

    joined = sorted(_joined(state, list(apart), names), key=values)[:MOST_RECORDED]
    chosen = [plain, *joined, *sorted(others, key=values)[: MOST_RECORDED - len(joined) // 2], tuple(apart)]
    return list(dict.fromkeys(tuple(way[apart[x]] for x in uses) for way in chosen))


def _joined(state: State, values: list[int], names: list[list[int]]) -> list[tuple[int, ...]]:
    """Return ways of naming in which consecutive values have corresponding names if they are two units of the same
    results.

    There are none without such values.
    """
    choices: list[list[tuple[int, ...]]] = []
    at = 0
    while at < len(values):
        both = _alike(state, values[at : at + 2], names[at : at + 2])
        choices.append(both or [(x,) for x in names[at]])
        at += 2 if both else 1
    if len(choices) == len(values):
        return []
    return [tuple(x for part in way for x in part) for way in _by_rank(choices, MOST_RANKED)]


def _alike(state: State, values: list[int], names: list[list[int]]) -> list[tuple[int, ...]]:
    """Return the pairs of names of two values that are two units of the same results; none for others."""
    if len(values) < 2:
        return []
    other: dict[int, int] = {values[0]: values[1]}
    for x in names[0]:
        found = state.names.next_unit(x) if is_token(x) else None
        if found in names[1]:
            other[x] = found
    pairs: list[tuple[int, ...]] = [(x, other[x]) for x in names[0] if x in other]
    return pairs if len(pairs) > 1 else []


def _by_rank(choices: list[list[T]], most: int) -> list[tuple[T, ...]]:
    """Return the first ways of taking one of each choice, those with the least sum of places in the lists first."""
    ranked = [((0,) * len(choices), 0)]
    for at, last in ranked:  # the list grows meanwhile; only places from `last` on increase, so each way comes once
        if len(ranked) >= most:
            break
        more = [i for i in range(last, len(at)) if at[i] + 1 < len(choices[i])]
        ranked += [((*at[:i], at[i] + 1, *at[i + 1 :]), i) for i in more]
    return [tuple(c[i] for c, i in zip(choices, at, strict=True)) for at, _ in ranked[:most]]


def made_of_values(
    state: State, signature: Signature, uses: tuple[int, ...], defs: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return (value, token) pairs for the results of the original's operation on these values.

    Of two results in one place the last counts.
    """
    if not all(map(state.sure, uses)):
        return []
    plain, *ways = _ways(state, uses)
    stands = {x: unit for unit, x in enumerate(defs)}
    out = []
    for way in (*ways, plain):  # `State.of` keeps the last one
        state.names.record(signature, way)
        for x, unit in stands.items():
            token = state.names.computed(signature, unit, way)
            if token is not None and state.names.leaves[token].isdisjoint(defs):
                out.append((x, token))
    return out
