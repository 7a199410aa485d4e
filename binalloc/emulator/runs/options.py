"""How a launch is run: one record, made once at the command line or in Python and handed whole to whoever reads it.

An option of runs is a field here, with its meaning beside it; one place reads it. What stands between hands the record
on without a look at it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.emulator.pages.table import DEFAULT as DEFAULT_PAGES
from binalloc.emulator.policies.dispatchers.table import DEFAULT as DEFAULT_DISPATCHER
from binalloc.emulator.policies.placements.table import DEFAULT as DEFAULT_PLACEMENT
from binalloc.emulator.policies.schedulers.table import DEFAULT as DEFAULT_SCHEDULER
from binalloc.models.machines.files import DEFAULT_MACHINE
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice
    from binalloc.emulator.runs.issue_log import IssueLog

NUMBA, PYTHON = "numba", "python"
ENGINES = (NUMBA, PYTHON)
"""By name: the emulator compiled and cached, and the same source as Python, which is slow and for small cases."""
Watcher = Callable[[int, int, int], None]
"""Hears how far a run is: cycles so far, blocks ended, blocks of the grid."""
Observer = Callable[["LaunchedDevice", int], None]
"""Sees the device after each cycle with events, and that cycle; the run is ten times slower."""
_UNNAMED = ""


class _MachineField:
    """A machine, given as one, by name or by the path of its file; the default machine where none is."""

    def __get__(self, options: object, owner: type | None = None) -> Machine:
        if options is None:
            return _UNNAMED  # type: ignore[return-value]  # the field's default, which __set__ is handed
        held = vars(options)
        if held["_machine"] is None:  # read when it is asked for: most who want another machine begin with none
            held["_machine"] = load_machine(DEFAULT_MACHINE)
        found: Machine = held["_machine"]
        return found

    def __set__(self, options: object, given: Machine | str | Path | None) -> None:
        named = given not in (None, _UNNAMED)
        found = given if isinstance(given, Machine) else load_machine(given) if given else None
        vars(options).update(_named=named, _machine=found)


@dataclass(frozen=True)
class RunOptions:
    """How a launch, or each launch of a program, is run."""

    machine: _MachineField = _MachineField()
    """The emulated machine: a model, its name or the path of its file."""
    engine: str = NUMBA
    """One of `ENGINES`."""
    scheduler: str = DEFAULT_SCHEDULER
    """How an SM's schedulers choose among warps: a row of `policies.schedulers.table`, by name."""
    dispatcher: str = DEFAULT_DISPATCHER
    """Which SM takes which block when: a row of `dispatchers.table`, by name."""
    placement: str = DEFAULT_PLACEMENT
    """Where in an SM's shared memory an allocation lies: a row of `placements.table`, by name."""
    pages: str = DEFAULT_PAGES
    """Where in L2 and DRAM a line of memory lies: a row of `pages.table`, by name."""
    listeners: tuple[str, ...] = ()
    """Who hears of events besides: rows of `listeners.table`, by name."""
    sms: int = 1
    """SMs that are emulated. One runs the whole grid with 1/machine.chip.sms of the bandwidth; n have n shares."""
    max_cycles: int | None = DEFAULT_MAX_CYCLES
    """Upper limit in cycles, of all launches of a program together. None: none, an endless loop runs for ever."""
    check: bool = False
    """Whether poison of uninitialised registers and shared words is followed, and faults where it matters."""
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
    blocks_per_sm: int | None = None
    """Upper limit of resident blocks. None: what occupancy allows."""
    ideal_blocks: int | None = None
    """Resident blocks as if registers and shared memory were free: a what-if run."""
    hazards: bool = True
    """Whether code has to be scheduled for the machine. Without, results are exact and cycles mean nothing."""
    reference: bool = False
    """Whether each cycle is computed plainly; the usual event-skipping mode agrees with it on every counter."""
    skew: int | None = None
    """The seed of small delays with which blocks start. None: none starts late."""
    only: range | None = None
    """The blocks of the grid, by number, that are run, those before and after left out. None: all."""
    progress: Watcher | None = field(default=None, compare=False)
    """Called now and then during a long run."""
    observer: Observer | None = field(default=None, compare=False)
    """Called after each cycle with events."""
    log: IssueLog | None = field(default=None, compare=False)
    """Receives all that the SMs do (`issue_log`)."""

    @property
    def names_machine(self) -> bool:
        """Whether a machine was given."""
        return bool(vars(self)["_named"])

    @property
    def checking(self) -> bool:
        """Whether the build of the engine is needed that looks for mistakes, or counts instructions."""
        return self.check or self.race or self.profile

    def figures(self) -> dict[str, Any]:
        """All that the outcome of a run follows from beside binary, launch and machine, by name: plain values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.compare and f.name != "machine"}


USUAL = RunOptions()
"""Of a run that nobody says anything of."""
