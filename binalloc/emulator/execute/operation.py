"""A row of the emulator's table of operations describes one opcode; the device functions are generated from such rows.

A *lane* operation is a scalar function of one lane's operands. The loop over the lanes, the fields it reads and the
handling of its result are generated here. Any other operation has a device function of its own for the whole warp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from binalloc.emulator.state import layout as L
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.records import Gpu, Sm

Executor = Callable[[Gpu, Sm, Grid, Cube, int, int, int], None]
"""A device function that executes instructions of a group or a kind: (g, s, program, regs, w, pc, mask)."""
ExecutorInRows = Callable[[Gpu, Sm, Grid, Grid, int, int, int], None]
"""The same for a group that works on rows, which it takes in place of the registers."""


class ResultKind(Enum):
    """The value that an operation's function returns is written in one of these ways."""

    WORD = auto()  #: to rd
    PAIR = auto()  #: to rd and the register behind it; the second word is dropped where the destination is one register
    SUM = auto()  #: a sum t above 32 bits: rd = t, pd0 = its carry
    DOUBLE_SUM = auto()  #: as SUM; pd1 = a second carry
    NONZERO = auto()  #: to rd, and whether it is not zero to pd0
    COMPARISON = auto()  #: 0 or 1: to pd0 and pd1, combined with ps0 by field bop
    COMPARISONS = auto()  #: two bits: the lower one for pd0, the other for pd1, each combined with ps0 by field bop
    #: no scalar function but one of the whole warp, (g, s, program, w, pc, mask); it leaves its result for rd in `s.d`
    #: and `s.dh`
    WARP = auto()
    PREDICATES = auto()  #: as WARP, but it writes predicates only


@dataclass(frozen=True)
class Operation:
    """An operation says how one opcode is executed.

    Groups whose operations differ in staged columns alone have one function, called by `sm.device_loop`; their rows
    name none.
    """

    name: str  #: of `OPCODES`
    group: int  #: the device function that serves it, of `L.ExecGroup`
    #: computes the result, see `ResultKind`; sign modifiers of floats are applied before
    function: Callable[..., object] | None = None
    #: names of operands and fields, as in `isa.table.opcodes`; `b.lo b.hi` are the words of a pair, `preds` is P0 to P6
    #: of the lane; integer `neg` bits are arguments, predicate sources have their negation applied
    arguments: str = ""
    result: ResultKind = ResultKind.WORD  #: where the result goes
    #: a faster function of the same arguments without those in `unless` and `ignored`, for instructions that `is_plain`
    plain: Callable[..., object] | None = None
    unless: str = ""  #: fields that must be 0 for `plain`
    ignored: str = ""  #: further arguments that `plain` does not take
    masked: bool = False  #: computed only for lanes that execute, because it is slow
    taint: int = L.Taint.ANY  #: the sources whose poison the result gets, of `L.Taint`


# how the generated code writes an argument: from staged arrays, from rows, and from neither
_STAGED = {
    "a": "s.a[t]", "a.lo": "s.a[t]", "a.hi": "s.ah[t]",
    "b": "s.b[t]", "b.lo": "s.b[t]", "b.hi": "s.bh[t]",
    "c": "s.c[t]", "c.lo": "s.c[t]", "c.hi": "s.ch[t]",
}  # fmt: skip
_IN_ROWS = {
    "a": "int(rows[a, t])", "a.lo": "int(rows[a, t])", "a.hi": "int(rows[a + 1, t])",
    "b": "int(rows[b, t])", "b.lo": "int(rows[b, t])", "b.hi": "int(rows[b + 1, t])",
    "c": "int(rows[c, t])", "c.lo": "int(rows[c, t])", "c.hi": "int(rows[c + 1, t])",
}  # fmt: skip
_LANE = {
    "lut": ", ".join(f"m{i}" for i in range(L.LUT_BITS)),
    "preds": "lane_predicates(s, w, t)",
    "ps0": "(ps0 >> t) & 1", "ps1": "(ps1 >> t) & 1",
}  # fmt: skip
_PREDICATES = {"ps0": (L.Column.PS0, L.Column.PS0_XOR), "ps1": (L.Column.PS1, L.Column.PS1_XOR)}
"""Columns of a predicate source and of its negation."""
_WHOLE = (ResultKind.WARP, ResultKind.PREDICATES)  # results of functions for the whole warp
_SUMS = (ResultKind.SUM, ResultKind.DOUBLE_SUM)


def in_rows(rows: Sequence[Operation]) -> bool:
    """Return whether a group's function reads and writes rows of registers and values in place. Groups that have an
    operation of the whole warp get their operands staged."""
    return not any(row.result in _WHOLE for row in rows)


def group_text(name: str, rows: Sequence[Operation]) -> str:
    """Return the text of device function `name`, which executes the operations of one group. It selects one by the
    operation's number in the group."""
    where = "rows" if in_rows(rows) else "regs"
    lines = [f"def {name}(g, s, program, {where}, w, pc, mask):", f"    op = program[pc, {L.Column.OP}]"]
    if in_rows(rows):
        lines += [f"    {line}" for line in _find_rows()]
    for number, row in enumerate(rows):
        lines.append(f"    {'if' if number == 0 else 'elif'} op == {number}:  # {row.name}")
        lines += [f"        {line}" for line in (_row_body(row) if in_rows(rows) else _staged_body(row))]
    if in_rows(rows):
        lines += [f"    if d == {L.RESULT_ROW}:", "        write_rows(g, program, rows, pc, base, mask)"]
    else:
        lines.append("    write_back(g, s, program, regs, w, pc, mask)")
    return "\n".join([*lines, ""])


def _find_rows() -> Iterator[str]:
    """Yield code that finds the rows of the operands and of the result.

    The result goes to its destination at once where every lane executes and no operand is there: a loop over distinct
    rows can be vectorised. Otherwise it goes to a row of its own.
    """
    yield "base = first_row(s, w)"
    for name, (row, own) in L.ROW_COLUMNS.items():
        yield f"{name} = program[pc, {row}] + (base & program[pc, {own}])"
    yield f"if program[pc, {L.Column.SIGNS}]:"
    yield "    stage_signs(g, program, rows, pc, a, b, c)"
    yield f"    a, b, c = {L.SIGNED_ROWS_A}, {L.SIGNED_ROWS_B}, {L.SIGNED_ROWS_C}"
    yield f"d = base + program[pc, {L.Column.RD}]"
    yield f"if mask != {L.FULL} or program[pc, {L.Column.DETOUR}]:"
    yield f"    d = {L.RESULT_ROW}"


def _row_body(row: Operation) -> Iterator[str]:
    """Yield the code of one operation of a group that works on rows, up to its result's way to its destination."""
    if row.result is ResultKind.COMPARISON:
        yield "bits = 0"
    if row.result is ResultKind.COMPARISONS:
        yield "bits, others = 0, 0"
    if row.result is ResultKind.PAIR:
        yield f"d = {L.RESULT_ROW}"
    if row.result in _SUMS:
        word = f"rows[d, t] = {{}} & {L.FULL}"
        yield from _choice(row, _plain(row, _IN_ROWS, word), _sum(row, word))
        return
    kept = _KEPT_IN_ROWS.get(row.result, "rows[d, t] = {}")
    yield from _choice(row, _plain(row, _IN_ROWS, kept), _full(row, _IN_ROWS, kept))
    if row.result is ResultKind.COMPARISON:
        yield f"write_comparisons(g, s, program, w, pc, bits, bits ^ {L.FULL}, mask)"
        yield "return"
    if row.result is ResultKind.COMPARISONS:
        yield "write_comparisons(g, s, program, w, pc, bits, others, mask)"
        yield "return"
    if row.result is ResultKind.NONZERO:
        yield f"if program[pc, {L.Column.PLAIN}] == 0:"
        yield "    write_nonzero(g, s, program, rows, w, pc, d, mask)"


def _sum(row: Operation, word: str) -> Iterator[str]:
    """Yield code for a sum, computed beyond 32 bits only where a carry is wanted. word: the statement for a sum of 32
    bits."""
    assert row.function is not None
    arguments = row.arguments.split()
    yield from _fields(arguments)
    second = f" and program[pc, {L.Column.PD1}] == {L.PT}" if row.result is ResultKind.DOUBLE_SUM else ""
    yield f"if program[pc, {L.Column.PD0}] == {L.PT}{second}:"
    yield from _indented(_lanes(row, row.function.__name__, arguments, _IN_ROWS, word))
    yield "else:"
    yield from _indented(_lanes(row, row.function.__name__, arguments, _IN_ROWS, "s.d[t] = {}"))
    yield f"    finish_sum(g, s, program, rows, w, pc, d, mask, {int(row.result is ResultKind.DOUBLE_SUM)})"


_KEPT_IN_ROWS = {
    ResultKind.COMPARISON: "bits |= int({}) << t",
    ResultKind.COMPARISONS: "r = int({}); bits |= (r & 1) << t; others |= (r >> 1) << t",
    ResultKind.PAIR: "rows[d, t], rows[d + 1, t] = {}",
}
"""The statement for the function's result, {}, where it is not one word."""


def _staged_body(row: Operation) -> Iterator[str]:
    """Yield the code of one operation of a group whose operands are staged, up to the write-back of `s.d`."""
    assert row.function is not None, row.name
    if row.result in _WHOLE:
        yield f"{row.function.__name__}(g, s, program, w, pc, mask)"
    else:
        assert row.result is ResultKind.WORD, row.name
        yield from _choice(row, _plain(row, _STAGED, "s.d[t] = {}"), _full(row, _STAGED, "s.d[t] = {}"))
    if row.result is ResultKind.PREDICATES:
        yield "return"


def _fields(arguments: list[str]) -> Iterator[str]:
    """Yield code that reads the fields of the instruction that are arguments, and the lane masks of its predicate
    sources."""
    for name in arguments:
        if name in _PREDICATES:
            number, flip = _PREDICATES[name]
            yield f"{name} = s.pred[w, program[pc, {number}]] ^ program[pc, {flip}]"
        elif name == "lut":
            yield f"lut = program[pc, {L.FIELD_COLUMNS[name]}]"
            yield from (f"m{i} = g.lut_masks[lut, {i}]" for i in range(L.LUT_BITS))
        elif name not in _STAGED and name not in _LANE:
            yield f"f_{name} = program[pc, {L.FIELD_COLUMNS[name]}]"


def _choice(row: Operation, plain: Iterator[str], full: Iterator[str]) -> Iterator[str]:
    """Yield code that takes the plain function where there is one and the instruction allows it."""
    if row.plain is None:
        yield from full
        return
    yield f"if program[pc, {L.Column.PLAIN}]:"
    yield from _indented(plain)
    yield "else:"
    yield from _indented(full)


def _full(row: Operation, sources: Mapping[str, str], kept: str) -> Iterator[str]:
    """Yield the loop over the lanes. kept: the statement for the function's result, which stands for {}."""
    assert row.function is not None
    yield from _fields(row.arguments.split())
    yield from _lanes(row, row.function.__name__, row.arguments.split(), sources, kept)


def _plain(row: Operation, sources: Mapping[str, str], kept: str) -> Iterator[str]:
    """Yield the same loop with the plain function, which looks at fewer fields."""
    assert row.plain is not None
    fewer = [name for name in row.arguments.split() if name not in (*row.unless.split(), *row.ignored.split())]
    yield from _fields(fewer)
    yield from _lanes(row, row.plain.__name__, fewer, sources, kept)


def is_plain(row: Operation, columns: Sequence[int]) -> bool:
    """Return whether the `plain` function suffices for an instruction of the opcode with these staged columns. It must
    write no predicate beside a word."""
    predicates = {
        ResultKind.SUM: (L.Column.PD0,), ResultKind.NONZERO: (L.Column.PD0,),
        ResultKind.DOUBLE_SUM: (L.Column.PD0, L.Column.PD1),
    }.get(row.result, ())  # fmt: skip
    modified = any(columns[L.FIELD_COLUMNS[name]] for name in row.unless.split())
    return not modified and all(columns[column] == L.PT for column in predicates)


def _lanes(row: Operation, function: str, arguments: list[str], sources: Mapping[str, str], kept: str) -> Iterator[str]:
    """Yield the loop over the lanes."""
    places = {**sources, **_LANE}
    call = f"{function}({', '.join(places.get(name, 'f_' + name) for name in arguments)})"
    yield "for t in range(g.lanes):"
    if row.masked:
        yield "    if (mask >> t) & 1:"
    yield f"{' ' * (8 if row.masked else 4)}{kept.format(call)}"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)
