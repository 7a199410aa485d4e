"""This module puts whole places of the input into memory. Every access goes through a few registers set aside for it,
the window.

It needs virtual code with the places of the input, and the demoted places, wide operands as a whole. It leaves the code
with a reload before every line that reads a demoted place, and a store behind every line writing one. The content of a
thread's register in the input is now in one word of memory. So a line under a guard stores under its guard, and the
word keeps the content that the register would have kept. Where the line changes its own guard, the place is reloaded
before it and stored in any case. Then needless code is removed. Within a block, these are reloads of places still in
the window; copies, which become the reload or the store alone; and stores not seen by any reload.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from binalloc.analysis.locations import Location, file_of, index_of, name_of
from binalloc.isa.interface.places import REG
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.virtual.code import COPY, ENTRY, INSTR, KEEP, MOVED, RELOAD, STORE, Item, VCode, VOperand
from binalloc.transform.virtual.flat import flatten
from binalloc.transform.virtual.live_ranges import deaths
from binalloc.transform.virtual.memory_ranges import memory_ranges
from binalloc.transform.virtual.places import OnPlaces

Places = tuple[Location, ...]  # the places of one operand
Operands = Mapping[Places, int]  # operands, each with the alignment of its first register


class WindowNeed(NamedTuple):
    """A need says which window some lines take. The larger of two needs, field by field, is enough for both."""

    size: int = 0  #: registers
    #: each operand lies between two multiples of this power of two, counted from the window's start
    block: int = 0
    #: whether some operand is not as wide as its alignment; else each lies between multiples of its own width
    uneven: bool = False

    def with_others(self, others: Sequence[WindowNeed]) -> WindowNeed:
        """Return what is enough for this need and the others."""
        all_ = (self, *others)
        return WindowNeed(max(n.size for n in all_), max(n.block for n in all_), any(n.uneven for n in all_))


def _need(operands: Sequence[tuple[Places, int]]) -> WindowNeed:
    """Return the window that operands need at the same time."""
    if all(len(places) == alignment for places, alignment in operands):
        widths = [alignment for _, alignment in operands]
        return WindowNeed(sum(widths), max(widths, default=0))
    block = block_of(operands)
    bases: dict[Places, int] = first_fit(operands, block)
    return WindowNeed(max(base + len(places) for places, base in bases.items()), block, True)


def block_of(operands: Sequence[tuple[Places, int]]) -> int:
    """Return the smallest power of two that no operand is wider than, or aligned to more."""
    return max(1 << (max(len(places), alignment) - 1).bit_length() for places, alignment in operands)


def first_fit(operands: Sequence[tuple[Places, int]], block: int) -> dict[Places, int]:
    """Return places in a window of any size for operands, the widest first, each in the first place left for it."""
    taken = 0
    out: dict[Places, int] = {}
    for places, alignment in sorted(operands, key=lambda o: -len(o[0])):
        mask, base = (1 << len(places)) - 1, 0
        while taken >> base & mask or base % block + len(places) > block:
            base += alignment
        taken |= mask << base
        out[places] = base
    return out


class LinePlaces(NamedTuple):
    """A touch lists the places that one line needs in registers at the same time."""

    before: Operands  #: before the line
    after: Operands  #: behind the line
    weight: float  #: of the line
    #: the line only copies one place to another, which takes no window register if just one of them is demoted
    copy: bool

    def window(self, gone: Collection[Location]) -> WindowNeed:
        """Return the window that the line needs."""
        before = [o for o in self.before.items() if o[0][0] in gone]
        after = [o for o in self.after.items() if o[0][0] in gone]
        if self.copy:
            return WindowNeed(1, 1) if before and after else WindowNeed()
        return _need(before).with_others([_need(after)])


def touch(code: OnPlaces, item: Item) -> LinePlaces | None:
    """Return the places that the line touches, None if it never needs the window."""
    if item.kind == ENTRY or item.callee or _stored_zero(item):
        return None
    before = _operands(code, item.uses)
    after = _operands(code, item.defs)
    if item.changes_own_guard:
        before = _operands(code, (*item.uses, *item.defs))
    if not before and not after:
        return None
    return LinePlaces(before, after, item.weight, item.kind == COPY)


def _operands(code: OnPlaces, operands: Sequence[VOperand]) -> dict[Places, int]:
    found: dict[Places, int] = {}
    for o in operands:
        places = code.places(o)
        found[places] = max(o.alignment, found.get(places, 1))
    return found


def _stored_zero(item: Item) -> bool:
    """Say whether the line is a store of the zero register to a local word of the input."""
    return item.kind == INSTR and item.origin < 0 and item.instr is not None and bool(item.defs)


@dataclass(frozen=True)
class Demoted:
    """Demoted code accesses some places of the input in memory."""

    code: VCode  #: with reloads and stores; its first values are the input's places
    window: list[Value]  #: the values of the window's registers, in order
    zero: Value  #: the value of the register that is always zero


def demote(source: OnPlaces, gone: Collection[Location], window: int) -> Demoted:
    """Return the function with the places `gone` in memory. window: number of its registers, enough for every
    `LinePlaces`."""
    work = _Demoting(source, gone, window)
    work.run()
    _drop_unread_stores(work.code)
    return Demoted(work.code, work.window, work.zero)


class _Demoting:
    """This pass rewrites the lines of a function. held: by register of the window, the places whose words are known to
    have the same content."""

    def __init__(self, source: OnPlaces, gone: Collection[Location], window: int) -> None:
        self.source, self.gone = source, gone
        self.code = source.given.copied()
        self.code.constants = {}
        self.window = [self.code.value(f"window{k}") for k in range(window)]
        self.zero = self.code.value("zero")
        self.memory: dict[Location, Value] = {}
        for place in sorted(gone):
            self.memory[place] = word = self.code.value(name_of(place))
            if file_of(place) == REG:
                self.code.before[word] = Register(index_of(place))
        self.held: list[set[Location]] = []

    def run(self) -> None:
        for block in self.code.blocks:
            self._forget()
            out: list[Item] = []
            for item in block.items:
                self._item(item, out)
            block.items = out

    def _forget(self) -> None:
        self.held = [set() for _ in self.window]

    def _item(self, item: Item, out: list[Item]) -> None:
        """Add an item to `out`, with its accesses to demoted places."""
        if any(o.field == KEEP for o in item.uses):  # a wish is always granted, as every place keeps its register
            item = item.of(item.defs, tuple(o for o in item.uses if o.field != KEEP))
        if item.kind == ENTRY:  # an unwritten place may have any content, and so may its word
            out.append(item.of(tuple(o for o in item.defs if not self._demoted(o)), item.uses))
        elif not any(self._demoted(o) for o in (*item.uses, *item.defs)):
            out.append(item)
            if item.callee:  # the callee has the same window
                self._forget()
        elif item.kind == COPY:
            self._copy(item, out)
        elif _stored_zero(item):
            place = self._places(item.defs[0])[0]
            out.append(self._store(self.zero, place, item, item.guard))
            self._changed(place)
        else:
            self._line(item, out)

    def _places(self, operand: VOperand) -> Places:
        return self.source.places(operand)

    def _demoted(self, operand: VOperand) -> bool:
        return self._places(operand)[0] in self.gone

    # -- lines

    def _line(self, item: Item, out: list[Item]) -> None:
        """Add a line that accesses demoted places through the window, with its reloads and stores."""
        uses = [o for o in item.uses if self._demoted(o)]
        defs = [o for o in item.defs if self._demoted(o)]
        own = item.changes_own_guard
        before = self._bases(_operands(self.source, (*uses, *defs) if own else uses))
        for places, base in before.items():
            for k, place in enumerate(places, base):
                if place not in self.held[k]:
                    out.append(self._reload(self.window[k], place, item, None))
                    self.held[k] = {place}
        written_operands = _operands(self.source, defs)
        after = before if own else self._bases(written_operands)
        out.append(item.of(self._renamed(item.defs, after), self._renamed(item.uses, before)))
        whole = own or item.guard is None
        written = [(k, place) for places in written_operands for k, place in enumerate(places, after[places])]
        # where the guard fails, the register keeps its old content, which may be the content of the word
        same = [whole or place in self.held[k] for k, place in written]
        for (k, place), known in zip(written, same, strict=True):
            out.append(self._store(self.window[k], place, item, None if whole else item.guard))
            self._changed(place)
            self.held[k] = {place} if known else set()

    def _bases(self, operands: Operands) -> dict[Places, int]:
        """Choose a place in the window for each operand, the widest first. It is where the operand is held already, if
        that leaves room for the others."""
        wide = sorted(operands.items(), key=lambda o: -len(o[0]))
        if not wide:
            return {}
        block = block_of(wide)
        found = self._where_held(wide, block)
        if found is None:
            found = first_fit(wide, block)
        assert all(base + len(places) <= len(self.window) for places, base in found.items()), "a window too small"
        return found

    def _where_held(self, operands: list[tuple[Places, int]], block: int) -> dict[Places, int] | None:
        """Choose places in the window for these operands, in this order; None if they do not fit. Places that hold them
        already are preferred."""
        taken: set[int] = set()
        out: dict[Places, int] = {}
        for places, alignment in operands:
            width = len(places)
            bases = [
                base
                for base in range(0, len(self.window) - width + 1, alignment)
                if base % block + width <= block and taken.isdisjoint(range(base, base + width))
            ]
            if not bases:
                return None
            bases.sort(key=lambda base: -sum(place in self.held[k] for k, place in enumerate(places, base)))
            out[places] = bases[0]
            taken.update(range(bases[0], bases[0] + width))
        return out

    def _renamed(self, operands: tuple[VOperand, ...], bases: dict[Places, int]) -> tuple[VOperand, ...]:
        out = []
        for operand in operands:
            if self._demoted(operand):
                base = bases[self._places(operand)]
                operand = operand.of(tuple(self.window[base : base + len(operand.values)]))
            out.append(operand)
        return tuple(out)

    # -- copies

    def _copy(self, item: Item, out: list[Item]) -> None:
        """Write a reload or a store alone, or both; a copy remains where the window holds the source."""
        target, source = item.defs[0], item.uses[0]
        value = source.values[0]
        k = -1
        if self._demoted(source):
            place = self._places(source)[0]
            k = next((k for k, known in enumerate(self.held) if place in known), -1)
            if k < 0 and not self._demoted(target):
                out.append(self._reload(target.values[0], place, item, item.guard))
                return
            if k < 0:
                k = 0
                out.append(self._reload(self.window[k], place, item, None))
                self.held[k] = {place}
            value = self.window[k]
        if not self._demoted(target):
            out.append(item.of(item.defs, (source.of((value,)),)))
            return
        place = self._places(target)[0]
        same = k >= 0 and (item.guard is None or place in self.held[k])
        out.append(self._store(value, place, item, item.guard))
        self._changed(place)
        if same:
            self.held[k].add(place)

    # -- memory

    def _changed(self, place: Location) -> None:
        """Remove the place from the window, since its word has changed."""
        for known in self.held:
            known.discard(place)

    def _reload(self, into: Value, place: Location, item: Item, guard: tuple[int, bool] | None) -> Item:
        moved = (VOperand(MOVED, (into,)),)
        return Item(RELOAD, defs=moved, guard=guard, memory=self.memory[place], weight=item.weight)

    def _store(self, source: Value, place: Location, item: Item, guard: tuple[int, bool] | None) -> Item:
        moved = (VOperand(MOVED, (source,)),)
        return Item(STORE, uses=moved, guard=guard, memory=self.memory[place], weight=item.weight)


def _drop_unread_stores(code: VCode) -> None:
    """Drop stores whose word is written again before any reload."""
    flat = flatten(code)
    live = memory_ranges(flat, len(code.names))
    stores: list[Sequence[int]] = [(item.memory,) if item.kind == STORE else () for item in flat.items]
    unread = {id(flat.items[k]) for k in deaths(replace(flat, defs=stores), live)[1]}
    for block in code.blocks:
        block.items = [item for item in block.items if id(item) not in unread]
