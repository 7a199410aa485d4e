"""Runs an instruction body over operands' bit patterns and compares with an oracle in Python's integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.ptx.elementwise import elementwise
from tests.support.ptx.patterns import patterns, random_patterns, specials


def bits(type_: str) -> int:
    return int(type_[1:])


def number(pattern: int, type_: str) -> int:
    """The value of a pattern."""
    size = bits(type_)
    pattern &= (1 << size) - 1
    return pattern - (1 << size) if type_[0] == "s" and pattern >> (size - 1) else pattern


def triples(types: Sequence[str], count: int = 640) -> list[list[int]]:
    """Operand columns: all pairs of the first two types' special values (thinned), then random ones."""
    first, second = specials(types[0]), specials(types[1]) if len(types) > 1 else [0]
    rows = [(x, y) for x in first for y in second]
    rows = rows[:: max(1, len(rows) // count)]
    columns = [[x for x, _ in rows], [y for _, y in rows]][: len(types)]
    third = [specials(t) for t in types[2:]]
    columns += [[values[k * 7 % len(values)] for k in range(len(rows))] for values in third]
    return [c + random_patterns(t, 200, k) for k, (c, t) in enumerate(zip(columns, types, strict=True))]


def check(
    body: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    oracle: Callable[..., int | tuple[int, ...] | None],
    columns: Sequence[Sequence[int]] | None = None,
) -> None:
    """The body on operands' patterns gives the oracle's values modulo 2^bits (None: anything goes), both optimised and
    as lowered."""
    columns = columns or triples(inputs)
    arrays = [patterns(c, t) for c, t in zip(columns, inputs, strict=True)]
    for optimised in (True, False):
        found = elementwise(body, inputs, outputs, arrays, optimised=optimised)
        for k, row in enumerate(zip(*columns, strict=True)):
            values = [number(x, t) if t[0] in "us" else x for x, t in zip(row, inputs, strict=True)]
            wanted = oracle(*values)
            if wanted is None:
                continue
            wanted = wanted if isinstance(wanted, tuple) else (wanted,)
            for got, want, type_ in zip(found, wanted, outputs, strict=True):
                size = 32 if type_ == "pred" else bits(type_)
                have = int(got[k]) & ((1 << size) - 1)
                assert have == want & ((1 << size) - 1), (body, [hex(x) for x in row], hex(have), optimised)
