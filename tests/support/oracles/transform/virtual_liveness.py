"""Which values of virtual code live at which point: one set per point, by the solver over locations.

That solver is another one than that of live ranges (whole blocks as functions of bitsets, against value by value), and
has oracles of its own. On top of it: a value lives only behind some definition; a result takes its register just behind
the item even if nobody reads it, an operand just before it even if nothing wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

from binalloc.analysis.flow.backward import BackwardSolver, FlowBlocks, FlowRows, literal
from binalloc.bitset import bits, mask_from
from binalloc.isa.interface.places import PREDICATES
from binalloc.transform.virtual.code import RELOAD, STORE, Item, VCode


@dataclass
class Dense:
    """points: by point (2k before item k, 2k + 1 behind it) the values that live. live_in, live_out: by block. kept: by
    item, the values it defines under a guard whose old content lives on where that fails."""

    points: list[set[int]]
    live_in: list[set[int]]
    live_out: list[set[int]]
    kept: dict[int, set[int]]


def dense_liveness(code: VCode, *, memory: bool = False) -> Dense:
    """Of values, or of what is stored and reloaded."""
    items = code.items()
    rows = FlowRows([], [], [], [], (0,) * PREDICATES)
    for item in items:
        defined, used = _memory(item) if memory else _values(item)
        rows.defs.append(defined)
        rows.uses.append(used)
        rows.lits.append(literal(item.guard))
        rows.changes.append(item.predicate_defs)
    flow = _flow(code)
    solver = BackwardSolver(flow, rows, (1 << len(code.names)) - 1)
    solver.solve()
    reach = _reach(code, rows, flow)
    out = Dense([set() for _ in range(2 * len(items))], [], [], {})
    for b in range(len(flow.spans)):
        have = reach[b]
        out.live_in.append(set(bits(solver.live_in[b] & have)))
        for k, before, after, kept in sorted(solver.walk(b)):
            out.points[2 * k] = set(bits(before & have | rows.uses[k]))
            if kept:
                out.kept[k] = set(bits(kept))
            have |= rows.defs[k]
            out.points[2 * k + 1] = set(bits(after & have | rows.defs[k]))
        live, under = solver.end_state(b)
        for more in under.values():
            live |= more
        out.live_out.append(set(bits(live & have)))
    return out


def _values(item: Item) -> tuple[int, int]:
    return mask_from(v for o in item.defs for v in o.values), mask_from(v for o in item.uses for v in o.values)


def _memory(item: Item) -> tuple[int, int]:
    mine = 1 << item.memory if item.memory >= 0 else 0
    return mine if item.kind == STORE else 0, mine if item.kind == RELOAD else 0


def _flow(code: VCode) -> FlowBlocks:
    blocks = code.blocks
    ends = list(accumulate((len(block.items) for block in blocks), initial=0))
    preds: list[list[int]] = [[] for _ in blocks]
    for b, block in enumerate(blocks):
        for s in block.succs:
            preds[s].append(b)
    taken = [block.taken for block in blocks]
    fall = [next((s for s in block.succs if s != block.taken), -1) for block in blocks]
    return FlowBlocks(list(pairwise(ends)), taken, fall, range(len(blocks)), preds)


def _reach(code: VCode, rows: FlowRows, flow: FlowBlocks) -> list[int]:
    """Values some definition of which comes to the start of each block."""
    made = []
    for start, end in flow.spans:
        mask = 0
        for k in range(start, end):
            mask |= rows.defs[k]
        made.append(mask)
    reach = [0] * len(made)
    changed = True
    while changed:
        changed = False
        for b, block in enumerate(code.blocks):
            for s in block.succs:
                new = reach[s] | reach[b] | made[b]
                changed = changed or new != reach[s]
                reach[s] = new
    return reach
