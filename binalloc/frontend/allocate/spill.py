"""Room above 255 registers: values that live long and are used little move to the thread's local memory.

Every definition of a moved value is followed by a store, every use preceded by a load, as plain local accesses at fixed
places: the rewriter lifts those back to values and places them anew for whatever budget it is given. Costs count
accesses, ten times per loop around them.
"""

from __future__ import annotations

import numpy as np

from binalloc.frontend.allocate.live_ranges import Ranges
from binalloc.frontend.ir import FIRST_REGISTER, RZ, Node, Routine
from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import REG
from binalloc.isa.table.opcodes import WIDTHS

WORD = 4
_WIDTH = WIDTHS.index("32")
_SHORT = 8
"""Ranges of at most so many points are not worth a place in memory."""


def spill(routine: Routine, ranges: Ranges, limit: int, base: int) -> tuple[int, int]:
    """Move values of `routine` to local memory from byte `base` until at most `limit` are live at any point.

    Returns (values moved, bytes used); (0, 0) if none can go.
    """
    chosen = _choose(routine, ranges, limit)
    if not chosen:
        return 0, 0
    place = {unit: base + WORD * k for k, unit in enumerate(sorted(chosen))}
    for block in routine.blocks:
        out: list[Node] = []
        for node in block.nodes:
            _node(routine, node, place, out)
        block.nodes = out
    return len(chosen), WORD * len(chosen)


def _choose(routine: Routine, ranges: Ranges, limit: int) -> set[int]:
    """Units of the cheapest groups per point, until the pressure fits."""
    pressure = np.array(ranges.pressure, np.int64)
    cost = _costs(routine)
    kept = {routine.registers.group(u)[0] for u in (*routine.arguments, *routine.results) if u != RZ}
    candidates: list[tuple[float, int, int]] = []
    base, width = routine.registers.base, routine.registers.width
    for index, first in enumerate(base):
        if first != FIRST_REGISTER + index or first in kept:
            continue
        points = sum(len(ranges.range[index + k]) for k in range(width[index]))
        if points > _SHORT * width[index]:
            candidates.append((cost.get(first, 0.0) / points, first, width[index]))
    over = int(np.count_nonzero(pressure > limit))
    chosen: set[int] = set()
    for _, first, units in sorted(candidates):
        if not over:
            break
        spans = [slice(*run) for k in range(units) for run in ranges.of_unit(first + k)]
        if any(bool(np.any(pressure[span] > limit)) for span in spans):
            for span in spans:
                over -= int(np.count_nonzero(pressure[span] == limit + 1))
                pressure[span] -= 1
            chosen.update(range(first, first + units))
    return chosen


def _costs(routine: Routine) -> dict[int, float]:
    """Accesses of each group, by its first unit."""
    position = {block.number: k for k, block in enumerate(routine.blocks)}
    depth = [0] * len(routine.blocks)
    for k, block in enumerate(routine.blocks):
        target = position.get(block.nodes[-1].target, k + 1) if block.nodes else k + 1
        for inside in range(target, k + 1):
            depth[inside] += 1
    cost: dict[int, float] = {}
    for k, block in enumerate(routine.blocks):
        weight = 10.0 ** min(depth[k], 6)
        for node in block.nodes:
            units = [u for ref in (*node.view.defs, *node.view.uses) if ref.file == REG for u in ref.registers()]
            for unit in (*units, *node.args, *node.results):
                if unit != RZ:
                    first = routine.registers.group(unit)[0]
                    cost[first] = cost.get(first, 0.0) + weight
    return cost


def _node(routine: Routine, node: Node, place: dict[int, int], out: list[Node]) -> None:
    """The node with its moved units replaced, loads before it and stores after it."""
    guard = node.instr.guard, node.instr.guard_neg
    changes: dict[str, int] = {}
    behind: list[Node] = []
    for ref in node.view.uses:
        if ref.file == REG and ref.index in place and ref.field:
            fresh = routine.registers.new(ref.units)
            changes[ref.field] = fresh
            for k in range(ref.units):
                load = make("LDL", rd=fresh + k, ra=RZ, moff=place[ref.index + k], width=_WIDTH)
                out.append(Node(load, node.loc))
    for ref in node.view.defs:
        if ref.file == REG and ref.index in place:
            fresh = routine.registers.new(ref.units)
            changes[ref.field] = fresh
            for k in range(ref.units):
                store = make("STL", rb=fresh + k, ra=RZ, moff=place[ref.index + k], width=_WIDTH, guard=guard)
                behind.append(Node(store, node.loc))
    if node.callee:
        node.args = tuple(_fetched(routine, unit, place, node, out) for unit in node.args)
        node.results = tuple(_stored(routine, unit, place, node, behind) for unit in node.results)
    if changes:
        old = node.instr
        node.instr = Instr(old.op, {**old.f, **changes}, old.guard, old.guard_neg, old.ctrl)
    out.append(node)
    out += behind


def _fetched(routine: Routine, unit: int, place: dict[int, int], node: Node, out: list[Node]) -> int:
    if unit not in place:
        return unit
    fresh = routine.registers.new()
    out.append(Node(make("LDL", rd=fresh, ra=RZ, moff=place[unit], width=_WIDTH), node.loc))
    return fresh


def _stored(routine: Routine, unit: int, place: dict[int, int], node: Node, behind: list[Node]) -> int:
    if unit not in place:
        return unit
    fresh = routine.registers.new()
    behind.append(Node(make("STL", rb=fresh, ra=RZ, moff=place[unit], width=_WIDTH), node.loc))
    return fresh
