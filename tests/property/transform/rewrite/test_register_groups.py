"""Groups of registers of any width and alignment: binaries of another instruction set, rewritten under pressure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from binalloc.analysis.locations import Location
from binalloc.analysis.program import analyse
from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import REG
from binalloc.isa.sets.table import view
from binalloc.pipeline.request import Request
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.spill.demote import block_of, first_fit
from binalloc.transform.spill.spill import Infeasible
from binalloc.verify.checker import check
from binalloc.verify.hazards.check import find_hazards
from tests.support.pebble.groups import random_groups
from tests.support.pebble.instruction_set import Pebble, pebble
from tests.support.pebble.machine import Thread

ALLOCATORS = ("best", "unified", "ptxas-smem")
SEEDS = range(5)
LANES = 2


@pytest.fixture(autouse=True)
def isa() -> Iterator[Pebble]:
    with pebble() as found:
        yield found


def stores(module: Module) -> list[list[tuple[int, int]]]:
    return [sorted(Thread(module, lane).run("k"), key=lambda store: store[0]) for lane in range(LANES)]


def misplaced(module: Module, registers: int) -> list[str]:
    """Operands that are not aligned, or outside of the registers."""
    return [
        f"{fn.name}+{i}: {instr.name} {ref}"
        for fn in module
        for i, instr in enumerate(fn.instrs)
        for ref in (*view(instr).defs, *view(instr).uses)
        if ref.file == REG and (ref.index % ref.alignment or ref.registers()[-1] >= registers)
    ]


def judged(original: Module, registers: int, slots: int, allocator: str) -> Module | None:
    """The rewrite, which is right in every respect; None where the allocator refuses the budget."""
    try:
        rewritten = rewrite(original, "k", registers, slots, allocator)
    except Infeasible:
        return None
    report = check(original, rewritten, "k")
    assert report.ok, report.errors[:3]
    assert not misplaced(rewritten, registers)
    assert stores(rewritten) == stores(original)
    return rewritten


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("seed", SEEDS)
def test_rewrites_keep_groups_together_and_do_the_same(seed: int, allocator: str) -> None:
    original = random_groups(seed)
    done = 0
    for registers, slots in ((31, 0), (25, 8), (18, 16)):
        done += judged(original, registers, slots, allocator) is not None
    assert done > 1


def test_groups_are_demoted_as_a_whole_through_a_window() -> None:
    """With few groups, as those that overlap are one unit."""
    done = 0
    for seed in range(8):
        original = random_groups(seed, share=0.15)
        for registers in (28, 20):
            done += judged(original, registers, 40, "regdem") is not None
    assert done > 8


@pytest.mark.rotates("long")
@pytest.mark.parametrize("seed", range(2))
def test_it_is_scheduled_and_the_fewest_registers_are_enough(seed: int) -> None:
    original = random_groups(seed, registers=24)
    fewest = minimum_registers(original, "k")
    rewritten = judged(original, fewest, 0, "best")
    assert rewritten is not None
    machine = Request().machine
    assert not find_hazards(schedule(rewritten, machine), machine.unit_latencies)


def test_programs_have_groups_of_all_sorts() -> None:
    shapes = {
        (group.units, group.alignment)
        for seed in SEEDS
        for f in analyse(random_groups(seed), "k").functions.values()
        for group in f.webs.groups
    }
    assert {(8, 8), (3, 1), (3, 4)} <= shapes
    assert any(units > alignment > 1 for units, alignment in shapes)


@pytest.mark.parametrize("seed", SEEDS)
def test_webs_of_an_operand_are_in_one_group_at_their_distances(seed: int) -> None:
    for f in analyse(random_groups(seed), "k").functions.values():
        webs, views = f.webs, f.cfg.views
        for lookup, side in ((webs.web_of_def, "defs"), (webs.web_of_use, "uses")):
            for (i, k, unit), number in lookup.items():
                ref = getattr(views[i], side)[k] if k >= 0 else None
                if ref is None or (ref.units == 1 and ref.alignment == 1):
                    continue
                first, here = webs[lookup[i, k, 0]], webs[number]
                group = webs.groups[here.group]
                assert here.group == first.group
                assert here.offset == first.offset + unit < group.units
                assert first.offset % ref.alignment == 0
                assert group.alignment % ref.alignment == 0
                assert (here.arch - here.offset) % group.alignment == 0


def test_operands_that_are_not_aligned_are_refused() -> None:
    """In the input by the analysis, in a rewrite by the checker, a single register as well as a group."""
    tried = set()
    for seed in range(3):
        original = random_groups(seed)
        rewritten = rewrite(original, "k", 31, 0)
        for fn in rewritten:
            for i, instr in enumerate(fn.instrs):
                for ref in (*view(instr).defs, *view(instr).uses):
                    if ref.alignment > 1 and (instr.name, ref.field) not in tried:
                        tried.add((instr.name, ref.field))
                        wrong = changed(rewritten, fn, i, {ref.field: ref.index + 1})
                        assert any("not aligned" in str(e) for e in check(original, wrong, "k").errors)
                        with pytest.raises(MalformedInput, match="not aligned"):
                            analyse(wrong, "k")
    assert {("pick", "to"), ("short", "two")} <= tried
    assert len(tried) > 8


def changed(module: Module, fn: Function, index: int, fields: dict[str, int]) -> Module:
    """The module with other fields in one word of a function."""
    other = replace(fn, instrs=list(fn.instrs))
    other.instrs[index] = fn.instrs[index].replace(**fields)
    return replace(module, functions=[other if f is fn else f for f in module])


def test_operands_in_a_window_are_aligned_and_apart() -> None:
    """And none lies across a multiple of the block, at which the window may be taken apart."""
    rng = random.Random("windows")
    for _ in range(300):
        shapes = [(rng.randint(1, 8), rng.choice((1, 2, 4, 8))) for _ in range(rng.randint(1, 4))]
        operands = [(tuple(Location(10 * n + k) for k in range(units)), a) for n, (units, a) in enumerate(shapes)]
        block = block_of(operands)
        found = first_fit(operands, block)
        assert all(found[places] % alignment == 0 for places, alignment in operands)
        assert all(base % block + len(places) <= block for places, base in found.items())
        taken = [base + k for places, base in found.items() for k in range(len(places))]
        assert len(set(taken)) == len(taken)
