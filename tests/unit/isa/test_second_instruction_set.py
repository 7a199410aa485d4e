"""A second instruction set goes through analysis, allocation, rewriting, scheduling and the checker.

Pebble has other fields, other words, 32 registers of which the first reads zero, and its own container: what still
stands is what is known through the instruction interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.views.max_live import build_max_live
from binalloc.errors import UsageError
from binalloc.isa.instruction import Instr, Module
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.sets.table import set_of, view
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_version
from binalloc.report.views.diff import diff_modules
from binalloc.report.views.inspect import TEXTS, inspect_module, render_inspection
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from binalloc.verify.hazards.check import find_hazards
from tests.support.pebble.instruction_set import Pebble, pebble
from tests.support.pebble.machine import Thread
from tests.support.pebble.programs import LANE, VALUES, program
from tests.support.pebble.table import ZERO, decode, encode, make

BUDGETS = ((30, 0), (16, 0), (12, 4), (9, 16), (9, 0))
ALLOCATORS = ("best", "local", "unified", "ptxas-smem", "regdem", "cpsat")


@pytest.fixture(autouse=True)
def isa() -> Iterator[Pebble]:
    with pebble() as found:
        yield found


def stores(module: Module) -> list[list[tuple[int, int]]]:
    return [Thread(module, lane).run("k") for lane in range(8)]


def by_place(module: Module) -> list[list[tuple[int, int]]]:
    """By thread, stores in order at each place: which of two different places comes first is nobody's business."""
    return [sorted(found, key=lambda store: store[0]) for found in stores(module)]


def spills(module: Module, space: str) -> list[tuple[str, int]]:
    """(function, word) of the spill accesses to `space`."""
    return [
        (fn.name, i)
        for fn in module
        for i, instr in enumerate(fn.instrs)
        if (m := view(instr).memory) is not None and m.spill and m.space == space
    ]


def changed(module: Module, name: str, index: int, instr: Instr) -> Module:
    """The module with another instruction at one word."""
    functions = [
        replace(fn, instrs=[*fn.instrs[:index], instr, *fn.instrs[index + 1 :]]) if fn.name == name else fn
        for fn in module
    ]
    return replace(module, functions=functions)


def test_a_word_holds_its_instruction_and_a_file_its_module(isa: Pebble) -> None:
    module = program()
    module.function("f").info.local_stack = 3
    for fn in module:
        assert [decode(encode(i)) for i in fn.instrs] == fn.instrs
    assert isa.read(isa.write(module), module.path) == module
    assert set_of(module) is set_of(module.functions[0].instrs[0]) is isa


def test_the_analysis_sees_its_registers() -> None:
    found = analyse(program(), "k")
    webs = found.kernel.webs
    assert {w.arch for w in webs.of_file(REG)} >= {LANE, *VALUES}
    assert not any(w.arch == ZERO for w in webs.of_file(REG))
    assert {w.arch for w in webs.of_file(PRED)} == {0, 1}
    assert sorted(len(g.members) for g in webs.groups) == [2, 2, 2]
    assert build_max_live(found).kernel.units > len(VALUES)
    assert not found.kernel.live.undefined


@pytest.mark.rotates
@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize(("registers", "slots"), BUDGETS)
def test_rewrites_fit_their_budget_are_proven_and_do_the_same(registers: int, slots: int, allocator: str) -> None:
    original = program()
    rewritten = rewrite(original, "k", registers, 0 if allocator == "local" else slots, allocator)
    report = check(original, rewritten, "k")
    assert report.ok, report.errors[:3]
    assert by_place(rewritten) == by_place(original)
    info = rewritten.function("k").info
    assert info.registers <= registers
    assert bool(spills(rewritten, "shared")) == bool(info.slot_bytes)
    assert bool(spills(rewritten, "local")) == bool(info.spill_local)
    operands = [r for fn in rewritten for i in fn.instrs for r in (*view(i).defs, *view(i).uses)]
    assert max(r.registers()[-1] for r in operands) < registers


def test_small_budgets_spill_to_slots_and_to_local_memory() -> None:
    original = program()
    assert not spills(rewrite(original, "k", 30, 0), "local")
    assert len(spills(rewrite(original, "k", 9, 0), "local")) > 10
    assert len(spills(rewrite(original, "k", 9, 16), "shared")) > 10
    both = rewrite(original, "k", 9, 4)
    assert spills(both, "shared")
    assert spills(both, "local")


@pytest.mark.rotates("long")
def test_the_limits_are_those_of_the_set(isa: Pebble) -> None:
    with pytest.raises(UsageError, match="no such number of registers"):
        rewrite(program(), "k", isa.limits.registers + 1, 0)
    fewest = minimum_registers(program(), "k")
    assert fewest == 6  # two aligned pairs: x0 reads zero, so they are x2 to x5


@pytest.mark.rotates("long")
@pytest.mark.parametrize("space", ["shared", "local"])
def test_a_spill_access_to_another_place_is_refused(space: str) -> None:
    original = program()
    rewritten = rewrite(original, "k", 9, 16 if space == "shared" else 0)
    assert check(original, rewritten, "k").ok
    step = 128 if space == "shared" else 4
    for name, index in spills(rewritten, space):
        instr = rewritten.function(name).instrs[index]
        for to in (instr.f["value"] + step, instr.f["value"] - step, instr.f["value"] + 1):
            if instr.op.access == "load":
                wrong = changed(rewritten, name, index, instr.replace(value=to))
                assert not check(original, wrong, "k").ok, (name, index, to)


@pytest.mark.rotates("long")
def test_another_operation_operand_guard_or_way_is_refused() -> None:
    original = program()
    rewritten = rewrite(original, "k", 12, 4)
    assert check(original, rewritten, "k").ok
    refused = 0
    for fn in rewritten:
        assert fn.origin is not None
        for index, instr in enumerate(fn.instrs):
            if fn.origin.index[index] < 0:
                continue
            wrong = [make("idle")]
            wrong += [instr.replace(value=instr.f["value"] + 1)] if instr.name in ("lit", "more", "get", "give") else []
            wrong += [instr.replace(guard=(instr.guard, not instr.guard_neg))] if instr.guarded else []
            wrong += [instr.replace(two=31)] if instr.f.get("two", ZERO) != ZERO else []
            for other in wrong:
                assert not check(original, changed(rewritten, fn.name, index, other), "k").ok, (fn.name, index, other)
                refused += 1
    assert refused > 60


def test_it_is_scheduled_proven_and_reported(isa: Pebble) -> None:
    original = program()
    machine = Request().machine
    scheduled = isa.read(isa.write(schedule(original, machine)), original.path)
    assert not find_hazards(scheduled, machine.unit_latencies)
    first = scheduled.function("k").instrs[0]
    hasty = first.replace(ctrl=first.ctrl._replace(wbar=7))
    assert find_hazards(changed(scheduled, "k", 0, hasty), machine.unit_latencies)
    version = build_version(original, Request(kernel="k"), 12, 4)
    assert version.module.isa == "pebble"
    assert (version.slots, version.registers) == (4, 12)
    data = isa.write(version.module)
    shown = inspect_module(isa.read(data), data, "k", ["sections", *(v for v in TEXTS if v != "minimum")], machine)
    assert "peek to=" in render_inspection(shown)
    rows = [row for found in diff_modules(original, version.module, "k") for row in found["rows"]]
    assert {row["kind"] for row in rows} >= {"changed", "inserted"}
