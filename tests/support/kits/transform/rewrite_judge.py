"""The judge of rewrites: what one is, written and read back, beside the program it was made from.

    verdict = Original(module, launches).judge(rewritten, registers, slots)

All of it must hold at once: the input is as it was, the budget is kept, the checker accepts, and every kernel leaves
what it left before, those included that the rewrite was not about. A program that uses what nobody wrote has no runs
to compare: its rewrites must have no hazard instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from binalloc.emulator.runs.run import run
from binalloc.errors import BinallocError
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import FunctionInfo, Module
from binalloc.isa.interface.places import SLOT_ROW
from binalloc.launch.types import Launch
from binalloc.transform.allocators.table import ALLOCATORS
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from binalloc.verify.hazards.check import find_hazards
from binalloc.verify.report import CheckReport
from tests.support.kits.machines import roomy_machine

MACHINE = roomy_machine()
MAX_CYCLES = 5_000_000
EXACT = "cpsat"
HEURISTICS = tuple(name for name in ALLOCATORS if name != EXACT)

Buffers = dict[str, dict[str, np.ndarray]]


def emulate(module: Module, launches: Sequence[Launch]) -> Buffers:
    """What each kernel leaves; hazards and bad accesses are faults."""
    return {
        launch.kernel: run(module, launch.kernel, launch, MACHINE, max_cycles=MAX_CYCLES).buffers for launch in launches
    }


def difference(expected: Buffers, got: Buffers) -> str:
    """Where one run leaves something else than the other, "" if nowhere."""
    for kernel, buffers in expected.items():
        for name, data in buffers.items():
            if not np.array_equal(data, got[kernel][name]):
                at = np.flatnonzero(data.reshape(-1) != got[kernel][name].reshape(-1))
                return f"{kernel} leaves other contents in {name} at {at[:6].tolist()}"
    return ""


def rewritten_names(module: Module) -> set[str]:
    """The functions that a rewrite made."""
    return {fn.name for fn in module if fn.origin is not None}


@dataclass
class Verdict:
    """final: the rewritten binary as its reader finds it. failures: (kind, sentence). deep: kernels that the checker
    refuses because their reconvergence stack may overflow, which is no mistake of the rewrite's. noted: kernels
    accepted with notes."""

    final: Module
    failures: list[tuple[str, str]] = field(default_factory=list)
    deep: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)

    @property
    def info(self) -> FunctionInfo:
        """What the kernel takes."""
        return self.final.function("kernel").info


class Original:
    """A program, its launches and, once asked for, what its kernels leave. holes: it may use what nobody wrote;
    determined: what its kernels leave hangs on nothing of that kind."""

    def __init__(self, module: Module, launches: Sequence[Launch], holes: bool = False) -> None:
        self.module, self.launches = module, launches
        self.data = write_module(module)
        self.determined = not holes or self._runs_clean()

    @cached_property
    def demand(self) -> int:
        """Registers of the function that asks for most."""
        return max(fn.info.registers for fn in self.module)

    @cached_property
    def expected(self) -> Buffers:
        return emulate(schedule(self.module, MACHINE), self.launches)

    def _runs_clean(self) -> bool:
        scheduled = schedule(self.module, MACHINE)
        try:
            for launch in self.launches:
                run(scheduled, launch.kernel, launch, MACHINE, check=True, max_cycles=MAX_CYCLES)
        except BinallocError:
            return False
        return True

    def judge(self, rewritten: Module, registers: int, slots: int, kernels: Sequence[str] = ("kernel",)) -> Verdict:
        """What `rewritten` for that budget is. kernels: all that were rewritten, which the checker looks at."""
        verdict = Verdict(read_module(write_module(schedule(rewritten, MACHINE))))
        if write_module(self.module) != self.data:
            verdict.failures.append(("input changed", "the module that was rewritten is another now"))
        info = verdict.info
        if info.registers > registers or info.slot_bytes > SLOT_ROW * slots:
            verdict.failures.append(("over budget", f"{info.registers} registers, {info.slots} slots"))
        reports = {kernel: check(self.module, verdict.final, kernel, kernels) for kernel in kernels}
        self._compare(verdict, reports)
        return verdict

    def _compare(self, verdict: Verdict, reports: dict[str, CheckReport]) -> None:
        """The proofs against the runs."""
        wrong = self._wrong(verdict.final)
        for kernel, report in reports.items():
            if {error.kind for error in report.errors} == {"stack"}:
                verdict.deep.append(kernel)
            elif not report.ok:
                agree = "its runs agree with the original's" if self.determined else "no run says anything"
                run_says = wrong or agree
                verdict.failures.append(("rejected", f"{kernel}: {report.errors[0]}; {run_says}"))
            elif report.notes:
                verdict.noted.append(kernel)
        if wrong and all(report.ok for report in reports.values()):
            verdict.failures.append(("ACCEPTED BUT WRONG", wrong))

    def _wrong(self, final: Module) -> str:
        """What the runs, or for want of them its control codes, have against a rewrite."""
        if not self.determined:
            return "; ".join(str(h) for h in find_hazards(final, MACHINE.unit_latencies)[:1])
        try:
            return difference(self.expected, emulate(final, self.launches))
        except BinallocError as error:
            return f"its run ends with: {error}"
