"""The demo has a record for each sample. Records have no code, so they can be sent between processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.pipeline.steps.row import Row


@dataclass(frozen=True)
class KernelDemo:
    """A KernelDemo is a sample of one launch, before and after."""

    sample: str
    kernel: str
    verified: bool  #: every version is proven, and its results equal the reference
    rewritten: bool  #: a version is faster than the input
    by_order_alone: bool  #: that version is the input in another order, at the same number of blocks
    reason: str  #: for the policy's choice
    original: Row
    ordered: Row | None  #: the original in another order, if speedups are over that
    local: Row | None  #: with spills only to local memory, at as many blocks as `best`
    best: Row
    speedup: float | None
    ordering: float | None  #: speedup of the other order alone
    rescheduling: float | None  #: speedup of the original's new control codes, over the input as it came
    parts: dict[str, float]  #: factors of the speedup
    unified: Row  #: choice of the unified paper's static policy
    unified_keeps: bool  #: that choice is the original
    nearest: Row | None  #: the fastest other level, if none beat the original
    levels: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class LaunchedKernel:
    """A LaunchedKernel is a kernel of a program, before and after."""

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
    """A ProgramDemo is a sample of many launches, before and after."""

    sample: str
    verified: bool  #: every rewritten kernel is proven, and both runs agree with each other and with the reference
    as_reference: bool  #: the results of both runs equal the reference
    differences: list[str]  #: between the two runs, in their buffers and in their printed text
    launches: tuple[int, int]  #: before and after
    cycles: tuple[int, int]  #: emulated, of all launches
    speedup: float | None
    rewritten: int  #: number of kernels with other places for values
    reordered: int  #: number of kernels that only have another order
    kernels: list[LaunchedKernel]


@dataclass(frozen=True)
class UnrunSample:
    """An UnrunSample is a sample that was left out."""

    sample: str
    reason: str


@dataclass
class Demo:
    """A Demo has the records of all samples so far."""

    machine: str
    scheduler: str
    kernels: list[KernelDemo] = field(default_factory=list)
    programs: list[ProgramDemo] = field(default_factory=list)
    left_out: list[UnrunSample] = field(default_factory=list)
    partial: bool = False  #: it was interrupted

    def add(self, found: KernelDemo | ProgramDemo | UnrunSample) -> None:
        """Add a sample's record."""
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
