"""The baselines do what those did that they are named after, no less and no more."""

from __future__ import annotations

from collections import Counter

import pytest

from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Space
from binalloc.isa.sets.files import load
from binalloc.isa.sets.table import view
from binalloc.models.machines.reader import load_machine
from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.table import ALLOCATORS, find_allocator
from binalloc.transform.rewrite.rewrite import minimum_registers, prepare, rewrite, rewrite_to_budget
from binalloc.transform.virtual.code import AGAIN, KEEP, RELOAD, STORE
from binalloc.verify.checker import check
from tests.support.pairs.random_pairs import random_original
from tests.support.paths import sample_file


def plan(module: Module, registers: int, slots: int, allocator: str, **known: object) -> Plan:
    kernel = module.kernels()[0].name
    problem = Problem(prepare(module, kernel).program, kernel, registers, slots, 4.0, **known)  # type: ignore[arg-type]
    return find_allocator(allocator).allocate(problem)


def spills(module: Module) -> Counter[tuple[str, Space]]:
    """Spill accesses by function and space."""
    return Counter(
        (fn.name, m.space) for fn in module for i in fn.instrs if (m := view(i).memory) is not None and m.spill
    )


@pytest.mark.rotates
@pytest.mark.parametrize("allocator", list(ALLOCATORS))
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_the_emitted_code(seed: int, allocator: str) -> None:
    module = random_original(seed)
    budget = minimum_registers(module, "k", 3, allocator) + seed % 3
    made = rewrite_to_budget(prepare(module, "k"), budget, 3, allocator)
    assert check(module, made.module, "k").ok
    found = spills(made.module)
    in_slots = sum(n for (_, space), n in found.items() if space == Space.SHARED)
    assert sum(n for (_, space), n in found.items() if space == Space.LOCAL) == made.cost.local
    assert in_slots == made.cost.slot + made.cost.moves
    assert (made.cost.cost > 0) == bool(found or made.cost.recomputed)


@pytest.mark.rotates
@pytest.mark.parametrize("allocator", ["unified"])
@pytest.mark.parametrize("seed", range(8))
def test_values_are_in_memory_for_all_their_lives_and_nothing_is_recomputed(seed: int, allocator: str) -> None:
    module = random_original(seed)
    budget = minimum_registers(module, "k") + 1
    attempt = plan(module, budget, 4, allocator).attempt
    for name, allocation in attempt.allocations.items():
        given = attempt.virtual(name)
        reads: Counter[int] = Counter()
        for item in given.flat.items:
            reads.update({v for o in item.uses if o.field != KEEP for v in o.values})
        reloads = Counter(item.memory for item in allocation.code.items() if item.kind == RELOAD)
        stored = {item.memory for item in allocation.code.items() if item.kind == STORE}
        assert not any(item.kind == AGAIN for item in allocation.code.items())
        for v in sorted({*allocation.memory}.difference(given.code.arrives.values())):
            assert reloads[v] >= reads[v], f"{given.code.names[v]} is read without being reloaded"
            assert not reads[v] or v in stored



def test_ptxas_moves_only_what_the_kernel_itself_spills() -> None:
    module = load(sample_file("callchain.loom"))
    ours, vendors = (spills(rewrite(module, "callchain", 6, 20, name)) for name in ("best", "ptxas-smem"))
    assert {name for name, space in ours if space == Space.SHARED} > {"callchain"}
    assert {name for name, space in vendors if space == Space.SHARED} == {"callchain"}
    assert ours["callchain", Space.SHARED] == vendors["callchain", Space.SHARED]
    assert {name for name, space in vendors if space == Space.LOCAL} == {name for name, _ in ours} - {"callchain"}


@pytest.mark.rotates("long")
def test_ptxas_takes_its_own_budget_where_the_machine_is_known() -> None:
    module = load(sample_file("nbody.loom"))
    machine = load_machine("gtx680")
    assert plan(module, 32, 40, "ptxas-smem").memory.need > 6
    assert plan(module, 32, 40, "ptxas-smem", machine=machine).memory.need == 6
    assert plan(module, 32, 4, "ptxas-smem", machine=machine).memory.need == 4
    assert plan(module, 32, 40, "ptxas-smem", machine=machine, dynamic_shared=4).memory.need == 0
    assert plan(module, 32, 40, "best", machine=machine, dynamic_shared=4).memory.need > 6


@pytest.mark.rotates
@pytest.mark.parametrize(("seed", "registers"), [(1, 21), (5, 21), (17, 21), (25, 20), (39, 23)])
def test_unified_sets_a_register_aside_for_moves_where_some_call_has_none_free(seed: int, registers: int) -> None:
    module = random_original(seed)
    assert check(module, rewrite(module, "k", registers, 8, "unified"), "k").ok
    found = plan(module, registers, 8, "unified")
    attempt = found.attempt
    assert attempt.shuffle == registers - 2
    assert sum(len(site.moves) for own in found.memory.procedures.values() for site in own.sites)
    for name, allocation in attempt.allocations.items():
        assert all(pair == (attempt.shuffle, attempt.shuffle) for pair in attempt.scratch[name])
        written = {allocation.colour[v] for item in allocation.code.items() for o in item.defs for v in o.values}
        assert attempt.shuffle not in written
    assert plan(module, registers + 9, 8, "unified").attempt.shuffle < 0
