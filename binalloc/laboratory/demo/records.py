"""The records of the demo: what became of a sample. They have no code, and travel between processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.pipeline.steps.row import Row


@dataclass(frozen=True)
class KernelDemo:
    """A sample of one launch, before and after."""

    sample: str
    kernel: str
    verified: bool  #: every version is proven, and leaves what the reference says
    rewritten: bool  #: something was faster than the input
    by_order_alone: bool  #: that is another order of it at its own number of blocks
    reason: str
    original: Row
    ordered: Row | None  #: the original in another order, where speedups are over that
    local: Row | None  #: with spills to local memory alone, at as many blocks as `best`
    best: Row
    speedup: float | None
    ordering: float | None  #: what order alone gains
    rescheduling: float | None
    parts: dict[str, float]  #: factors of the speedup
    unified: Row  #: what the unified paper's static policy would choose
    unified_keeps: bool  #: that is the original
    nearest: Row | None  #: the fastest level that did not beat the original
    levels: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class LaunchedKernel:
    """A kernel of a program, before and after."""

    kernel: str
    name: str  #: as its author wrote it
    kept_original: bool
    by_order_alone: bool
    reason: str
    original: Row
    rewritten: Row
    launches: tuple[int, int]  #: before and after
    cycles: tuple[int, int]  #: emulated, of all its launches
    speedup: float | None


@dataclass(frozen=True)
class ProgramDemo:
    """A sample of many launches, before and after."""

    sample: str
    verified: bool
    as_reference: bool  #: both runs left what the reference says
    differences: list[str]  #: between what both runs left and printed
    launches: tuple[int, int]  #: before and after
    cycles: tuple[int, int]  #: emulated, of all launches
    speedup: float | None
    rewritten: int  #: kernels whose values are placed anew
    reordered: int  #: kernels in another order alone
    kernels: list[LaunchedKernel]


@dataclass(frozen=True)
class UnrunSample:
    """A sample that was not run."""

    sample: str
    reason: str


@dataclass
class Demo:
    """All samples that have been run."""

    machine: str
    scheduler: str
    kernels: list[KernelDemo] = field(default_factory=list)
    programs: list[ProgramDemo] = field(default_factory=list)
    left_out: list[UnrunSample] = field(default_factory=list)
    partial: bool = False  #: it was interrupted

    def add(self, found: KernelDemo | ProgramDemo | UnrunSample) -> None:
        """Take a sample's record."""
        if isinstance(found, KernelDemo):
            self.kernels.append(found)
        elif isinstance(found, ProgramDemo):
            self.programs.append(found)
        else:
            self.left_out.append(found)

    @property
    def empty(self) -> bool:
        """Return whether no sample has been run."""
        return not (self.kernels or self.programs or self.left_out)

    @property
    def verified(self) -> bool:
        """Return whether all samples are verified."""
        return all(one.verified for one in self.kernels) and all(one.verified for one in self.programs)
