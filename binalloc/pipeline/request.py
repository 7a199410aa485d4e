"""A request says what is wanted of a kernel. It also keeps the analyses that all versions of the kernel share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.pairs import OFF as NO_PAIRS
from binalloc.emulator.runs.options import RunOptions
from binalloc.isa.instruction import Module
from binalloc.models.allocation.stack.layouts import DEFAULT_LAYOUT
from binalloc.models.machines.model import Machine
from binalloc.models.search.unified import PRINTED, Reading
from binalloc.pipeline.block import Three
from binalloc.pipeline.profile import Profile, load_profile
from binalloc.pipeline.turns import OFF
from binalloc.transform.allocators.allocator import SOLVER_LIMIT
from binalloc.transform.allocators.table import DEFAULT as DEFAULT_ALLOCATOR
from binalloc.transform.rewrite.ways import NONE

if TYPE_CHECKING:
    from binalloc.analysis.flow.callgraph import CallGraph
    from binalloc.launch.file import Launch
    from binalloc.transform.rewrite.rewrite import Prepared

Progress = Callable[[str], None]
"""A function that is called with lines on how far a task is."""


def _silent(_: str) -> None:
    """Ignore progress."""


class _LaunchField:
    """This descriptor is a field that takes a launch, the path of a launch file, or None."""

    def __get__(self, request: object, owner: type | None = None) -> Launch | None:
        found: Launch | None = None if request is None else vars(request)["_launch"]
        return found

    def __set__(self, request: object, given: Launch | str | Path | None) -> None:
        if isinstance(given, str | Path):
            from binalloc.launch.file import load_launch

            given = load_launch(given)
        vars(request)["_launch"] = given


class _ProfileField:
    """This descriptor is a field that takes a profile, the path of a profile, or None."""

    def __get__(self, request: object, owner: type | None = None) -> Profile | None:
        found: Profile | None = None if request is None else vars(request)["_profile"]
        return found

    def __set__(self, request: object, given: Profile | str | Path | None) -> None:
        vars(request)["_profile"] = load_profile(given) if isinstance(given, str | Path) else given


class Preparations:
    """Preparations keep what is known of the kernel last asked for, since a policy builds many versions of one."""

    def __init__(self) -> None:
        self._module: Module | None = None
        self._graph: CallGraph | None = None
        self._last: Prepared | None = None
        self._asked: tuple[int, str, int, str] | None = None
        self._held: tuple[Module, Profile | None] | None = None  # kept alive, so that no other object gets their ids
        #: results of `steps.build_version`, a version or its refusal, by allocator, registers and slots; None if they
        #: are not kept (set an empty dictionary to keep them). Valid for requests that differ only in policy, reading
        #: and allocator.
        self.versions: dict[tuple[str, int, int], Any] | None = None
        self.estimates: Any = None  #: see `estimate.estimates_of`
        self.proven: list[Module] = []  #: modules that the checker has passed

    def graph(self, module: Module, kernel: str) -> CallGraph:
        """Return the kernel's call graph in the binary as it came; see `build_callgraph`."""
        from binalloc.analysis.flow.callgraph import build_callgraph

        if self._graph is None or self._module is not module or self._graph.kernel != kernel:
            self._module, self._graph = module, build_callgraph(module, kernel)
        return self._graph

    def of(self, module: Module, kernel: str, profile: Profile | None = None, inline: str = NONE) -> Prepared:
        """Return the result of `rewrite.prepare`. Raises UsageError if the profile is another kernel's."""
        from binalloc.transform.rewrite.rewrite import prepare

        last, asked = self._last, (id(module), kernel, id(profile), inline)
        if last is None or asked != self._asked:
            executions = None if profile is None else profile.executions(module, kernel)
            self._last = last = prepare(module, kernel, self.graph(module, kernel), executions, inline)
            self._asked, self._held = asked, (module, profile)
        return last


@dataclass(frozen=True, init=False)
class Request:
    """A request says what to do with a kernel, and how to run it."""

    kernel: str = ""
    """Name of the kernel; "" for the launch's, or for the binary's only one."""
    launch: _LaunchField = _LaunchField()
    """A launch or the path of its file (`load_launch` chooses among its sizes)."""
    options: RunOptions = field(default_factory=RunOptions)
    """How original and rewritten are run; its `progress` is not called, this record's is."""
    block: Three | None = None
    """Sides of a block if there is no launch."""
    registers: int | None = None
    """Explicit budget per thread. Without `registers`, `slots` and `blocks` the policy chooses."""
    slots: int | None = None
    """Explicit budget per thread."""
    blocks: int | None = None
    """Blocks per SM to aim at."""
    policy: str = "measured"
    """Name of the policy that chooses the number of blocks, a row of `policies.table`."""
    reading: Reading = PRINTED
    """For policy `unified`: how the unified paper is read where it leaves something open."""
    allocator: str = DEFAULT_ALLOCATOR
    """Name of the allocator."""
    emulate: bool = True
    """Whether original and rewritten are run, and their results compared."""
    progress: Progress = _silent
    """Is called with lines on how far the work is."""
    solver_limit: float = SOLVER_LIMIT
    """Deterministic solver time per function, about seconds, for allocators that have a solver."""
    layout: str = DEFAULT_LAYOUT
    """Layout of the slots of callers and callees (`models.allocation.stack.layouts`)."""
    explain: bool = False
    """Whether versions say why values left the registers (`Version.explained`)."""
    profile: _ProfileField = _ProfileField()
    """A profile or the path of one; without it, execution counts are estimated from loops."""
    inline: str = NONE
    """Which calls are inlined first (`rewrite.ways.WAYS`)."""
    multiplex: str = OFF
    """Which versions are tried, too, whose blocks use shared memory in turns: one of `turns.MULTIPLEX`. If there are
    any, the whole grid is run."""
    sharing: str = NO_PAIRS
    """Whether versions are tried, too, whose blocks share memory two by two: off; auto, for each number of pairs with
    the most private bytes; the share of a block's bytes that stays private; or PAIRS:BYTES."""
    block_order: str = OFF
    """Whether versions are tried, too, whose blocks work in another order on the launch's grid: off; auto, for a few
    orders that fit the grid; or an order, as `models.batches.order` writes it."""
    schedulers: tuple[str, ...] = ()
    """Warp schedulers under which these versions are run. Empty: `owf`; where levels are searched, the options' own,
    too."""
    sampled: bool = False
    """Whether only parts of large grids are run (`steps.sampling`)."""
    whole_gpu: bool = False
    """Whether an SM has at most the blocks at once that it would get of the grid on the whole GPU (`steps.grid`)."""
    prepared: Preparations = field(default_factory=Preparations, compare=False, repr=False)
    """The call graph and the analyses that all versions of the kernel are built from, kept after the first one."""

    def __init__(
        self,
        kernel: str = "",
        machine: Machine | str | Path | None = None,
        launch: Launch | str | Path | None = None,
        **given: Any,
    ) -> None:
        """Make a request from its fields, and from fields of its run options.

        machine: a model, its name or the path of its file, in place of the options' own. given: the other fields by
        name, and fields of `options` to change. Raises TypeError for other names.
        """
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
        """Return the machine that the kernel is rewritten for, and run on."""
        return self.options.machine

    def with_options(self, **changed: Any) -> Request:
        """Return the request with changed run options. changed: fields of `RunOptions` by name."""
        return replace(self, options=replace(self.options, **changed))

    @property
    def names_machine(self) -> bool:
        """Return whether a machine was given."""
        return self.options.names_machine

    def prepared_for(self, module: Module) -> Prepared:
        """Return what versions of the kernel are built from. Raises UsageError if the profile is another kernel's."""
        return self.prepared.of(module, self.kernel, self.profile, self.inline)


_OWN = frozenset(one.name for one in fields(Request))  # all other names are fields of `RunOptions`
