"""The checker against defects in what the real rewriter makes: samples and random programs, every kind of the library.

A mutant must be rejected, or be equivalent: its kind stands in `HARMLESS`, with the way in which such a change can mean
nothing, and an emulated run leaves the same buffers. The other kinds are rejected whatever a run says. The run's
summary prints the table: kind, mutants, rejected, equivalent.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.isa.source_facts import MEMORY_MODELS
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.conftest import MUTANTS
from tests.support.generator.programs import random_program
from tests.support.kits.machines import roomy_machine
from tests.support.pairs.mutants import ALWAYS_WRONG, MOVED_ACCESSES, Mutant, mutants
from tests.support.paths import sample_file

NAMES = ("callchain", "stencil3d")
MORE = ("matmul", "nbody", "stencil2d")
SEEDS = range(16)
NEIGHBOURS = range(100, 106)
"""Of programs whose lanes reach each other's words."""
PER_KIND = 3
Record = Callable[[str, object], None]

UNREAD = "the place it wrongly writes, or no longer writes, is not read before it is written anew"
SAME = "what it names instead holds the same value there"
PASSES = "it passes an instruction that touches nothing of it"
AGAIN = "doing it twice does the same as once"
MOVES = "the map is a hint: instructions that only move values or make constants need no counterpart"
SHAPE = "its branch never diverges, or nothing of the original lies between the two points"
NOTHING = "all its results are discarded"
ROOM = "the original had that much, and no access of the rewritten program depends on where it ends"
HARMLESS = {
    **dict.fromkeys(("wrong register definition", "wrong predicate definition", "wrong mask"), UNREAD),
    **dict.fromkeys(("clobbered register", "clobbered slot", "killed predicate"), UNREAD),
    **dict.fromkeys(("dropped store", "dropped reload", "dropped copy", "dropped rematerialisation"), UNREAD),
    **dict.fromkeys(("dropped predicate move", "deleted value", "changed constant", "wrong constant"), UNREAD),
    **dict.fromkeys(("lost guard", "inverted guard", "guard added"), UNREAD),
    **dict.fromkeys(("wrong register use", "wrong predicate use", "swapped operands", "wrong guard predicate"), SAME),
    **dict.fromkeys(("wrong slot", "wrong local offset"), UNREAD),
    **dict.fromkeys(("moved store", "moved reload", "moved copy", "moved rematerialisation"), PASSES),
    **dict.fromkeys(("moved predicate move", "moved pointer shift", "moved pointer setup"), PASSES),
    **dict.fromkeys(("duplicated store", "duplicated reload", "duplicated copy"), AGAIN),
    **dict.fromkeys(("duplicated rematerialisation", "duplicated predicate move", "duplicated pointer setup"), AGAIN),
    **dict.fromkeys(("map entry lost", "wrong map entry", "reordered operations", "reordered with a false map"), MOVES),
    **dict.fromkeys(("reconvergence point moved", "wrong branch target", "deleted jump"), SHAPE),
    "deleted operation": NOTHING,
    "duplicated operation": AGAIN,
    MOVED_ACCESSES: "both read, or what they touch is apart",
    **dict.fromkeys(("local_bytes grown", "slot_bytes one less"), ROOM),
}
"""Per kind, the way in which such a change can mean nothing. Anything else that is accepted is a mistake."""

@dataclass(frozen=True)
class Pair:
    """An original, what the rewriter made of it, and the run both must agree on."""

    original: Module
    rewritten: Module
    kernel: str
    launch: Launch
    machine: Machine

    def buffers(self, module: Module) -> dict[str, np.ndarray]:
        scheduled = schedule(module, self.machine)
        return run(scheduled, self.kernel, self.launch, self.machine, max_cycles=3_000_000).buffers


@cache
def sample_pair(name: str) -> Pair:
    """Four registers above the minimum, with slots: spills of every sort."""
    original = load(sample_file(f"{name}.loom"))
    registers = minimum_registers(original, name) + 4
    machine = load_machine("gtx680")
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    return Pair(original, rewrite(original, name, registers, 3), name, launch, machine)


@cache
def random_pair(seed: int, neighbours: str = "") -> Pair:
    rng = random.Random(f"mutants {seed}")
    registers = rng.choice((4, 6, 8, 12, 16))
    module, launch = random_program(
        seed, size=rng.choice((10, 20, 40)), registers=registers, depth=rng.choice((1, 2)),
        callees=rng.choice((0, 2, 3)), block=32, grid=1, neighbours=neighbours,
    )  # fmt: skip
    budget = minimum_registers(module, "kernel") + rng.choice((0, 1))
    allocator = rng.choice(("local", "unified", "best"))
    return Pair(module, rewrite(module, "kernel", budget, 4, allocator), "kernel", launch, roomy_machine())


def chosen(pair: Pair, rng: random.Random) -> list[Mutant]:
    """At most PER_KIND mutants of each kind."""
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in mutants(pair.rewritten, pair.kernel):
        by_kind.setdefault(mutant.kind, []).append(mutant)
    return [m for _, ms in sorted(by_kind.items()) for m in rng.sample(ms, min(PER_KIND, len(ms)))]


def go(pair: Pair, rng: random.Random, record_property: Record) -> None:
    report = check(pair.original, pair.rewritten, pair.kernel)
    assert report.ok, str(report)
    expected = pair.buffers(pair.original)
    table: dict[str, Counter[str]] = {}
    wrong = []
    for mutant in chosen(pair, rng):
        counts = table.setdefault(mutant.kind, Counter())
        counts["mutants"] += 1
        report = check(pair.original, mutant.module, pair.kernel)
        if any(e.kind == "internal" for e in report.errors):
            wrong.append(f"{mutant.kind} at {mutant.place}: {report}")
        elif not report.ok:
            counts["rejected"] += 1
        elif reason := accepted(pair, mutant, expected):
            wrong.append(f"{mutant.kind} at {mutant.place} was accepted, {reason}")
        else:
            counts["equivalent"] += 1
    record_property(MUTANTS, {kind: dict(counts) for kind, counts in table.items()})
    assert not wrong, "\n".join(wrong)


def accepted(pair: Pair, mutant: Mutant, expected: dict[str, np.ndarray]) -> str:
    """What is wrong with accepting this mutant, "" where it is equivalent."""
    if mutant.kind in ALWAYS_WRONG - set(HARMLESS):
        return "and is wrong wherever it stands"
    if mutant.kind not in HARMLESS:
        return "and there is no known way in which it could be harmless"
    try:
        got = pair.buffers(mutant.module)
    except BinallocError as error:
        return f"and its run ends with: {error}"
    differing = [name for name, data in expected.items() if not np.array_equal(data, got[name], equal_nan=False)]
    return f"and its run leaves other contents in {differing}" if differing else ""


@pytest.mark.parametrize("name", NAMES)
def test_mutants_of_rewritten_samples(name: str, record_property: Record) -> None:
    go(sample_pair(name), random.Random(name), record_property)


@pytest.mark.full
@pytest.mark.parametrize("name", MORE)
def test_mutants_of_more_rewritten_samples(name: str, record_property: Record) -> None:
    go(sample_pair(name), random.Random(name), record_property)


@pytest.mark.parametrize("seed", SEEDS)
def test_mutants_of_rewritten_random_programs(seed: int, record_property: Record) -> None:
    go(random_pair(seed), random.Random(seed), record_property)


@pytest.mark.parametrize("seed", NEIGHBOURS)
@pytest.mark.parametrize("model", MEMORY_MODELS)
def test_mutants_of_programs_whose_lanes_reach_each_other(seed: int, model: str, record_property: Record) -> None:
    go(random_pair(seed, model), random.Random(seed), record_property)


def test_at_least_twenty_kinds_are_made_of_real_rewrites() -> None:
    kinds = {m.kind for seed in (1, 2, 3) for m in mutants(random_pair(seed).rewritten, "kernel")}
    assert len(kinds) >= 40
