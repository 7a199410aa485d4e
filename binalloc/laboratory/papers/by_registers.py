"""This sweep repeats the unified paper's Fig. 1: running time by registers per thread, with all spills in local memory.

The paper compiled with the vendor's compiler at each number of registers. Here the allocator `local` gets each number,
and as many blocks are resident as have room then.
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
    """A RegisterCurve is a benchmark at every number of registers per thread."""

    subject: Subject
    sample: str  #: name of the sample that stands in for the benchmark
    demand: int  #: registers per thread of the input, or the machine's upper limit if that is lower
    rows: list[Row]  #: as in a sweep, by registers allowed, ascending up to the demand

    @property
    def best(self) -> Row | None:
        """Return the fastest row, among equals the one with most registers; None if none ran."""
        ran = [row for row in reversed(self.rows) if row.status == OK and row.same_results]
        return min(ran, key=cycles_of, default=None)

    @property
    def milliseconds(self) -> list[float | None]:
        """Return each row's running time at the machine's clock; None if it did not run."""
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
    """Yield the curves of the cases, in their order. cases: (sample, binary, subject) each. Raises as `sweep` does."""
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
