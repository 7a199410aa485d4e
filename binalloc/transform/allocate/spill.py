"""Spill code: keeps groups of values in memory, with reloads before uses and stores after definitions.

Needs: virtual code and the groups to spill. Leaves: the same code in which no spilled value is a register operand any
more; each access goes through short-lived temporaries. Whether a memory value lives in a slot or in local memory is
decided later. Values that one constant instruction yields are recomputed instead (rematerialisation).

A reloaded temporary serves later uses in the same block as long as the register pressure in between leaves room.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from binalloc.isa.sets.table import view
from binalloc.models.allocation.terms import Value
from binalloc.transform.virtual.code import (
    COPY,
    ENTRY,
    INSTR,
    KEEP,
    MOVED,
    RELOAD,
    STORE,
    Item,
    VBlock,
    VCode,
    VOperand,
)


@dataclass
class Room:
    """Register pressure and capacity at the points 2k (before) and 2k+1 (after) of item k."""

    pressure: NDArray[np.int64]
    capacity: NDArray[np.int64]

    def take(self, start: int, end: int, units: int) -> bool:
        """Reserve `units` registers over the points start..end-1 if every one of them has room."""
        if end <= start:
            return True
        if np.any(self.pressure[start:end] + units > self.capacity[start:end]):
            return False
        self.pressure[start:end] += units
        return True


@dataclass
class _Held:
    """A temporary that still holds a spilled value; `point`: first point at which it is not yet counted."""

    temporary: Value
    point: int


@dataclass
class Spiller:
    """Rewrites one function; create one per round."""

    code: VCode
    groups: set[int]
    room: Room | None = None
    _held: dict[Value, _Held] = field(default_factory=dict)
    _returned: dict[Value, Value] = field(default_factory=dict)

    def run(self) -> None:
        position = 0
        for block in self.code.blocks:
            self._held.clear()
            position = self._block(block, position)

    def _block(self, block: VBlock, position: int) -> int:
        items, block.items = block.items, []
        for item in items:
            if item.callee:
                self._held.clear()
            if self._touched(item.defs) or self._touched(item.uses):
                self._rewrite(item, position, block.items)
            else:
                block.items.append(item)
            position += 1
        return position

    def _touched(self, operands: tuple[VOperand, ...]) -> bool:
        return any(self._spilled(o) for o in operands)

    def _spilled(self, operand: VOperand) -> bool:
        return self.code.values.group_of[operand.values[0]] in self.groups

    def _constant(self, value: Value) -> bool:
        return all(v in self.code.constants for v, _ in self.code.values.members[self.code.values.group_of[value]])

    def _rewrite(self, item: Item, position: int, out: list[Item]) -> None:
        if item.kind == COPY and item.guard is None:
            self._copy(item, out)
            return
        if item.defs and all(self._spilled(o) and self._constant(o.values[0]) for o in item.defs):
            return  # recomputed where it is used
        clobbers_guard = item.guard is not None and bool(item.predicate_defs >> item.guard[0] & 1)
        before: list[Item] = []
        after: list[Item] = []
        item.uses = tuple(
            self._use(o, item, position, before) if self._spilled(o) else o
            for o in item.uses
            if o.field != KEEP or not self._spilled(o)
        )
        item.defs = tuple(
            self._define(o, item, position, clobbers_guard, before, after) if self._spilled(o) else o for o in item.defs
        )
        out += [*before, item, *after]

    def _copy(self, item: Item, out: list[Item]) -> None:
        """A copy to or from memory needs no temporary of its own."""
        target, source = item.defs[0].values[0], item.uses[0].values[0]
        from_memory, to_memory = self._spilled(item.uses[0]), self._spilled(item.defs[0])
        if to_memory:
            self._held.pop(target, None)
        if from_memory:
            register = self.code.values.temporary()[0] if to_memory else target
            self._load(source, register, item, out)
            source = register
        if to_memory and not self._constant(target):
            out.append(Item(STORE, origin=-1, uses=(VOperand(MOVED, (source,)),), memory=target, weight=item.weight))

    def _load(self, value: Value, register: Value, near: Item, out: list[Item]) -> None:
        if self._constant(value):
            constant = self.code.constants[value]
            target = VOperand(view(constant).defs[0].field, (register,))
            out.append(Item(INSTR, constant, defs=(target,), weight=near.weight))
        else:
            out.append(Item(RELOAD, defs=(VOperand(MOVED, (register,)),), memory=value, weight=near.weight))

    def _use(self, operand: VOperand, item: Item, position: int, before: list[Item]) -> VOperand:
        values = operand.values
        at_return = not operand.field and not item.callee
        if not at_return:
            held = self._reuse(values, position)
            if held is not None:
                return VOperand(operand.field, held)
        if at_return:
            temporaries = tuple(self._return_temporary(v) for v in values)
        else:
            temporaries = self.code.values.temporary(len(values))
            self._hold(values, temporaries, 2 * position + 1)
        for value, register in zip(values, temporaries, strict=True):
            self._load(value, register, item, before)
        return VOperand(operand.field, temporaries)

    def _hold(self, values: tuple[Value, ...], temporaries: tuple[Value, ...], point: int) -> None:
        if self.room is not None:
            for value, temporary in zip(values, temporaries, strict=True):
                self._held[value] = _Held(temporary, point)

    def _reuse(self, values: tuple[Value, ...], position: int) -> tuple[Value, ...] | None:
        """Temporaries that still hold `values`, side by side, if they can live on until here."""
        held = [self._held.get(v) for v in values]
        found = tuple(h.temporary for h in held if h is not None)
        if self.room is None or len(found) < len(values) or not self._side_by_side(found):
            return None
        taken = [h is not None and self.room.take(h.point, 2 * position, 1) for h in held]
        for value, h, kept in zip(values, held, taken, strict=True):
            if h is not None and kept:
                h.point = 2 * position + 1
            else:
                del self._held[value]
        return found if all(taken) else None

    def _side_by_side(self, temporaries: tuple[Value, ...]) -> bool:
        """Whether one operand can name them: a single one, or all the members of one group in order."""
        table = self.code.values
        groups = {table.group_of[t] for t in temporaries}
        in_order = [table.offset[t] for t in temporaries] == list(range(len(temporaries)))
        return len(temporaries) == 1 or (len(groups) == 1 and in_order and table.units[min(groups)] == len(temporaries))

    def _return_temporary(self, value: Value) -> Value:
        """All RETs hand a spilled result over in the same register: one value for all of them."""
        if value not in self._returned:
            register = self.code.values.temporary()[0]
            self._returned[value] = register
            for name, result in self.code.results.items():
                if result == value:
                    self.code.results[name] = register
        return self._returned[value]

    def _define(
        self, operand: VOperand, item: Item, position: int, clobbers_guard: bool, before: list[Item], after: list[Item]
    ) -> VOperand:
        temporaries = self.code.values.temporary(len(operand.values))
        for value in operand.values:
            self._held.pop(value, None)
        for value, register in zip(operand.values, temporaries, strict=True):
            if clobbers_guard:
                self._load(value, register, item, before)
            guard = None if clobbers_guard else item.guard
            moved = (VOperand(MOVED, (register,)),)
            after.append(Item(STORE, uses=moved, guard=guard, memory=value, weight=item.weight))
            if item.kind == ENTRY:
                for name, argument in self.code.arguments.items():
                    if argument == value:
                        self.code.arguments[name] = register
        if item.guard is None:
            self._hold(operand.values, temporaries, 2 * position + 2)
        return VOperand(operand.field, temporaries)
