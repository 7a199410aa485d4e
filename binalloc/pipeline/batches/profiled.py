"""This module profiles a kernel by an emulated run, and finds the batches of its blocks.

Needs a module scheduled for the machine. Leaves true: the profile is that of a run that came to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from binalloc.errors import BinallocError, Hint, UsageError
from binalloc.models.batches.fit import Fit, fit
from binalloc.models.batches.resident import ResidentPages, Windows
from binalloc.pipeline.batches.recorder import LARGEST, SMALLEST, PageRecorder
from binalloc.pipeline.request import Progress
from binalloc.pipeline.running.program import run_step
from binalloc.pipeline.running.run import KernelRun, MakeRecorder, run_kernel

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Function, Module
    from binalloc.launch.program.types import Program
    from binalloc.launch.types import Launch
    from binalloc.models.batches.formula import BatchFormula
    from binalloc.models.batches.touches import PageTouches

TLB_BYTES = (SMALLEST, 64 << 10, LARGEST)  # pages that are counted: what GPUs and CPUs of today have


def _silent(_: str) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class BufferPages:
    """A buffer has so many pages that the kernel touches."""

    name: str
    bytes: int  #: its size
    pages: int  #: of the kernel
    resident: ResidentPages  #: of the resident blocks of an SM


@dataclass(frozen=True)
class PageCounts:
    """These counts are for one size of pages."""

    page_bytes: int
    pages: int  #: of the kernel
    resident: ResidentPages  #: of the resident blocks of an SM
    buffers: list[BufferPages]  #: those that the kernel touches, in order of addresses


@dataclass(frozen=True)
class BatchProfile:
    """A profile says which block touches which page, and which formula the batches have."""

    run: KernelRun
    page_bytes: int  #: of the pages of `touches`
    small: PageTouches  #: pairs of a page of the smallest size and a block
    touches: PageTouches  #: pairs of a page and a block
    fit: Fit
    buffers: list[tuple[str, int]]  #: name and bytes of each buffer, in order of addresses
    first_pages: list[int]  #: number of each buffer's first page, of the smallest size
    inputs_alone: bool  #: whether other contents of memory may give other pages
    left_out: list[str]  #: memory that the kernel accesses, and whose pages are not counted

    @property
    def formula(self) -> BatchFormula:
        """Return the formula of the batches."""
        return self.fit.formula

    @property
    def grid(self) -> tuple[int, int, int]:
        """Return the blocks of the grid along x, y and z."""
        return self.run.launch.grid

    @property
    def blocks_per_sm(self) -> int:
        """Return the most resident blocks of an SM, by the machine's occupancy."""
        return self.run.result.blocks_per_sm

    @cached_property
    def counts(self) -> list[PageCounts]:
        """Return the counts for pages of each size."""
        return [self._counts(size) for size in TLB_BYTES]

    def _counts(self, size: int) -> PageCounts:
        import numpy as np

        times = size // SMALLEST
        touches = self.small.coarser(times)
        windows = Windows(touches, self.run.options.machine.chip.sms, self.blocks_per_sm)
        firsts = np.array([*self.first_pages, np.iinfo(np.int64).max // LARGEST], np.int64) // times
        counted = []
        for (name, length), first, end in zip(self.buffers, firsts, firsts[1:], strict=False):
            own = (touches.pages >= first) & (touches.pages < end)
            if own.any():
                pages = int(np.count_nonzero(own[touches.begins]))
                counted.append(BufferPages(name, length, pages, windows.pages(own)))
        return PageCounts(size, len(touches.begins), windows.pages(), counted)


def profiled_batches(
    module: Module,
    kernel: str | None,
    launch: Launch,
    options: RunOptions,
    page_bytes: int = SMALLEST,
    *,
    progress: Progress = _silent,
) -> BatchProfile:
    """Run a kernel (default: the launch's), and return its batches.

    options: with the machine. page_bytes: a power of two from 4 KB to 2 MB. Raises UsageError for other pages, what
    `run_kernel` raises, and LimitHit or Interrupted for a run that is stopped.
    """
    require_page_bytes(page_bytes)

    def run(asked: RunOptions, recorder: MakeRecorder) -> KernelRun:
        return run_kernel(module, kernel, launch, asked, progress=progress, recorder=recorder)

    return _profiled(run, options, page_bytes)


def profiled_step(
    module: Module,
    program: Program,
    options: RunOptions,
    step: int,
    page_bytes: int = SMALLEST,
    *,
    progress: Progress = _silent,
) -> BatchProfile:
    """Run a program up to its launch of number `step`, and return the batches of that one. Raises as
    `profiled_batches` does, and UsageError if the program has no such launch."""
    require_page_bytes(page_bytes)

    def run(asked: RunOptions, recorder: MakeRecorder) -> KernelRun:
        return run_step(module, program, asked, step, progress=progress, recorder=recorder)

    return _profiled(run, options, page_bytes)


def require_page_bytes(page_bytes: int) -> None:
    """Raise UsageError if pages cannot have this size."""
    if not SMALLEST <= page_bytes <= LARGEST or page_bytes & (page_bytes - 1):
        raise UsageError(
            "no size of pages", place=Hint("{page_bytes}"), found=page_bytes,
            expected=f"a power of two from {SMALLEST} to {LARGEST}",
        )  # fmt: skip


def _profiled(
    run: Callable[[RunOptions, MakeRecorder], KernelRun], options: RunOptions, page_bytes: int
) -> BatchProfile:
    """Return the batches of a run. run: runs with options and a recorder."""
    recorders: list[PageRecorder] = []

    def make(_: Module, __: Function, launch: Launch) -> PageRecorder:
        recorders.append(PageRecorder(prod(launch.grid)))
        return recorders[-1]

    done = run(replace(options, skews=0, every=None, profile=False), make)
    if done.ended is not None:
        raise done.ended
    (recorder,) = recorders
    small = recorder.touches()
    touches = small.coarser(page_bytes // SMALLEST)
    found = fit(touches, done.launch.grid[0])
    buffers = [(name, end - start) for name, start, end in recorder.buffers]
    firsts = recorder.first_pages.tolist()
    return BatchProfile(
        done, page_bytes, small, touches, found, buffers, firsts, _hangs(done), _left_out(done.module, done.function)
    )  # fmt: skip


def _hangs(done: KernelRun) -> bool:
    """Return whether other contents of memory may give other pages."""
    from binalloc.analysis.loaded import places_hang_on_memory
    from binalloc.analysis.program import analyse

    try:
        return places_hang_on_memory(analyse(done.module, done.function.name, recursive=True))
    except BinallocError:  # an indirect call: nobody knows what is called
        return True


def _left_out(module: Module, function: Function) -> list[str]:
    """Return the memories that a kernel accesses, and whose pages are not counted."""
    from binalloc.isa.kinds import Space
    from binalloc.isa.sets.table import view

    accesses = [view(instr).memory for fn in module.reached(function) for instr in fn.instrs]
    spaces = {memory.space for memory in accesses if memory is not None}
    return [str(space) for space in (Space.TEXTURE, Space.LOCAL) if space in spaces]
