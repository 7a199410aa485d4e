"""One wide program through the whole path: rewritten, scheduled, written, read back, checked and emulated.

    report = judge(seed, ("best",))

The original runs first (a fault there is the generator's). Then, for each allocator, a budget from the least one up:
the rewritten binary must pass the checker, and every kernel of it must leave what it left before, those included that
the rewrite was not about. Where another kernel can be rewritten too, that is done on top of the first.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from binalloc.emulator.host.run import run
from binalloc.errors import BinallocError, Refused
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.allocate.registers import Infeasible
from binalloc.transform.allocators.table import ALLOCATORS as TABLE
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.generator.programs import generate
from tests.support.kits.machines import roomy_machine

MACHINE = roomy_machine()
MAX_CYCLES = 2_000_000
ALLOCATORS = tuple(name for name in TABLE if name != "cpsat")
EXACT = "cpsat"
SLOTS = (0, 1, 2, 3, 5, 8, 16)
MOST_TRIES = 40

Buffers = dict[str, dict[str, np.ndarray]]


@dataclass
class Report:
    """failures: (kind, sentence). counts: what was done, and refusals by reason."""

    seed: int
    failures: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def fail(self, kind: str, text: str) -> None:
        self.failures.append((kind, text))


class Program:
    """A wide program, its launches and what its kernels leave."""

    def __init__(self, seed: int, options: Mapping[str, object]) -> None:
        self.seed = seed
        self.module, self.launches = generate("wide", seed, **options)
        self.data = write_module(self.module)
        self.expected = emulate(schedule(self.module, MACHINE), self.launches)
        self.demand = max(fn.info.registers for fn in self.module)

    def feasible(self, rng: random.Random, slots: int, allocator: str) -> tuple[int, Module] | None:
        """A budget and its rewrite: the least one, or one between; None if nothing up to 255 will do."""
        if rng.random() < 0.25:
            return self._least(slots, allocator)
        low = rng.randrange(3, max(4, self.demand + 3))
        for registers in sorted({min(255, low + k + k * k // 4) for k in range(MOST_TRIES)}):
            try:
                return registers, rewrite(self.module, "kernel", registers, slots, allocator)
            except Infeasible:
                continue
        return None

    def _least(self, slots: int, allocator: str) -> tuple[int, Module] | None:
        low, high, best = 0, min(255, self.demand + 2), None
        while high - low > 1 or best is None:
            middle = (low + high) // 2 if high - low > 1 else high
            try:
                best = middle, rewrite(self.module, "kernel", middle, slots, allocator)
                high = middle
            except Infeasible:
                if middle == high:
                    return None
                low = middle
        return best


def emulate(module: Module, launches: list[Launch]) -> Buffers:
    """What each kernel leaves."""
    return {
        launch.kernel: run(module, launch.kernel, launch, MACHINE, max_cycles=MAX_CYCLES).buffers for launch in launches
    }


def judge(seed: int, allocators: tuple[str, ...], options: Mapping[str, object] | None = None) -> Report:
    """Everything about the program of that seed (with those options in place of the drawn ones)."""
    report = Report(seed)
    try:
        program = Program(seed, options or {})
    except BinallocError as error:
        report.fail("invalid program", str(error))
        return report
    report.counts["programs"] += 1
    report.counts["kernels"] += len(program.launches)
    for allocator in allocators:
        rng = random.Random(f"wide budget {seed} {allocator}")
        slots = 0 if allocator == "local" else rng.choice(SLOTS)
        try:
            _case(program, rng, slots, allocator, report)
        except Refused as error:
            report.counts[f"refused: {error.message}"] += 1
        except Exception as error:
            report.fail("crash", f"{allocator}, {slots} slots: {type(error).__name__}: {error}")
    return report


def _case(program: Program, rng: random.Random, slots: int, allocator: str, report: Report) -> None:
    found = program.feasible(rng, slots, allocator)
    if found is None:
        report.counts["infeasible"] += 1
        return
    registers, rewritten = found
    where = f"{allocator}, {registers} registers, {slots} slots"
    report.counts["rewrites"] += 1
    if program.seed % 4 == 0 and write_module(program.module) != program.data:
        report.fail("input changed", where)
    final = _finish(program, rewritten, registers, slots, where, ["kernel"], report)
    info = final.function("kernel").info
    report.counts["with slots"] += bool(info.slot_bytes)
    report.counts["with spill code"] += bool(info.slot_bytes or info.spill_local)
    others = [launch.kernel for launch in program.launches[1:]]
    if others and rng.random() < 0.35:
        second = rng.choice(others)
        try:
            both = rewrite(final, second, min(255, registers + rng.randrange(4)), slots, allocator)
        except (Infeasible, Refused):
            report.counts["second kernel refused"] += 1
            return
        report.counts["second rewrites"] += 1
        _finish(program, both, 255, 1 << 20, f"{where}, then {second}", ["kernel", second], report)


def _finish(
    program: Program, rewritten: Module, registers: int, slots: int, where: str, kernels: list[str], report: Report
) -> Module:
    """Schedule, write and read back `rewritten`; check the kernels named, run all; what was read back."""
    final = read_module(write_module(schedule(rewritten, MACHINE)))
    info = final.function("kernel").info
    if info.registers > registers or info.slot_bytes > 128 * slots:
        report.fail("over budget", f"{where}: {info.registers} registers, {info.slot_bytes // 128} slots")
    verdicts = {kernel: check(program.module, final, kernel, kernels) for kernel in kernels}
    wrong = ""
    try:
        got = emulate(final, program.launches)
        wrong = _difference(program.expected, got)
    except BinallocError as error:
        wrong = f"its run ends with: {error}"
    for kernel, verdict in verdicts.items():
        if {error.kind for error in verdict.errors} == {"stack"}:
            report.counts["refused: the reconvergence stack may overflow"] += 1
        elif not verdict.ok:
            run_says = wrong or "its runs agree with the original's"
            report.fail("rejected", f"{where}: {kernel}: {verdict.errors[0]}; {run_says}")
        elif verdict.notes:
            report.counts["accepted with notes"] += 1
    if wrong and all(v.ok for v in verdicts.values()):
        report.fail("ACCEPTED BUT WRONG", f"{where}: {wrong}")
    return final


def _difference(expected: Buffers, got: Buffers) -> str:
    for kernel, buffers in expected.items():
        for name, data in buffers.items():
            if not np.array_equal(data, got[kernel][name]):
                at = np.flatnonzero(data.reshape(-1) != got[kernel][name].reshape(-1))
                return f"{kernel} leaves other contents in {name} at {at[:6].tolist()}"
    return ""
