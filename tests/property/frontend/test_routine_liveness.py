"""Liveness of lowered routines, values one by one, against the solver over whole sets that binaries are analysed with.

The two are the engines that there are: `transform.virtual.live_ranges` for values, before and while registers are
allocated, and `analysis.backward` for places of a binary. Both follow the rule about guards that the latter states,
guards that always or never hold included.
"""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from binalloc.analysis.flow.backward import BackwardSolver, FlowBlocks, FlowRows
from binalloc.bitset import bits, mask_from
from binalloc.frontend.allocate.flat_routine import FIRST_LINE, flat_routine
from binalloc.frontend.ir import FIRST_PREDICATE, PT, Routine, VirtualNode
from binalloc.frontend.lower.program.module import lower_module
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.kinds import ENDS, File
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import live_ranges
from tests.support.ptx.generator.options import Options
from tests.support.ptx.generator.programs import generate

OPTIONS = Options(statements=25, functions=2, families=("integer", "predicate"))


def guarded(routine: Routine, rng: random.Random) -> None:
    """Put guards on some plain nodes: predicates that are there, always, never."""
    predicates = [FIRST_PREDICATE + k for k in range(routine.registers.predicates)] or [PT]
    for node in routine.nodes():
        old = node.instr
        if not node.callee and old.op.control not in ENDS and rng.random() < 0.4:
            predicate = rng.choice([PT, rng.choice(predicates[:4])])
            node.instr = Instr(old.op, old.f, predicate, rng.random() < 0.5, old.ctrl)


def routines(seed: int) -> list[Routine]:
    program = lower_module(parse(generate(seed, OPTIONS).text, ""))
    rng = random.Random(f"guards {seed}")
    found = list(program.routines.values())
    for routine in found:
        guarded(routine, rng)
    return found


def by_sets(flat: Flat, nodes: list[VirtualNode], file: File, predicates: int) -> list[set[int]]:
    """What lives before each line, without regard to whether anything defined it. A guard is read by the solver's own
    rule, which knows its place."""
    shift = FIRST_PREDICATE if file == PRED else 0
    places = [0] * (FIRST_PREDICATE + predicates)
    if file == PRED:
        places[FIRST_PREDICATE:] = [1 << k for k in range(predicates)]
    rows = FlowRows([mask_from(d) for d in flat.defs], [], list(flat.lits), list(flat.changes), places)
    rows.uses += [0] * FIRST_LINE
    for node, used in zip(nodes, flat.uses[FIRST_LINE:], strict=True):
        mine = mask_from(used)
        if file == PRED and node.view.guard is not None and node.view.guard[0] >= shift:
            read = [ref.index for ref in node.view.uses if ref.file == PRED]
            mine = mask_from(p - shift for p in read)
        rows.uses.append(mine)
    flow = FlowBlocks(list(pairwise(flat.starts)), flat.taken, flat.fall, range(len(flat.succs)), flat.preds)
    solver = BackwardSolver(flow, rows, -1)
    solver.solve()
    out: list[set[int]] = [set() for _ in flat.defs]
    for b in flat.blocks():
        for step in solver.walk(b):
            out[step.row] = set(bits(step.before))
    return out


def reached(flat: Flat) -> list[set[int]]:
    """What some definition reaches, before each line."""
    into: list[set[int]] = [set() for _ in flat.succs]
    work = list(flat.blocks())
    while work:
        b = work.pop()
        out = into[b].union(*flat.defs[flat.starts[b] : flat.starts[b + 1]])
        for s in flat.succs[b]:
            if not out <= into[s]:
                into[s] |= out
                work.append(s)
    found = []
    for b in flat.blocks():
        here = set(into[b])
        for k in range(flat.starts[b], flat.starts[b + 1]):
            found.append(set(here))
            here |= set(flat.defs[k])
    return found


@pytest.mark.parametrize("file", [REG, PRED])
@pytest.mark.parametrize("seed", range(12))
def test_values_one_by_one_live_where_whole_sets_do(seed: int, file: File) -> None:
    for routine in routines(seed):
        flat = flat_routine(routine, file)
        predicates = routine.registers.predicates
        values = predicates if file == PRED else len(routine.registers.base)
        live = live_ranges(flat, values)
        found: list[set[int]] = [set() for _ in flat.defs]
        for v, intervals in enumerate(live.intervals):
            for start, end in intervals:
                for k in range((start + 1) // 2, (end + 1) // 2):
                    found[k].add(v)
        wanted = by_sets(flat, routine.nodes(), file, predicates)
        have = reached(flat)
        for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
            assert one == other & have[k] | set(flat.uses[k]), f"{routine.name} line {k}"


def test_guards_of_all_kinds_come_up() -> None:
    seen = {"always": 0, "never": 0, "some": 0, "never writes": 0}
    for seed in range(12):
        for routine in routines(seed):
            for node in routine.nodes():
                guard = node.view.guard
                seen["some"] += guard is not None and guard[0] != PT
                seen["never"] += guard == (PT, True)
                seen["never writes"] += guard == (PT, True) and bool(node.view.defs)
                seen["always"] += guard is None
    assert min(seen.values()) > 20
