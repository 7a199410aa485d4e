"""This module has the options of a run in one record. It is made once, at the command line or in Python, and handed on
whole to the code that reads it.

An option of runs is a field here, with its meaning beside it. One place reads it, and the code in between hands the
record on without a look at it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.emulator.host.memory.cpu import MIXED
from binalloc.emulator.host.pairs import OFF
from binalloc.emulator.host.resources import DYNAMIC
from binalloc.emulator.pages.table import DEFAULT as DEFAULT_PAGES
from binalloc.emulator.policies.dispatchers.table import DEFAULT as DEFAULT_DISPATCHER
from binalloc.emulator.policies.placements.table import DEFAULT as DEFAULT_PLACEMENT
from binalloc.emulator.policies.schedulers.table import DEFAULT as DEFAULT_SCHEDULER
from binalloc.models.batches.formula import AUTO
from binalloc.models.dram.traffic import CpuTraffic
from binalloc.models.machines.files import DEFAULT_MACHINE
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice, Sampler
    from binalloc.emulator.runs.issue_log import IssueLog

NUMBA, PYTHON = "numba", "python"
ENGINES = (NUMBA, PYTHON)
"""The emulator compiled and cached, and the same source as Python, which is slow and for small cases."""
Watcher = Callable[[int, int, int], None]
"""Is called with the progress of a run: cycles so far, blocks ended, blocks of the grid."""
Observer = Callable[["LaunchedDevice", int], None]
"""Is called with the device after each cycle with events, and with that cycle. The run is ten times slower."""
MakeSampler = Callable[["LaunchedDevice"], "Sampler"]
"""Makes a sampler of the device."""
_UNNAMED = ""


class _MachineField:
    """The field is a machine, which is given as one, by name or by the path of its file. It is the default machine
    where none is given."""

    def __get__(self, options: object, owner: type | None = None) -> Machine:
        if options is None:
            return _UNNAMED  # type: ignore[return-value]  # the field's default, which __set__ is handed
        held = vars(options)
        if held["_machine"] is None:  # the file is read late: many options are made without a machine and get one later
            held["_machine"] = load_machine(DEFAULT_MACHINE)
        found: Machine = held["_machine"]
        return found

    def __set__(self, options: object, given: Machine | str | Path | None) -> None:
        named = given not in (None, _UNNAMED)
        found = given if isinstance(given, Machine) else load_machine(given) if given else None
        vars(options).update(_named=named, _machine=found)


@dataclass(frozen=True)
class RunOptions:
    """Run options say how a launch, or each launch of a program, is run."""

    machine: _MachineField = _MachineField()
    """The emulated machine: a model, its name or the path of its file."""
    engine: str = NUMBA
    """One of `ENGINES`."""
    scheduler: str = DEFAULT_SCHEDULER
    """How an SM's schedulers choose among warps: a row of `policies.schedulers.table`, by name, with its parameters, as
    in "NAME:PARAMETER=VALUE"."""
    dispatcher: str = DEFAULT_DISPATCHER
    """Which SM takes which block when: a row of `dispatchers.table`, by name."""
    batches: str = AUTO
    """Which blocks are a batch, for dispatchers and schedulers that know batches: "stride:N", "mod:M" or "auto". With
    "auto" the use case `run` finds batches, and everywhere else each block is one."""
    placement: str = DEFAULT_PLACEMENT
    """Where in an SM's shared memory an allocation lies: a row of `placements.table`, by name."""
    pages: str = DEFAULT_PAGES
    """Where in L2 and DRAM a line of memory lies: a row of `pages.table`, by name, with its parameters."""
    cpu: CpuTraffic | None = None
    """What CPU programs ask of the memory meanwhile: as `models.dram.traffic.read_traffic` reads it, or its file."""
    cpu_rows: str = MIXED
    """Where in a bank the pages of CPU programs lie: among the GPU's, or in the high rows (`host.memory.cpu`)."""
    cpu_first: bool = False
    """Whether channels of DRAM serve CPU programs before the GPU."""
    listeners: tuple[str, ...] = ()
    """Further policies that only hear of events: rows of `listeners.table`, by name."""
    sms: int = 1
    """SMs that are emulated. One runs the whole grid with 1/machine.chip.sms of the bandwidth; n have n shares."""
    max_cycles: int | None = DEFAULT_MAX_CYCLES
    """Upper limit in cycles, of all launches of a program together. None: none, an endless loop runs for ever."""
    check: bool = False
    """Whether uninitialised registers and shared words are tracked as poison, which faults where it matters."""
    race: bool = False
    """Whether shared-memory races between barriers are looked for."""
    skews: int = 0
    """How many more runs measure a launch, with blocks that start a little later, by seeds (`host.skew`)."""
    host_steps: bool = False
    """Whether functions of Python files that a program names may be called."""
    every: int | None = None
    """Cycles of an interval, where all counters are sampled; None: they are not."""
    profile: bool = False
    """Whether single instructions are counted."""
    by_object: bool = False
    """Whether DRAM's commands are counted by object in memory: 4 % more time for a kernel of gathers alone."""
    blocks_per_sm: int | None = None
    """Upper limit of resident blocks. None: what occupancy allows."""
    ideal_blocks: int | None = None
    """Resident blocks as if registers and shared memory were free: a what-if run."""
    smm: str = DYNAMIC
    """How the shared memory that BAR.ALLOC asks for is managed: one of `resources.MANAGEMENTS`. As static memory it
    belongs to a block for as long as it lives, and BAR.ALLOC and BAR.FREE are plain barriers."""
    over: int | None = None
    """Most resident blocks beyond those of static management, for kernels with BAR.ALLOC. None: no such limit."""
    sharing: str = OFF
    """Whether blocks share a part of their shared memory two by two: `pairs.OFF`, the share of it that stays private as
    a number between 0 and 1, or PAIRS:BYTES, which may be followed by the private slots of a thread."""
    hazards: bool = True
    """Whether code has to be scheduled for the machine. Otherwise results are exact, but cycles mean nothing."""
    reference: bool = False
    """Whether every cycle is computed on its own; the usual event-skipping mode agrees with it on every counter."""
    skew: int | None = None
    """The seed of the small delays of the starts of blocks. None: no delays."""
    only: range | None = None
    """Numbers of the blocks of the grid that are run. None: all."""
    progress: Watcher | None = field(default=None, compare=False)
    """Called now and then during a long run."""
    observer: Observer | None = field(default=None, compare=False)
    """Called after each cycle with events."""
    log: IssueLog | None = field(default=None, compare=False)
    """Log that receives what the SMs do (`issue_log`)."""

    samplers: tuple[MakeSampler, ...] = field(default=(), compare=False)
    """Are called with the device before its first cycle. What they return looks at the device now and then."""

    @property
    def names_machine(self) -> bool:
        """Return whether a machine was given."""
        return bool(vars(self)["_named"])

    @property
    def checking(self) -> bool:
        """Return whether the run needs the build of the engine that looks for mistakes or counts instructions."""
        return self.check or self.race or self.profile

    @property
    def policies(self) -> dict[str, str]:
        """The policies of the SM besides the scheduler, by option: names of rows."""
        names = ("dispatcher", "batches", "placement", "pages")
        return {name: getattr(self, name) for name in names}

    def figures(self) -> dict[str, Any]:
        """Return all that determines the outcome of a run beside binary, launch and machine, as plain values by
        name."""
        plain = {"cpu": None if self.cpu is None else self.cpu.plain()}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.compare and f.name != "machine"} | plain


USUAL = RunOptions()
"""The options of a run for which nothing is chosen."""
