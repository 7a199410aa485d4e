"""What a row of the emulator's table of operations is, and the device functions written from such rows.

A *lane* operation is a scalar function of one lane's operands: the loop over the lanes, the fields it reads and what
becomes of its result are written out here. Any other operation has a device function of its own for the whole warp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from binalloc.emulator.state import layout as L
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.records import Gpu, Sm

Executor = Callable[[Gpu, Sm, Grid, Cube, int, int, int], None]
"""A device function that executes instructions of a group or a kind: (g, s, program, regs, w, pc, mask)."""


class Result(Enum):
    """What becomes of what an operation's function returns."""

    WORD = auto()
    """rd."""
    PAIR = auto()
    """rd and the register behind it; the second word is dropped where the destination is one register."""
    SUM = auto()
    """A sum t above 32 bits: rd = t, pd0 = its carry."""
    DOUBLE_SUM = auto()
    """As SUM; pd1 = a second carry."""
    NONZERO = auto()
    """rd, and whether it is not zero in pd0."""
    COMPARISON = auto()
    """0 or 1: pd0 and pd1, combined with ps0 as field bop says."""
    WARP = auto()
    """No scalar function but one of the whole warp, (g, s, program, w, pc, mask), that leaves its result in `s.d` and
    `s.dh` for rd."""
    PREDICATES = auto()
    """As WARP, but it writes predicates only."""


@dataclass(frozen=True)
class Operation:
    """How one opcode is executed.

    name: of `OPCODES`. group: the device function that serves it, of `L.ExecGroup`. function, arguments, result: see
    `Result`; arguments are named as the operands and fields of `isa.table.opcodes`, `b.lo b.hi` are the words of a
    pair, and `preds` is P0 to P6 of the lane. Sign modifiers of floats are applied before, integer `neg` bits are
    arguments, predicate sources come with their negation applied. plain: a faster function of the same arguments
    without those in `unless`, for where these are all zero. masked: only for lanes that execute, because it is slow.
    taint: which sources' poison reaches the result, of `L.Taint`.

    Groups whose operations differ in staged columns alone have one function, called by `sm.device_loop`; their rows
    name none.
    """

    name: str
    group: int
    function: Callable[..., object] | None = None
    arguments: str = ""
    result: Result = Result.WORD
    plain: Callable[..., object] | None = None
    unless: str = ""
    masked: bool = False
    taint: int = L.Taint.ANY


_SOURCES = {
    "a": "s.a[t]", "a.lo": "s.a[t]", "a.hi": "s.ah[t]",
    "b": "s.b[t]", "b.lo": "s.b[t]", "b.hi": "s.bh[t]",
    "c": "s.c[t]", "c.lo": "s.c[t]", "c.hi": "s.ch[t]",
    "preds": "lane_predicates(s, w, t)",
    "ps0": "(ps0 >> t) & 1", "ps1": "(ps1 >> t) & 1",
}  # fmt: skip
_PREDICATES = {"ps0": (L.Column.PS0, L.Column.PS0_XOR), "ps1": (L.Column.PS1, L.Column.PS1_XOR)}
_WHOLE = (Result.WARP, Result.PREDICATES)


def group_text(name: str, rows: Sequence[Operation]) -> str:
    """The device function `name` that executes the operations of one group, told apart by their numbers in it."""
    lines = [f"def {name}(g, s, program, regs, w, pc, mask):", f"    op = program[pc, {L.Column.OP}]"]
    for number, row in enumerate(rows):
        lines.append(f"    {'if' if number == 0 else 'elif'} op == {number}:  # {row.name}")
        lines += [f"        {line}" for line in _body(row)]
    return "\n".join([*lines, "    write_back(g, s, program, regs, w, pc, mask)", ""])


def _body(row: Operation) -> Iterator[str]:
    """What one operation does before the results in `s.d` are written back."""
    assert row.function is not None, row.name
    if row.result in _WHOLE:
        yield f"{row.function.__name__}(g, s, program, w, pc, mask)"
    else:
        yield from _fields(row.arguments.split())
        if row.result is Result.COMPARISON:
            yield "bits = 0"
        if row.plain is not None:
            unless = row.unless.split()
            yield f"if {' and '.join(f'f_{name} == 0' for name in unless)}:"
            plain = [name for name in row.arguments.split() if name not in unless]
            yield from (f"    {line}" for line in _lanes(row, row.plain.__name__, plain))
            yield "else:"
            yield from (f"    {line}" for line in _lanes(row, row.function.__name__, row.arguments.split()))
        else:
            yield from _lanes(row, row.function.__name__, row.arguments.split())
    yield from _ends(row.result)


def _fields(arguments: list[str]) -> Iterator[str]:
    """The fields of the instruction that are arguments, and the lane masks of its predicate sources."""
    for name in arguments:
        if name in _PREDICATES:
            number, flip = _PREDICATES[name]
            yield f"{name} = s.pred[w, program[pc, {number}]] ^ program[pc, {flip}]"
        elif name not in _SOURCES:
            yield f"f_{name} = program[pc, {L.FIELD_COLUMNS[name]}]"


def _lanes(row: Operation, function: str, arguments: list[str]) -> Iterator[str]:
    """The loop over the lanes."""
    call = f"{function}({', '.join(_SOURCES.get(name, 'f_' + name) for name in arguments)})"
    yield "for t in range(g.lanes):"
    if row.masked:
        yield "    if (mask >> t) & 1:"
    indent = " " * (8 if row.masked else 4)
    if row.result is Result.COMPARISON:
        yield f"{indent}bits |= int({call}) << t"
    elif row.result is Result.PAIR:
        yield f"{indent}s.d[t], s.dh[t] = {call}"
    else:
        yield f"{indent}s.d[t] = {call}"


def _ends(result: Result) -> Iterator[str]:
    """What follows the loop."""
    if result is Result.COMPARISON:
        yield "write_comparison(g, s, program, w, pc, bits, mask)"
    elif result is Result.NONZERO:
        yield "write_nonzero(g, s, program, w, pc, mask)"
    elif result in (Result.SUM, Result.DOUBLE_SUM):
        yield f"finish_sum(g, s, program, w, pc, mask, {int(result is Result.DOUBLE_SUM)})"
    if result in (Result.COMPARISON, Result.PREDICATES):
        yield "return"
