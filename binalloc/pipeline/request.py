"""What is wanted of a kernel, and what is worked out once for all its versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.emulator.runs.options import RunOptions
from binalloc.isa.instruction import Module
from binalloc.models.allocation.layouts import DEFAULT_LAYOUT
from binalloc.models.machines.model import Machine
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


@dataclass(frozen=True, init=False)
class Request:
    """What to do with a kernel, and how it is run for that."""

    kernel: str = ""
    """Its name; "" for the launch's, or the binary's only one."""
    launch: _LaunchField = _LaunchField()
    """A launch or the path of its file (`load_launch` chooses among its sizes)."""
    options: RunOptions = field(default_factory=RunOptions)
    """How original and rewritten are run; its `progress` is not called, this record's is."""
    block: Three | None = None
    """Sides of a block where there is no launch."""
    registers: int | None = None
    """Explicit budget per thread; so is `slots`. None of these and no `blocks`: the policy chooses."""
    slots: int | None = None
    blocks: int | None = None
    """Blocks per SM to aim at."""
    policy: str = "measured"
    """How the number of blocks is chosen, a row of `policies.table` by name."""
    reading: Reading = PRINTED
    """Of what the unified paper leaves open, for its policy."""
    allocator: str = DEFAULT_ALLOCATOR
    """By name."""
    emulate: bool = True
    """Whether original and rewritten are run, and what they leave compared."""
    progress: Progress = _silent
    """Hears in words how far it is."""
    solver_limit: float = SOLVER_LIMIT
    """Deterministic solver time per function, about seconds, for allocators that have a solver."""
    layout: str = DEFAULT_LAYOUT
    """Of the slots of callers and callees (`models.allocation.layouts`)."""
    explain: bool = False
    """Whether versions say why values left the registers (`Version.explained`)."""
    profile: _ProfileField = _ProfileField()
    """How often code runs, or the path of its file; without, that is estimated from loops."""
    inline: str = NONE
    """Which calls are inlined first (`rewrite.ways.WAYS`)."""
    sampled: bool = False
    """Whether of large grids only parts are run (`sampling`)."""
    whole_gpu: bool = False
    """Whether an SM has no more blocks at once than the GPU's SMs get of the grid (`grid`)."""
    prepared: Preparations = field(default_factory=Preparations, compare=False, repr=False)
    """The call graph and what all versions of the kernel are built from, kept from the first one on."""

    def __init__(
        self,
        kernel: str = "",
        machine: Machine | str | Path | None = None,
        launch: Launch | str | Path | None = None,
        **given: Any,
    ) -> None:
        """machine: a model, its name or the path of its file, in place of the options'. given: the other fields by
        name, and besides those the fields of `options`, which are changed. Raises TypeError for other names."""
        values = {"kernel": kernel, "launch": launch, **given}
        for one in fields(self):
            if one.name not in values:
                default = one.default if one.default_factory is MISSING else one.default_factory()
                values[one.name] = default
        changed = {name: values.pop(name) for name in given if name not in _OWN}
        if machine is not None:
            changed["machine"] = machine
        if changed:
            values["options"] = replace(values["options"], **changed)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def machine(self) -> Machine:
        """The machine that the kernel is rewritten for, and run on."""
        return self.options.machine

    def with_options(self, **changed: Any) -> Request:
        """The request with its run options changed, fields of `RunOptions` by name."""
        return replace(self, options=replace(self.options, **changed))

    @property
    def names_machine(self) -> bool:
        """Whether a machine was given."""
        return self.options.names_machine

    def prepared_for(self, module: Module) -> Prepared:
        """What versions of the kernel are built from. UsageError where the profile is not the kernel's."""
        return self.prepared.of(module, self.kernel, self.profile, self.inline)


_OWN = frozenset(one.name for one in fields(Request))
