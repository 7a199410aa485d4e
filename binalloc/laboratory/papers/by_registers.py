"""The unified paper's Fig. 1 once more: running time by registers per thread, with all spills in local memory.

The paper compiled with the vendor's compiler at each number of registers; here allocator `local` is given each. As many
blocks are resident as that leaves room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from binalloc.emulator.runs.options import USUAL, RunOptions
from binalloc.isa.instruction import Module
from binalloc.laboratory.papers.reproduce import PLAIN
from binalloc.laboratory.papers.unified import FIGURE1_LEAST
from binalloc.pipeline.request import Progress
from binalloc.pipeline.steps.row import OK, Row
from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.configuration import Configuration, Subject
from binalloc.pipeline.sweeping.executors import Executor
from binalloc.pipeline.sweeping.rows import cycles_of
from binalloc.pipeline.sweeping.sweep import Tally, sweep


@dataclass(frozen=True)
class RegisterCurve:
    """A benchmark at every number of registers per thread. sample: what stands in for it. rows: as in a sweep, by
    registers allowed, ascending up to the demand: what the input takes, which the machine may not let it have."""

    subject: Subject
    sample: str
    demand: int
    rows: list[Row]

    @property
    def best(self) -> Row | None:
        """The fastest; of several the one of most registers. None where none ran."""
        ran = [row for row in reversed(self.rows) if row.status == OK and row.same_results]
        return min(ran, key=cycles_of, default=None)

    @property
    def milliseconds(self) -> list[float | None]:
        """At the machine's clock, of each row; None where it did not run."""
        khz = self.subject.machine.clock.core_mhz * 1000
        return [cycles_of(row) / khz if row.status == OK else None for row in self.rows]


def register_curves(
    cases: Sequence[tuple[str, Module, Subject]],
    executor: Executor,
    cache: Cache,
    progress: Progress = lambda _: None,
    tally: Tally | None = None,
    options: RunOptions = USUAL,
) -> Iterator[RegisterCurve]:
    """cases: samples by name, with their binaries. The curves in their order. Raises as `sweep` does."""
    demands = [
        min(module.function(subject.kernel).info.registers, subject.machine.limits.registers_per_thread)
        for _, module, subject in cases
    ]
    asked = [
        [
            Configuration(subject, options, PLAIN, None, registers, 0, False)
            for registers in range(min(FIGURE1_LEAST, demand), demand + 1)
        ]
        for (_, _, subject), demand in zip(cases, demands, strict=True)
    ]
    rows = sweep([one for group in asked for one in group], executor, cache, progress, tally)
    for (sample, _, subject), demand, group in zip(cases, demands, asked, strict=True):
        yield RegisterCurve(subject, sample, demand, [next(rows) for _ in group])
