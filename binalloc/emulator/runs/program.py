"""This module runs a program from its first step to its last: launches of several kernels over kept buffers, and the
figures of each.

Needs a module scheduled for the machine, with all kernels that the program launches. Leaves true: a `Ran` follows from
module, program and machine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from binalloc.emulator.host.figures.energy import EnergyFigures, energy_figures
from binalloc.emulator.host.figures.stats import Stats
from binalloc.emulator.host.runtime import HeapUse, Printed
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result
from binalloc.emulator.runs.session import Session
from binalloc.emulator.state.memories import Array
from binalloc.errors import BinallocError, Hint, Interrupted, LimitHit, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.launch.file import complete
from binalloc.launch.merged import Merge, merge_of
from binalloc.launch.program.binding import bind_step
from binalloc.launch.program.expressions import Number, Scope
from binalloc.launch.program.types import LaunchStep, Program
from binalloc.launch.program.walk import ProgramWalk
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.printable import count

FIGURES = (
    "warp_instructions", "ipc", "user_global_load_bytes", "user_global_store_bytes", "global_load_sectors",
    "global_store_sectors", "local_bytes_moved", "bank_conflict_cycles", "l1_global_hits", "l1_global_misses",
    "l2_hits", "l2_misses", "dram_bytes", "dram_utilisation",
)  # fmt: skip
"""Counters that are kept of each launch. Of all launches of a kernel together, all counters are kept."""


@dataclass(frozen=True)
class Launched:
    """A launched step is one launch of the program that has ended."""

    number: int  #: number of the launch, from 0 on
    step: str  #: its place in the file
    rounds: tuple[int, ...]  #: rounds of the loops around it, the outermost first
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    start: int  #: cycles of all launches before it
    cycles: int
    blocks_per_sm: int
    occupancy: float  #: as `Result.resident_occupancy`, of an SM with all the blocks that it may have
    achieved_occupancy: float
    registers: int  #: per thread
    slots: int  #: per thread
    figures: Stats = field(repr=False)  #: the counters of `FIGURES`


@dataclass
class Total:
    """The total of a kernel sums all its launches."""

    calls: int = 0
    cycles: int = 0
    least: int = 0  #: cycles of the shortest launch
    most: int = 0  #: cycles of the longest launch
    stats: Stats = field(default_factory=dict, repr=False)  #: sums of the counters that add up
    energy: EnergyFigures | None = None  #: of DRAM in all launches, see `energy_figures`
    far_energy: EnergyFigures | None = None  #: likewise of the far memory, where launches use it

    def add(self, result: Result, machine: Machine) -> None:
        """Add one launch, on that machine."""
        self.least = min(self.least, result.cycles) if self.calls else result.cycles
        self.most = max(self.most, result.cycles)
        self.calls += 1
        self.cycles += result.cycles
        _add(self.stats, result.stats)
        self.energy = energy_figures(self.stats, machine, result.sms, self.stats["cycles"])
        if machine.far is not None and "far_dram" in self.stats:
            self.far_energy = energy_figures(self.stats["far_dram"], machine.far, result.sms, self.stats["cycles"])


def _add(total: Stats, more: Stats) -> None:
    """Add the integers of `more` to `total`. Quotients and queues do not add up."""
    for name, value in more.items():
        if isinstance(value, int) and not isinstance(value, bool):
            total[name] = total.get(name, 0) + value
        elif isinstance(value, dict) and name not in ("queues", "dram_energy"):
            _add(total.setdefault(name, {}), value)


@dataclass
class Ran:
    """A `Ran` is what a program did. Its launches ran one after the other."""

    machine: str
    engine: str
    scheduler: str
    policies: dict[str, str]  #: other policies of the SM by option, as in `Result`
    sms: int
    launches: list[Launched] = field(default_factory=list)
    totals: dict[str, Total] = field(default_factory=dict)  #: by kernel, in the order of their first launches
    buffers: dict[str, Array] = field(default_factory=dict, repr=False)  #: as in `Result`, at the end
    globals: dict[str, Array] = field(default_factory=dict, repr=False)  #: as in `Result`, at the end
    #: by kernel, the launch that takes most of an SM by threads of a block and dynamic shared memory, of several the
    #: first
    largest: dict[str, Launch] = field(default_factory=dict, repr=False)
    scalars: dict[str, Number | complex] = field(default_factory=dict)  #: values of scalar arguments at the end
    partial: bool = False  #: whether the program was stopped; the rest is then what was true at that time
    #: output by number of the launch, where there is some
    printed: list[tuple[int, Printed]] = field(default_factory=list, repr=False)
    heap: HeapUse | None = None  #: at the end

    @property
    def cycles(self) -> int:
        return sum(total.cycles for total in self.totals.values())

    @property
    def said(self) -> Printed:
        """Return all output, launch after launch."""
        return Printed(
            tuple(text for _, printed in self.printed for text in printed.texts),
            sum(printed.lost for _, printed in self.printed),
        )


class LaunchReached(Exception):
    """`LaunchReached` is raised in front of the launch that was asked for, with its session and parameters."""

    def __init__(self, session: Session, launch: Launch, parameters: bytes) -> None:
        super().__init__(launch.kernel)
        self.session, self.launch, self.parameters = session, launch, parameters


Teller = Callable[[int, str, int], None]
"""Reports how far a program is: launches that have ended, the running kernel, cycles so far."""


def run_steps(
    module: Module,
    program: Program,
    options: RunOptions,
    *,
    kernels: Mapping[str, Function],
    buffers: Mapping[str, Array] | None = None,
    stop_at: int | None = None,
    progress: Teller | None = None,
) -> Ran:
    """Run all steps of `program` with kernels of `module`.

    Args:
        options: how it runs. A program with host steps is refused unless the options allow them.
        kernels: the module's, by the names that the program has for them.
        buffers: contents instead of `program.held.make_buffers()`, for all buffers; not changed.
        stop_at: raise Reached in front of the launch of that number.
        progress: called now and then.

    Raises the errors of `run_launch` and of `ProgramWalk`. LimitHit, Interrupted and KernelFault have the Ran so far in
    `partial`.
    """
    require_leave(program, options.host_steps)
    held = program.held
    contents = dict(held.make_buffers() if buffers is None else complete(held, held.buffers, buffers, "buffers"))
    session = Session(module, program.held, contents, program.held.make_textures(), options)
    ran = Ran(options.machine.name, options.engine, options.scheduler, options.policies, options.sms)
    runner = _Runner(session, ran, kernels, stop_at, progress)
    walk = ProgramWalk(program, runner)
    try:
        walk.run()
    except (BinallocError, Interrupted) as error:
        ran.partial = True
        error.program = ran
        raise
    except KeyboardInterrupt as stopped:  # between two launches, or as one begins
        ran.partial = True
        interrupted = Interrupted(None, getattr(stopped, "exit_code", 130))
        interrupted.program = ran
        raise interrupted from None
    if stop_at is not None:
        raise UsageError(
            "the program has no such launch", place=Hint("{step}"), found=stop_at,
            expected=f"0 to {len(ran.launches) - 1}",
        )  # fmt: skip
    ran.buffers, ran.globals = session.memory.contents()
    ran.heap = session.memory.heap_use()
    ran.scalars = walk.scalars
    return ran


def _room(launch: Launch) -> tuple[int, int]:
    return launch.threads_per_block, launch.dynamic_shared


def require_leave(program: Program, host_steps: bool) -> None:
    """Raise UsageError for a program with host steps that may not run."""
    if program.host_files and not host_steps:
        raise UsageError(
            "the program has host steps, which execute Python code", file=program.path or None,
            found=", ".join(program.host_files), expected="your leave to do so",
            remedy=Hint("Give {host_steps} if you trust that code."),
        )  # fmt: skip


class _Runner:
    """A runner has the memory of a walk, and runs its launches."""

    def __init__(
        self, session: Session, ran: Ran, kernels: Mapping[str, Function], stop_at: int | None,
        progress: Teller | None,
    ) -> None:  # fmt: skip
        self.session, self.ran, self.kernels = session, ran, kernels
        self.left, self.stop_at, self.progress = session.options.max_cycles, stop_at, progress
        self.cycles = 0
        self.merges: dict[str, Merge | None] = {}  #: by kernel, as far as they are launched

    def array(self, name: str) -> Array:
        return self.session.memory.view(name)

    def changed(self, name: str) -> None:
        self.session.changed(name)

    def swap(self, one: str, other: str) -> None:
        self.session.memory.swap(one, other)

    def address(self, name: str) -> int:
        return self.session.memory.addresses[name]

    def launch(self, step: LaunchStep, scope: Scope, rounds: tuple[int, ...]) -> None:
        session, fn = self.session, self.kernels[step.kernel]
        launch, parameters = bind_step(
            step, fn.info, fn.name, session.held, scope, session.addresses(), session.module.path or None,
            self._merge(fn.name),
        )  # fmt: skip
        if self.stop_at == session.launched:
            raise LaunchReached(session, launch, parameters)
        try:
            asked = replace(session.options, max_cycles=self._left(), progress=self._tell(fn.name))
            result = session.launch(launch, parameters, asked)
        except LimitHit as error:
            if self.left is not None and error.partial is not None:
                error.expected = f"all launches of the program within {count(self.left, 'cycle')}"
            raise
        number = len(self.ran.launches)
        self.ran.launches.append(
            Launched(
                number, step.at.key, rounds, fn.name, launch.grid, launch.block, launch.dynamic_shared, self.cycles,
                result.cycles, result.blocks_per_sm, result.resident_occupancy, result.occupancy,
                session.registers(fn), fn.info.slots, {name: result.stats[name] for name in FIGURES},
            )
        )  # fmt: skip
        if result.printed.texts or result.printed.lost:
            self.ran.printed.append((number, result.printed))
        self.cycles += result.cycles
        self.ran.totals.setdefault(fn.name, Total()).add(result, session.options.machine)
        largest = self.ran.largest.setdefault(fn.name, launch)
        if _room(launch) > _room(largest):
            self.ran.largest[fn.name] = launch
        if self.progress is not None:
            self.progress(number + 1, fn.name, self.cycles)

    def _merge(self, kernel: str) -> Merge | None:
        """Return how the blocks of a kernel were merged, None if they were not."""
        if kernel not in self.merges:
            self.merges[kernel] = merge_of(self.session.module, kernel)
        return self.merges[kernel]

    def _left(self) -> int | None:
        """Return the cycles that the next launch may take, None for no limit."""
        if self.left is None:
            return None
        if self.cycles >= self.left:
            raise LimitHit(
                "the program did not end within the cycle limit",
                found=f"{len(self.ran.launches):,} launches ended in {self.cycles:,} cycles",
                expected=f"all within {self.left:,}",
                remedy=Hint("Raise the limit ({max_cycles} N, or {max_cycles} {None})."),
            )  # fmt: skip
        return self.left - self.cycles

    def _tell(self, kernel: str) -> Callable[[int, int, int], None] | None:
        progress = self.progress
        if progress is None:
            return None
        return lambda cycles, ended, blocks: progress(len(self.ran.launches), kernel, self.cycles + cycles)
