"""Moves that calls in sequence share, in programs: proven, run, and never dearer than apart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from binalloc.isa.interface.places import SLOT_ROW
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import view
from binalloc.models.allocation.stack import slots as planning
from binalloc.models.allocation.stack.stays import share_moves
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.allocate.memory_values import memory_procedures
from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.table import ALLOCATORS
from binalloc.transform.allocators.unified import UnifiedAllocator
from binalloc.transform.rewrite.rewrite import Rewrite, fewest_registers, prepare, rewrite_to_budget
from binalloc.transform.virtual.code import RELOAD, STORE
from tests.support.generator.programs import BEFORE, generate
from tests.support.generator.transform.call_sequences import call_sequence
from tests.support.kits.transform.rewrite_judge import Original

MOVING = [("sequence", seed) for seed in (5, 22, 69, 73, 136, 142)] + [("wide", seed) for seed in (36, 40, 45)]
"""Programs in which the paper moves values; there, at every call."""


class Sharing(UnifiedAllocator):
    """The paper's plan, moves at every call, with these shared."""

    def plan(self, attempt: Attempt, problem: Problem) -> Plan:
        plan = super().plan(attempt, problem)
        share_moves(memory_procedures(attempt), plan.memory.procedures)
        return plan


def original(preset: str, seed: int) -> Original:
    if preset == "wide":
        return Original(*generate("wide", seed, **BEFORE))
    module, launch = call_sequence(seed)
    return Original(module, [launch])


def judged(program: Original, found: Rewrite, registers: int, slots: int) -> None:
    """It is right, and has the accesses that its cost counts."""
    assert not program.judge(found.module, registers, slots).failures
    instrs = [i for name in found.functions for i in found.module.function(name).instrs]
    memories = [m for i in instrs if (m := view(i).memory) is not None and m.spill]
    assert sum(m.space == Space.SHARED for m in memories) == found.cost.slot + found.cost.moves
    said = {(value.function, slot) for value in found.explain() for slot in (value.slot, *value.around)}
    assert slots_accessed(found) <= said


def slots_accessed(found: Rewrite) -> set[tuple[str, int]]:
    """By function, called as in the input, by its spill accesses."""
    return {
        (name.partition("$")[0], m.offset // SLOT_ROW)
        for name in found.functions
        for i in found.module.function(name).instrs
        if (m := view(i).memory) is not None and m.spill and m.space == Space.SHARED
    }


@pytest.mark.parametrize(("preset", "seed"), MOVING)
def test_the_papers_moves_are_shared(preset: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALLOCATORS.built_in, "sharing", Sharing("sharing", "", True, "frequency"))
    program = original(preset, seed)
    prepared = prepare(program.module, "kernel")
    least = fewest_registers(prepared)
    assert least is not None
    fewer = 0
    for registers, slots in ((least + more, slots) for more in (1, 2, 3) for slots in (3, 5)):
        apart, shared = (rewrite_to_budget(prepared, registers, slots, name) for name in ("unified", "sharing"))
        assert shared.cost.cost <= apart.cost.cost
        if apart.cost.moves:
            judged(program, shared, registers, slots)
        fewer += shared.cost.moves < apart.cost.moves
    assert fewer


@pytest.mark.parametrize(("seed", "more", "slots"), [(185, 1, 4), (207, 2, 4), (399, 2, 4), (189, 1, 4)])
def test_so_are_those_that_best_cannot_do_without(
    seed: int, more: int, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the last one there is nothing to share."""
    program = original("sequence", seed)
    prepared = prepare(program.module, "kernel")
    least = fewest_registers(prepared)
    assert least is not None
    shared = rewrite_to_budget(prepared, least + more, slots)
    judged(program, shared, least + more, slots)
    monkeypatch.setattr(planning, "share_moves", lambda procedures, plans: None)
    apart = rewrite_to_budget(prepared, least + more, slots)
    assert apart.cost.moves
    assert (shared.cost.cost < apart.cost.cost) == (seed != 189)


@pytest.mark.rotates("long")
@pytest.mark.parametrize("preset", ["sequence", "wide"])
def test_stretches_are_straight_and_values_begin_in_them_where_they_were_not_live(preset: str) -> None:
    entered = lived = 0
    for seed in range(30):
        prepared = prepare(original(preset, seed).module, "kernel")
        least = fewest_registers(prepared)
        attempt = rewrite_to_budget(prepared, (least or 0) + 2, 4, "unified").plan.attempt
        for name, procedure in memory_procedures(attempt).items():
            blocks = attempt.allocations[name].code.blocks
            items = [(b, item) for b, block in enumerate(blocks) for item in block.items]
            accesses = [b for b, item in items if item.kind in (RELOAD, STORE)]
            calls = [b for b, item in items if item.callee]
            for stretch in procedure.stretches:
                where = [(calls if e.variable < 0 else accesses)[e.number] for e in stretch]
                behind = set(where) - {where[0]}
                assert all(sum(block.succs.count(b) for block in blocks) == 1 for b in behind)
                entered += len(behind)
                for before, event in pairwise(stretch):
                    assert not (event.fresh and before.live >> event.variable & 1)
                    lived += event.variable >= 0 and not event.fresh
    assert lived
    assert entered or preset == "sequence"
