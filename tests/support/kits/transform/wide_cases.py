"""One wide program at budgets from the least one up, for the judge of rewrites.

    report = report_on(seed, ("best",))

The original runs first; a fault there is the generator's, or its holes', and then no runs are compared.
Then comes a budget for each allocator; where another kernel can be rewritten too, that is done on top of the first.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from binalloc.errors import BinallocError, Refused
from binalloc.isa.instruction import Module
from binalloc.models.machines.reader import load_machine
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.transform.rewrite.ways import WAYS
from binalloc.transform.schedule.banks import spread_over_banks
from tests.support.generator.programs import generate
from tests.support.kits.machines import with_register_banks
from tests.support.kits.transform.rewrite_judge import MACHINE, Original, Verdict, rewritten_names

SLOTS = (0, 1, 2, 3, 5, 8, 16)
MOST_TRIES = 40
MACHINES = (None, "c2075", "gtx680", "a100")
"""Whose latencies the rewrite's order hides; None: nobody's."""
HOLES = 0.06
"""Share of the words that define something which programs with holes are without."""


@dataclass
class Report:
    """failures: (kind, sentence). counts: what was done, and refusals by reason."""

    seed: int
    failures: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def fail(self, kind: str, text: str) -> None:
        self.failures.append((kind, text))

    def add(self, verdict: Verdict, where: str) -> None:
        """What the judge said of a rewrite; where: allocator and budget."""
        self.failures += [(kind, f"{where}: {text}") for kind, text in verdict.failures]
        self.counts["refused: the reconvergence stack may overflow"] += len(verdict.deep)
        self.counts["accepted with notes"] += len(verdict.noted)


class WideProgram(Original):
    """A wide program and budgets that will do for it."""

    def __init__(self, seed: int, options: Mapping[str, object]) -> None:
        super().__init__(*generate("wide", seed, **options), holes=bool(options.get("holes")))
        self.inline = random.Random(f"wide inline {seed}").choice(list(WAYS))
        timed = random.Random(f"wide machine {seed}").choice(MACHINES)
        self.machine = None if timed is None else load_machine(timed)

    def rewritten(self, module: Module, kernel: str, registers: int, slots: int, allocator: str) -> Module:
        """In an order for the machine's latencies, if there is one."""
        prepared = prepare(module, kernel, inline=self.inline)
        return rewrite_to_budget(prepared, registers, slots, allocator, machine=self.machine).module

    def feasible(self, rng: random.Random, slots: int, allocator: str) -> tuple[int, Module] | None:
        """A budget and its rewrite: the least one, or one between; None if nothing up to 255 will do."""
        if rng.random() < 0.25:
            return self._least(slots, allocator)
        low = rng.randrange(3, max(4, self.demand + 3))
        for registers in sorted({min(255, low + k + k * k // 4) for k in range(MOST_TRIES)}):
            try:
                return registers, self.rewritten(self.module, "kernel", registers, slots, allocator)
            except Infeasible:
                continue
        return None

    def _least(self, slots: int, allocator: str) -> tuple[int, Module] | None:
        low, high, best = 0, min(255, self.demand + 2), None
        while high - low > 1 or best is None:
            middle = (low + high) // 2 if high - low > 1 else high
            try:
                best = middle, self.rewritten(self.module, "kernel", middle, slots, allocator)
                high = middle
            except Infeasible:
                if middle == high:
                    return None
                low = middle
        return best


def report_on(seed: int, allocators: tuple[str, ...], options: Mapping[str, object] | None = None) -> Report:
    """Everything about the program of that seed (with those options in place of the drawn ones)."""
    report = Report(seed)
    try:
        program = WideProgram(seed, options or {})
        assert not program.determined or program.expected  # runs it
    except BinallocError as error:
        report.fail("invalid program", str(error))
        return report
    report.counts["programs"] += 1
    report.counts["not compared: what they leave hangs on what nobody wrote"] += not program.determined
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


def _case(program: WideProgram, rng: random.Random, slots: int, allocator: str, report: Report) -> None:
    found = program.feasible(rng, slots, allocator)
    if found is None:
        report.counts["infeasible"] += 1
        return
    registers, rewritten = found
    where = f"{allocator}, {registers} registers, {slots} slots, inline {program.inline}"
    inlined = sum(len(fn.origin.inlined) for fn in rewritten if fn.origin is not None)
    report.counts["with inlined calls"] += bool(inlined)
    report.counts["rewrites"] += 1
    rewritten = _in_other_banks(rewritten, random.Random(f"wide banks {report.seed} {where}"), report)
    verdict = program.judge(rewritten, registers, slots)
    report.add(verdict, where)
    report.counts["with slots"] += bool(verdict.info.slot_bytes)
    report.counts["with spill code"] += bool(verdict.info.slot_bytes or verdict.info.spill_local)
    others = [launch.kernel for launch in program.launches[1:]]
    if others and rng.random() < 0.35:
        second = rng.choice(others)
        try:
            more = min(255, registers + rng.randrange(4))
            both = program.rewritten(verdict.final, second, more, slots, allocator)
        except (Infeasible, Refused):
            report.counts["second kernel refused"] += 1
            return
        report.counts["second rewrites"] += 1
        report.add(program.judge(both, 255, 1 << 20, ["kernel", second]), f"{where}, then {second}")


def _in_other_banks(rewritten: Module, rng: random.Random, report: Report) -> Module:
    """Half of the rewrites with registers spread over the banks of some machine."""
    if rng.random() < 0.5:
        return rewritten
    spread = spread_over_banks(rewritten, with_register_banks(MACHINE, rng), rewritten_names(rewritten))
    report.counts["in other banks"] += spread is not rewritten
    return spread
