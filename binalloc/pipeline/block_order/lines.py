"""This module profiles which block touches which sector of memory, and says which orders of blocks are worth a run.

Needs a version scheduled for the machine, and a launch. Leaves true: the profile is that of a run of the whole grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import LimitHit
from binalloc.models.batches.reuse import Reuse, sampled
from binalloc.models.batches.suggested import Suggestion, suggested
from binalloc.models.machines.unloaded import SECTOR_BYTES
from binalloc.pipeline.batches.recorder import LINE, PageRecorder
from binalloc.pipeline.running.run import run_kernel

if TYPE_CHECKING:
    from binalloc.isa.instruction import Function, Module
    from binalloc.launch.types import Launch
    from binalloc.models.batches.touches import PageTouches
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Version

MOST_LINES = 1 << 15
"""About so many lines are looked at: a sample of 32,768 errs by less than 1 % in a share."""
MOST_PAIRS = 1 << 20
"""Pairs of sector and block from which an order is estimated: more take more than a tenth of a second for each."""


@dataclass(frozen=True)
class LineProfile:
    """A profile says which block touches which sector of a sample of lines."""

    sectors: PageTouches
    bits: int  #: the sample is one line in 2^bits


def profiled_lines(version: Version, request: Request) -> LineProfile:
    """Return the profile of a version's launch, of a run on one SM, which is the fastest: what blocks touch does not
    hang on how many run at one time. Raises LimitHit, KernelFault and Interrupted for a run that is stopped,
    and LimitHit for too many touches."""
    recorders: list[PageRecorder] = []

    def make(_: Module, __: Function, launch: Launch) -> PageRecorder:
        recorders.append(PageRecorder(math.prod(launch.grid), SECTOR_BYTES, MOST_LINES))
        return recorders[-1]

    options = request.options
    limit = None if options.max_cycles is None else options.max_cycles * options.sms
    usual = RunOptions(options.machine, engine=options.engine, max_cycles=limit)
    assert request.launch is not None
    run = run_kernel(
        version.module, request.kernel, request.launch, usual, progress=request.progress, recorder=make
    )  # fmt: skip
    if run.ended is not None:
        raise run.ended
    (recorder,) = recorders
    return _smaller(LineProfile(recorder.touches(), recorder.bits))


def _smaller(found: LineProfile) -> LineProfile:
    """Return the profile of a smaller sample, if there are too many pairs."""
    pairs = len(found.sectors.pages)
    if pairs <= MOST_PAIRS:
        return found
    bits = found.bits + (pairs // MOST_PAIRS).bit_length()
    kept = sampled(found.sectors.pages * SECTOR_BYTES // LINE, bits)
    if not kept.any():
        return found
    less = replace(found.sectors, pages=found.sectors.pages[kept], numbers=found.sectors.numbers[kept])
    return LineProfile(less, bits)


def worth_a_run(
    found: LineProfile, grid: tuple[int, int, int], machine: Machine, emulated: int, blocks_per_sm: int
) -> Suggestion:
    """Return the orders that are worth a run on so many SMs of a machine, with so many resident blocks each."""
    l2, sms = machine.l2, machine.chip.sms
    held = l2.bytes / LINE * min(emulated / sms, 1) / (1 << found.bits) if l2.caches_data else 0.0
    reuse = Reuse(found.sectors, LINE // SECTOR_BYTES, held, emulated * blocks_per_sm)
    return suggested(reuse, grid, sms, emulated == sms and machine.l1.caches_global)


def asked_lines(version: Version, request: Request) -> Suggestion | str:
    """Return the orders that are worth a run of a version's launch, or why its lines could not be profiled."""
    assert request.launch is not None
    request.progress(f"{request.kernel}: the lines that its blocks touch")
    try:
        found = profiled_lines(version, request)
    except LimitHit as error:
        return error.message
    return worth_a_run(found, request.launch.grid, request.machine, request.options.sms, version.blocks_per_sm)
