"""What is wanted of a kernel, and what is worked out once for all its versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.emulator.schedulers.table import DEFAULT as DEFAULT_SCHEDULER
from binalloc.isa.instruction import Module
from binalloc.models.allocation.layouts import DEFAULT_LAYOUT
from binalloc.models.machines.files import DEFAULT_MACHINE
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.search.unified import PRINTED, Reading
from binalloc.pipeline.block import Three
from binalloc.pipeline.profile import Profile, load_profile
from binalloc.transform.allocators.allocator import SOLVER_LIMIT
from binalloc.transform.allocators.table import DEFAULT as DEFAULT_ALLOCATOR
from binalloc.transform.rewrite.ways import NONE

if TYPE_CHECKING:
    from binalloc.analysis.callgraph import CallGraph
    from binalloc.launch.file import Launch
    from binalloc.transform.rewrite.rewrite import Prepared

Progress = Callable[[str], None]


def _silent(_: str) -> None:
    """Progress nobody asked for."""


_UNNAMED = ""


class _MachineField:
    """A machine, given as one, by name or by the path of its file; the default machine where none is."""

    def __get__(self, request: object, owner: type | None = None) -> Machine:
        if request is None:
            return _UNNAMED  # type: ignore[return-value]  # the field's default, which __set__ is handed
        found: Machine = vars(request)["_machine"]
        return found

    def __set__(self, request: object, given: Machine | str | Path) -> None:
        vars(request)["_named"] = given != _UNNAMED
        given = given or DEFAULT_MACHINE
        vars(request)["_machine"] = given if isinstance(given, Machine) else load_machine(given)


class _LaunchField:
    """A launch, given as one, by the path of its file, or not at all."""

    def __get__(self, request: object, owner: type | None = None) -> Launch | None:
        found: Launch | None = None if request is None else vars(request)["_launch"]
        return found

    def __set__(self, request: object, given: Launch | str | Path | None) -> None:
        if isinstance(given, str | Path):
            from binalloc.launch.file import load_launch

            given = load_launch(given)
        vars(request)["_launch"] = given


class _ProfileField:
    """A profile, given as one, by the path of its file, or not at all."""

    def __get__(self, request: object, owner: type | None = None) -> Profile | None:
        found: Profile | None = None if request is None else vars(request)["_profile"]
        return found

    def __set__(self, request: object, given: Profile | str | Path | None) -> None:
        vars(request)["_profile"] = load_profile(given) if isinstance(given, str | Path) else given


class Preparations:
    """What is known of the kernel last asked for, found once: a policy builds many versions of one.

    versions: where somebody keeps them (an empty dictionary is where to begin), what `steps.build_version` came to, by
    allocator, registers and slots; for requests that differ in policy, reading and allocator alone. estimates: see
    `estimate.estimates_of`. proven: modules that the checker has passed."""

    def __init__(self) -> None:
        self._module: Module | None = None
        self._graph: CallGraph | None = None
        self._last: Prepared | None = None
        self._asked: tuple[int, str, int, str] | None = None
        self._held: tuple[Module, Profile | None] | None = None  # so that what `_asked` names goes on being theirs
        self.versions: dict[tuple[str, int, int], Any] | None = None
        self.estimates: Any = None
        self.proven: list[Module] = []

    def graph(self, module: Module, kernel: str) -> CallGraph:
        """The kernel's call graph in the binary as it came; see `build_callgraph`."""
        from binalloc.analysis.callgraph import build_callgraph

        if self._graph is None or self._module is not module or self._graph.kernel != kernel:
            self._module, self._graph = module, build_callgraph(module, kernel)
        return self._graph

    def of(self, module: Module, kernel: str, profile: Profile | None = None, inline: str = NONE) -> Prepared:
        """See `rewrite.prepare`. UsageError where the profile is not the kernel's."""
        from binalloc.transform.rewrite.rewrite import prepare

        last, asked = self._last, (id(module), kernel, id(profile), inline)
        if last is None or asked != self._asked:
            executions = None if profile is None else profile.executions(module, kernel)
            self._last = last = prepare(module, kernel, self.graph(module, kernel), executions, inline)
            self._asked, self._held = asked, (module, profile)
        return last


@dataclass(frozen=True)
class Request:
    """What to do with a kernel.

    kernel: its name; "" for the launch's, or the binary's only one. machine: a machine model, its name or the path of
    its file. launch: a launch or the path of its file (`load_launch` chooses among its sizes). block: sides of a block
    where there is no launch. registers, slots: explicit budget per thread. blocks: blocks per SM to aim at. Neither:
    automatic choice by `policy` (measured, exhaustive, unified, model). reading: of what the unified paper leaves
    open, for its policy. allocator: by name. emulate: run original and rewritten and compare results. engine: numba or
    python. max_cycles: limit of each emulated run; None: no limit. scheduler: the emulated warp scheduler, by name.
    skews: how many further runs measure each version, with blocks that start a little later, by seeds. solver_limit:
    deterministic solver time per function, about seconds, for allocators that have a solver. layout: of the slots of
    callers and callees (`models.allocation.layouts`). explain: whether versions say why values left the registers
    (`Version.explained`). profile: how often code runs, or the path of its file; without, that is estimated from
    loops. inline: which calls are inlined first (`rewrite.ways.WAYS`). sampled: whether of large grids only parts are
    run (`sampling`). whole_gpu: whether an SM has no more blocks at once than the GPU's SMs get of the grid (`grid`).
    prepared: the call graph and what all versions of the kernel are built from, kept from the first one on.
    """

    kernel: str = ""
    machine: _MachineField = _MachineField()
    launch: _LaunchField = _LaunchField()
    block: Three | None = None
    registers: int | None = None
    slots: int | None = None
    blocks: int | None = None
    policy: str = "measured"
    reading: Reading = PRINTED
    allocator: str = DEFAULT_ALLOCATOR
    emulate: bool = True
    engine: str = "numba"
    max_cycles: int | None = DEFAULT_MAX_CYCLES
    progress: Progress = _silent
    scheduler: str = DEFAULT_SCHEDULER
    skews: int = 0
    solver_limit: float = SOLVER_LIMIT
    layout: str = DEFAULT_LAYOUT
    explain: bool = False
    profile: _ProfileField = _ProfileField()
    inline: str = NONE
    sampled: bool = False
    whole_gpu: bool = False
    prepared: Preparations = field(default_factory=Preparations, compare=False, repr=False)

    @property
    def names_machine(self) -> bool:
        """Whether a machine was given."""
        return bool(vars(self)["_named"])

    def prepared_for(self, module: Module) -> Prepared:
        """What versions of the kernel are built from. UsageError where the profile is not the kernel's."""
        return self.prepared.of(module, self.kernel, self.profile, self.inline)
