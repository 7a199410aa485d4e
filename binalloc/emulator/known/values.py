"""This module computes what an instruction makes of one thread's values, as far as they are known.

Needs staged rows (`host.staging`) and the functions of the table of operations. Leaves for each instruction a function
that changes a `Values`. A word of memory is known where the thread itself stored it (local memory), or where it is a
constant. Values from other lanes are unknown, but for votes, which are assumed to be unanimous.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from operator import ne

from binalloc.emulator.arithmetic.integer import bool_op, plop3, table_masks
from binalloc.emulator.execute.operation import Operation, ResultKind
from binalloc.emulator.execute.table import OPERATIONS
from binalloc.emulator.execute.texture import along, layer_of, offset_on
from binalloc.emulator.execute.warp import SpecialRead
from binalloc.emulator.host.staging import Constants
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.texture_layout import HANDLE_BITS, TextureColumn
from binalloc.isa.instruction import Instr
from binalloc.isa.kinds import Access, Space

Known = int | None
"""A word, or the bit of a predicate; None: unknown."""
Row = list[int]
"""A row of the staged table."""
_C = L.Column
_HIGH = 8 * L.WORD  # bits of a word: the high word of a pair is above it
_PAIR = 2  # words of a 64-bit operand
_TEXTURE_SHIFT = 48  # above the offset of every texel, so that textures are apart from one another and from memory
_SLOTS = 1 << 28
"""Address of the slots: beyond all words of local memory, which are in the same dictionary."""


@dataclass
class Values:
    """The values of a thread are what is known of its registers, predicates and local memory."""

    special: Mapping[int, int]  #: values of special registers by number
    registers: list[Known] = field(default_factory=lambda: [*[None] * L.RZ, 0])  #: by number; the last one is zero
    predicates: list[Known] = field(default_factory=lambda: [*[None] * L.PT, 1])  #: by number; the last one is true
    local: dict[int, Known] = field(default_factory=dict)  #: words of local memory by address in bytes

    def copy(self) -> Values:
        return Values(self.special, self.registers.copy(), self.predicates.copy(), self.local.copy())

    def forget_others(self, other: Values) -> None:
        """Forget what the other does not know, or knows differently."""
        for mine, theirs in (self.registers, other.registers), (self.predicates, other.predicates):
            for k in compress(count(), map(ne, mine, theirs)):
                mine[k] = None
        self.local = {at: x for at, x in self.local.items() if other.local.get(at) == x}


Source = Callable[[Values], Known]
Effect = Callable[[Values], None]
Comparison = tuple[int, int]
"""The numbers of an integer comparison."""


def effect_of(instr: Instr, row: Row, constants: Constants) -> Effect:
    """Return the effect of the instruction on the values, without its guard. Control flow has none."""
    operation = OPERATIONS[instr.op.name]
    forget = forgetting(instr, row)
    if row[_C.GROUP] == L.ExecGroup.OUTSIDE:  # the operand is outside of its constant bank
        return forget
    if row[_C.GROUP] == L.ExecGroup.MEM:
        return _memory(instr, row, constants, forget)
    if instr.op.name in _OTHERS:
        return _OTHERS[instr.op.name](row, forget)
    if operation.function is None or operation.result in (ResultKind.WARP, ResultKind.PREDICATES):
        return forget
    return _computed(operation, row, forget)


def address_of(instr: Instr, row: Row, textures: Sequence[Sequence[int]]) -> Source:
    """Return a function for the address of a memory instruction. For a fetch it is the address of its first texel;
    textures are apart from one another and from memory."""
    if instr.op.space == Space.TEXTURE:
        return _texel(row, textures)
    low, offset = _word(row, "a", 0), row[_C.OFFSET]
    if row[_C.A_UNITS] < _PAIR:
        return lambda v: None if (x := low(v)) is None else (x + offset) & L.FULL
    high = _word(row, "a", 1)

    def pair(v: Values) -> Known:
        x, y = low(v), high(v)
        return None if x is None or y is None else (y << _HIGH | x) + offset

    return pair


def comparison_of(instr: Instr, row: Row) -> Callable[[Values], Comparison | None] | None:
    """Return a function for the two numbers of an integer comparison, None for other instructions."""
    if instr.op.name != "ISETP" or row[L.FIELD_COLUMNS["ex"]]:
        return None
    a, b = _word(row, "a", 0), _word(row, "b", 0)
    flip = 0 if row[L.FIELD_COLUMNS["u32cmp"]] else 1 << _HIGH - 1

    def numbers(v: Values) -> Comparison | None:
        x, y = a(v), b(v)
        return None if x is None or y is None else (x ^ flip, y ^ flip)

    return numbers


def _texel(row: Row, textures: Sequence[Sequence[int]]) -> Source:
    column = TextureColumn
    handle, axes = _word(row, "b", 0), row[_C.TDIM] + 1
    sources = [_word(row, *place) for place in (("a", 0), ("a", 1), ("c", 0))[:axes]]

    def address(v: Values) -> Known:
        h, bits, offsets = handle(v), [source(v) for source in sources], 0
        if h is not None and row[_C.TOFF]:
            h, offsets = h & (1 << HANDLE_BITS) - 1, h >> HANDLE_BITS
        if h is None or None in bits or not 1 <= h <= len(textures) or row[_C.TLOD]:
            return None
        t, index = textures[h - 1], 0
        for axis in reversed(range(axes)):
            n, x = t[column.WIDTH + axis], bits[axis]
            assert x is not None
            linear = t[column.LINEAR] or row[_C.TGATH]
            at, _ = along(x, n, t[column.NORMALIZED], t[column.MODE_X + axis], linear, row[_C.TCOORD])
            at = layer_of(x, n, row[_C.TLAY]) if row[_C.TLAY] and axis == axes - 1 else at + offset_on(offsets, axis)
            index = index * n + min(max(at, 0), n - 1)
        return (h << _TEXTURE_SHIFT) + index * t[column.CHANNELS] * t[column.BYTES]

    return address


def operands_of(row: Row) -> Callable[[Values], tuple[int, ...] | None]:
    """Return a function for the words of the operands A, B and C."""
    units = {"a": row[_C.A_UNITS], "b": row[_C.B_UNITS], "c": row[_C.C_UNITS]}
    sources = [_word(row, name, unit) for name, n in units.items() for unit in range(n)]

    def words(v: Values) -> tuple[int, ...] | None:
        found = tuple(source(v) for source in sources)
        return None if None in found else found  # type: ignore[return-value]

    return words


# -- sources -----------------------------------------------------------------------------------------------------------

_OPERAND = {
    "a": (_C.A_UNITS, _C.A_REG, None, _C.A_AND, _C.A_XOR),
    "b": (_C.B_UNITS, _C.B_REG, (_C.B_LO, _C.B_HI), _C.B_AND, _C.B_XOR),
    "c": (_C.C_UNITS, _C.C_REG, (_C.C_LO, _C.C_HI), _C.C_AND, _C.C_XOR),
}


def _word(row: Row, name: str, unit: int) -> Source:
    """Return a function for one word of operand A, B or C. Sign modifiers act on its highest word."""
    units, reg, value, keep, flip = _OPERAND[name]
    register = row[reg]
    k, f = (row[keep], row[flip]) if unit == max(row[units], 1) - 1 else (L.FULL, 0)
    if register < 0:
        assert value is not None
        word = row[value[unit]] & k ^ f
        return lambda v: word
    number = register if register == L.RZ else register + unit
    if k == L.FULL and not f:
        return lambda v: v.registers[number]
    return lambda v: None if (x := v.registers[number]) is None else x & k ^ f


def _predicate(row: Row, number: int, flip: int) -> Source:
    p, other = row[number], row[flip] & 1
    return lambda v: None if (x := v.predicates[p]) is None else x ^ other


def _mask(row: Row) -> Source:
    """Return a function for the predicates that P2R takes, as bits."""
    wanted = [p for p in range(L.PT) if row[_C.PMASK] >> p & 1]

    def bits(v: Values) -> Known:
        found = 0
        for p in wanted:
            x = v.predicates[p]
            if x is None:
                return None
            found |= x << p
        return found

    return bits


def _sources(operation: Operation, row: Row) -> list[Source]:
    """Return functions for the arguments of the operation's function, in its order."""
    found: list[Source] = []
    for name in operation.arguments.split():
        if name.split(".")[0] in _OPERAND:
            high = name.endswith(".hi")
            absent = high and row[_OPERAND[name[0]][0]] < _PAIR  # no function looks at the second word of a single one
            found.append(_constant(0) if absent else _word(row, name[0], int(high)))
        elif name == "ps0":
            found.append(_predicate(row, _C.PS0, _C.PS0_XOR))
        elif name == "ps1":
            found.append(_predicate(row, _C.PS1, _C.PS1_XOR))
        elif name == "preds":
            found.append(_mask(row))
        elif name == "lut":
            found += [_constant(m) for m in table_masks(row[L.FIELD_COLUMNS[name]])]
        else:
            found.append(_constant(row[L.FIELD_COLUMNS[name]]))
    return found


def _constant(word: int) -> Source:
    return lambda v: word


# -- results -----------------------------------------------------------------------------------------------------------


def forgetting(instr: Instr, row: Row) -> Effect:
    """Return the effect that the results of the instruction become unknown."""
    if instr.op.access in (Access.STORE, Access.ATOMIC) and (_own(instr, row) or instr.op.space == Space.GENERIC):
        return lambda v: v.local.clear()
    defs = row[L.FIRST_DEF : L.FIRST_DEF + row[_C.N_DEFS]]
    registers = [d for d in defs if d < L.RZ]
    predicates = [d - L.PRED_ROW for d in defs if L.PRED_ROW <= d < L.PRED_ROW + L.PT]

    def forget(v: Values) -> None:
        for r in registers:
            v.registers[r] = None
        for p in predicates:
            v.predicates[p] = None

    return forget


def _store(row: Row) -> Callable[[Values, int, int], None]:
    """Return a function that writes the words of a result into its destination."""
    rd, pair = row[_C.RD], row[_C.RD_UNITS] == _PAIR
    if rd == L.RZ:
        return lambda v, low, high: None

    def store(v: Values, low: int, high: int) -> None:
        v.registers[rd] = low & L.FULL
        if pair:
            v.registers[rd + 1] = high & L.FULL

    return store


def _set(v: Values, predicate: int, bit: Known) -> None:
    if predicate != L.PT:
        v.predicates[predicate] = bit


def _computed(operation: Operation, row: Row, forget: Effect) -> Effect:
    """Return the effect of the operation's own function, where all its arguments are known."""
    function, sources, kind = operation.function, _sources(operation, row), operation.result
    assert function is not None
    store, pd0, pd1, bop = _store(row), row[_C.PD0], row[_C.PD1], row[_C.BOP]
    other = _predicate(row, _C.PS0, _C.PS0_XOR)

    def effect(v: Values) -> None:
        given = []
        for source in sources:
            x = source(v)
            if x is None:
                return forget(v)
            given.append(x)
        found = function(*given)
        if isinstance(found, tuple):
            store(v, *found)
            return None
        assert isinstance(found, int)
        if kind in (ResultKind.COMPARISON, ResultKind.COMPARISONS):
            p, r = other(v), int(found)
            _set(v, pd0, _combined(r & 1, p, bop))
            _set(v, pd1, _combined(r >> 1 if kind is ResultKind.COMPARISONS else 1 - r, p, bop))
        else:
            store(v, found, 0)
            if kind is ResultKind.NONZERO:
                _set(v, pd0, int(found != 0))
            elif kind is not ResultKind.WORD:
                _set(v, pd0, int(found >> _HIGH >= 1))
                if kind is ResultKind.DOUBLE_SUM:
                    _set(v, pd1, int(found >> _HIGH >= 2))
        return None

    return effect


def _combined(r: int, p: Known, bop: int) -> Known:
    """Return a comparison's result combined with a predicate. It may be known although the predicate is not."""
    if p is not None:
        return bool_op(r, p, bop)
    both = {bool_op(r, p, bop) for p in (0, 1)}
    return both.pop() if len(both) == 1 else None


# -- operations that have no function of one lane's words --------------------------------------------------------------


def _special(row: Row, forget: Effect) -> Effect:
    number, store = row[_C.SREG], _store(row)

    def effect(v: Values) -> None:
        x = v.special.get(number)
        if x is None:
            forget(v)
        else:
            store(v, x, 0)

    return effect


def _to_predicates(row: Row, forget: Effect) -> Effect:
    word, wanted = _word(row, "a", 0), [p for p in range(L.PT) if row[_C.PMASK] >> p & 1]

    def effect(v: Values) -> None:
        x = word(v)
        for p in wanted:
            v.predicates[p] = None if x is None else x >> p & 1

    return effect


def _logic(row: Row, forget: Effect) -> Effect:
    places = ((_C.PS0, _C.PS0_XOR), (_C.PS1, _C.PS1_XOR), (_C.PS2, _C.PS2_XOR))
    sources = [_predicate(row, number, flip) for number, flip in places]
    results = [(row[_C.PD0], row[_C.LUT_B]), (row[_C.PD1], row[_C.LUT2])]

    def effect(v: Values) -> None:
        p, q, r = ((0, 1) if (x := source(v)) is None else (x,) for source in sources)
        for predicate, lut in results:
            found = {plop3(a, b, c, lut) for a in p for b in q for c in r}
            _set(v, predicate, found.pop() if len(found) == 1 else None)

    return effect


def _vote(row: Row, forget: Effect) -> Effect:
    own = _predicate(row, _C.PS0, _C.PS0_XOR)
    unanimous = row[_C.VOTE] > 1

    def effect(v: Values) -> None:
        x = own(v)
        forget(v)
        _set(v, row[_C.PD0], 1 if unanimous and x is not None else x)

    return effect


_OTHERS: dict[str, Callable[[Row, Effect], Effect]] = {
    "S2R": _special, "CS2R": _special, "R2P": _to_predicates, "PLOP3": _logic, "VOTE": _vote,
}  # fmt: skip


def _own(instr: Instr, row: Row) -> bool:
    """Return whether an access is to words of the thread alone: local memory, or slots."""
    return instr.op.space == Space.LOCAL or bool(row[_C.SPILL])


def _memory(instr: Instr, row: Row, constants: Constants, forget: Effect) -> Effect:
    """Return the effect of a memory instruction. Constants are read from their bank; words of local memory are what was
    stored last."""
    space, words = instr.op.space, row[_C.SIZE] // L.WORD
    address, whole = address_of(instr, row, ()), words > 0
    if space == Space.CONST and whole:
        return _loaded(row, words, forget, address, lambda v, at: constants.read(row[_C.CBANK], at, words))
    if not _own(instr, row) or not whole:
        return forget
    if instr.op.access == Access.LOAD:
        return _loaded(row, words, forget, address,
                       lambda v, at: [v.local.get(at + L.WORD * k) for k in range(words)])  # fmt: skip
    data = row[_C.DATA]

    def stored(v: Values) -> None:
        at = address(v)
        if at is None:
            forget(v)
            return
        for k in range(words):
            v.local[at + L.WORD * k] = v.registers[data if data == L.RZ else data + k]

    return stored


def _loaded(
    row: Row, words: int, forget: Effect, address: Source, read: Callable[[Values, int], list[Known] | list[int] | None]
) -> Effect:
    rd = row[_C.RD]

    def effect(v: Values) -> None:
        at = address(v)
        found = None if at is None or at % L.WORD else read(v, at)
        if found is None:
            forget(v)
        elif rd != L.RZ:
            v.registers[rd : rd + words] = found

    return effect


Three = tuple[int, int, int]


def special_values(thread: Three, block: Three | None, threads: Three, blocks: Three | None) -> dict[int, int]:
    """Return the special registers of a thread that follow from its place, by number.

    thread: its numbers in the block. block: its block's numbers in the grid. threads: of a block. blocks: of the grid.
    All are in x, y and z; None for what is unknown.
    """
    x, y, z = thread
    number = x + threads[0] * (y + threads[1] * z)
    lane, warp = number % L.LANES, number // L.LANES
    warps = -(-threads[0] * threads[1] * threads[2] // L.LANES)
    found = dict(zip((SpecialRead.TID_X, SpecialRead.TID_Y, SpecialRead.TID_Z), thread, strict=True))
    if block is not None:
        found |= zip((SpecialRead.CTAID_X, SpecialRead.CTAID_Y, SpecialRead.CTAID_Z), block, strict=True)
    found |= zip((SpecialRead.NTID_X, SpecialRead.NTID_Y, SpecialRead.NTID_Z), threads, strict=True)
    if blocks is not None:
        found |= zip((SpecialRead.NCTAID_X, SpecialRead.NCTAID_Y, SpecialRead.NCTAID_Z), blocks, strict=True)
    return found | {
        SpecialRead.SLOTBASE: _SLOTS, SpecialRead.LANEID: lane, SpecialRead.WARPID: warp, SpecialRead.NWARPID: warps,
        SpecialRead.EQMASK: 1 << lane, SpecialRead.LTMASK: (1 << lane) - 1, SpecialRead.LEMASK: (2 << lane) - 1,
        SpecialRead.GTMASK: L.FULL & ~((2 << lane) - 1), SpecialRead.GEMASK: L.FULL & ~((1 << lane) - 1),
    }  # fmt: skip
