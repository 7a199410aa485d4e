"""Values that a pure operation makes: when is the one that the rewritten program makes an original one?

Needs a state of `lattice.py`. A pure operation gives equal results for equal operands; so its result has a name of its
own, a token made of the operation's signature and of the operands' names (`Names.computed`). Where the original
executes such an operation, its result is that token; where the rewritten program executes one by itself (moved to
another block, or a second time), the row that it writes holds that token, and so every original value that is it.

- The operands' names stand for what they are at the moment; as soon as one is written, the token says nothing more
  (`State.kill`), also for the operation's own result if that is among its operands: what a loop adds to itself cannot
  be moved out of its block or made again from the value before.
- An operand must be one value wherever it is read. What nobody wrote may read as something else each time: nothing is
  concluded from it.
- A value has several names (a copy's; a constant's or another token's). The original's result is told by the names of
  the values themselves and by the tokens that they are; the rewritten program's by whatever its rows hold.
"""

from __future__ import annotations

from itertools import islice, product

from binalloc.verify.lattice import State

MOST_NAMES = 4  # of one operand that are tried
MOST_WAYS = 40  # of naming all operands of one operation

Signature = tuple[object, ...]


def made_by_rows(state: State, signature: Signature, rows: list[int], units: int) -> list[list[int]]:
    """The tokens of each unit of what the operation makes of the rows' contents."""
    names = state.names
    ways = list(islice(product(*(_operand(state, key) for key in rows)), MOST_WAYS))
    found = [[names.computed(signature, unit, way) for way in ways] for unit in range(units)]
    return [[t for t in tokens if t is not None] for tokens in found]


def _operand(state: State, key: int) -> list[int]:
    """By what names the content of a row may enter an operation, tokens first."""
    pointers = state.names.pointers
    return sorted((x for x in state.row(key) if x not in pointers and state.sure(x)), reverse=True)[:MOST_NAMES]


def made_of_values(
    state: State, signature: Signature, uses: tuple[int, ...], defs: tuple[int, ...]
) -> list[tuple[int, int]]:
    """(value, token) of what the original's operation makes of these values. Of two results in one place the last
    stands."""
    if not all(map(state.sure, uses)):
        return []
    ways = dict.fromkeys((uses, tuple(state.of.get(x, x) for x in uses)))
    stands = {x: unit for unit, x in enumerate(defs)}
    out = []
    for way in ways:
        for x, unit in stands.items():
            token = state.names.computed(signature, unit, way)
            if token is not None and state.names.leaves[token].isdisjoint(defs):
                out.append((x, token))
    return out
