"""This module finds which slots of its thread each access to a slot is to, as numbers from the thread's first slot on.

Needs the analysed functions of a kernel; leaves them untouched. Code has the address of its slots in one register, the
slot pointer. The kernel sets it to the first slot; around a call it is raised by the caller's slots, so one access of a
function that is called from several places may be to several slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.program import ProgramAnalysis
from binalloc.isa.interface.places import REG, SLOT_ROW
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import Flow, Space

_UNKNOWN = None
_Height = int | None
"""Bytes by which the slot pointer is above its value at the function's begin, `_UNKNOWN` for any value."""


@dataclass(frozen=True)
class SlotRows:
    """The slot rows of a kernel are its accesses to slots, with the slots that each may be to."""

    count: int  #: slots of a thread
    rows: Mapping[str, Mapping[int, int]]  #: by function and word the slots, as a bitset; all where they are unknown

    @property
    def movable(self) -> int:
        """Return the slots that could be exchanged for others, as a bitset: no access to one is to another one, too."""
        together = 0
        for words in self.rows.values():
            for slots in words.values():
                if slots & slots - 1:
                    together |= slots
        return (1 << self.count) - 1 & ~together


@dataclass(frozen=True)
class SlotPlaces:
    """Slot places give each slot of a thread a number, and say from which on two blocks share them."""

    rows: SlotRows
    numbers: tuple[int, ...]  #: by slot
    own: int  #: slots in front of those that are shared

    @staticmethod
    def unmoved(rows: SlotRows, own: int) -> SlotPlaces:
        """Return the places in which each slot keeps its number."""
        return SlotPlaces(rows, tuple(range(rows.count)), own)

    @property
    def fits(self) -> bool:
        """Return whether each slot has a number of its own, and those that cannot be exchanged keep theirs."""
        kept = all(number == slot for slot, number in enumerate(self.numbers) if not self.rows.movable >> slot & 1)
        return kept and sorted(self.numbers) == list(range(self.rows.count)) and 0 <= self.own <= self.rows.count

    def shared(self) -> dict[str, dict[int, int]]:
        """Return by function and word 1 where an access may be to a slot that is shared."""
        slots = sum(1 << slot for slot, number in enumerate(self.numbers) if number >= self.own)
        return {name: {word: 1 for word, may in words.items() if may & slots} for name, words in self.rows.rows.items()}

    def distances(self) -> dict[str, dict[int, int]]:
        """Return by function and word how many bytes an access is moved by, without those that are not moved."""
        found: dict[str, dict[int, int]] = {}
        for name, words in self.rows.rows.items():
            for word, may in words.items():
                slot = may.bit_length() - 1  # those of an access to several keep their numbers
                if self.numbers[slot] != slot:
                    found.setdefault(name, {})[word] = SLOT_ROW * (self.numbers[slot] - slot)
        return found


def slot_rows(program: ProgramAnalysis) -> SlotRows:
    """Return the accesses to slots of a kernel and its callees."""
    count = program.kernel.fn.info.slots
    heights = {name: _Heights(program, name) for name in program.graph.functions}
    level = all(each.level for each in heights.values())
    entries: dict[str, set[_Height]] = {name: set() for name in program.graph.functions}
    entries[program.graph.kernel] = {0}
    rows: dict[str, dict[int, int]] = {}
    for name in program.graph.top_down:
        here = heights[name]
        for word in here.accesses:
            rows.setdefault(name, {})[word] = here.slots(word, entries[name] if level else {_UNKNOWN}, count)
        for site in program.graph.sites[name]:
            entries[site.callee] |= {_sum(entry, here.at[site.index]) for entry in entries[name]}
    return SlotRows(count, rows)


def _sum(one: _Height, other: _Height) -> _Height:
    return _UNKNOWN if one is _UNKNOWN or other is _UNKNOWN else one + other


def _is_slot(view: View) -> bool:
    return view.memory is not None and view.memory.spill and view.memory.space == Space.SHARED


class _Heights:
    """The heights of the slot pointer in one function are found by passes forward until nothing changes.

    at: in front of each word. accesses: the words in reachable code that access slots. level: whether the function
    returns with the pointer that it was called with.
    """

    def __init__(self, program: ProgramAnalysis, name: str) -> None:
        self.isa = program.isa
        self.cfg: Cfg = program[name].cfg
        self.pointer = program.kernel.fn.info.slot_pointer
        self.is_kernel = name == program.graph.kernel
        cfg = self.cfg
        self.accesses = [word for word, view in enumerate(cfg.views) if _is_slot(view) and cfg.reachable(word)]
        self.at = self._found()
        writes = any(self._behind(word, 0) != 0 for word in range(len(cfg.views)))
        ends = [word for word in cfg.exits if cfg.reachable(word) and cfg.views[word].control == Flow.RETURN]
        self.level = not writes or self.is_kernel or all(self.at[word] == 0 for word in ends)

    def slots(self, word: int, entries: set[_Height], count: int) -> int:
        """Return the slots that an access may be to, as a bitset. entries: heights at the function's begin."""
        memory = self.cfg.views[word].memory
        assert memory is not None
        base, found = memory.base, 0
        for entry in entries:
            height = _sum(entry, self.at[word])
            if height is _UNKNOWN or base is None or base.file != REG or base.index != self.pointer:
                return (1 << count) - 1
            row, rest = divmod(height + memory.offset, SLOT_ROW)
            if rest or not 0 <= row < count:  # it faults
                return (1 << count) - 1
            found |= 1 << row
        return found

    def _found(self) -> list[_Height]:
        cfg = self.cfg
        first: dict[int, _Height] = {0: _UNKNOWN if self.is_kernel else 0}  # by block
        heights: list[_Height] = [_UNKNOWN] * len(cfg.views)
        work = [0]
        while work:
            block = work.pop()
            height = first[block]
            for word in range(cfg.blocks[block].start, cfg.blocks[block].end):
                heights[word] = height
                height = self._behind(word, height)
            for target in cfg.succs[block]:
                if target not in first:
                    first[target] = height
                elif first[target] != height and first[target] is not _UNKNOWN:
                    first[target] = _UNKNOWN
                else:
                    continue
                work.append(target)
        return heights

    def _behind(self, word: int, height: _Height) -> _Height:
        """Return the height behind a word."""
        instr, view = self.cfg.fn.instrs[word], self.cfg.views[word]
        if not any(ref.file == REG and self.pointer in ref.registers() for ref in view.defs):
            return height
        added = self.isa.add_immediate(instr)
        if added is not None and added[:2] == (self.pointer, self.pointer) and view.guard is None:
            return _UNKNOWN if height is _UNKNOWN else height + added[2]
        if self.isa.special_register(instr) == self.isa.limits.slot_base and view.guard is None and self.is_kernel:
            return 0
        return _UNKNOWN
