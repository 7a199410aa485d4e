"""This module finds the original, against which speedups are measured: the input, or a faster order of its code.

A good compiler orders a kernel for latency at the number of blocks that it has. The input may not be ordered so: PTX
comes as nvcc wrote it, for another compiler to order. The gain of a better order must not be credited to a number of
blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.models.machines.occupancy import registers_for_blocks
from binalloc.pipeline.directives import obeyed
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.build import build_unproven, build_version
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.proof import prove
from binalloc.pipeline.steps.version import Version, make_version
from binalloc.printable import count
from binalloc.transform.allocators.table import BASELINE
from binalloc.transform.rewrite.ways import NONE


@dataclass(frozen=True)
class Original:
    """An original is the input and, possibly, the input in another order."""

    given: Version  #: the input (`baseline`)
    ordered: Version | None = None  #: the input in another order (`ordered_version`); None if not looked at, or none

    @property
    def base(self) -> Version:
        """Return the version that speedups are over: the faster of both, or the input if none was run."""
        runs = [v for v in (self.given, self.ordered) if v is not None and v.cycles is not None]
        return min(runs, key=lambda v: v.cycles or 0, default=self.given)


def baseline(module: Module, request: Request) -> Version:
    """Return the input as a version, with control codes set by the same pass as the rewritten ones.

    A kernel cannot run as it is if it asks for more registers than the machine gives a thread, or than one block of it
    can have. Its baseline is made by allocator `local` with the most registers that fit. The same holds for a kernel
    that asks for more registers than its own directives allow, as its compiler would spill then.
    """
    from binalloc.transform.schedule.schedule import schedule

    function = module.function(request.kernel)
    bound = obeyed(module, request).registers
    if bound is not None and bound < function.info.registers:
        most = registers_for_blocks(request.machine, kernel_use(function, request.launch, request.block).given(0), 1)
        return _allocated(module, request, min(bound, most or bound))
    try:
        reached = request.prepared.graph(module, request.kernel)
        return make_version(schedule(module, request.machine), request, reached.functions)
    except Refused:
        use = kernel_use(function, request.launch, request.block)
        most = registers_for_blocks(request.machine, use.given(0), 1)
        if most is None or most < 1 or most >= use.registers:
            raise
        return _allocated(module, request, most)


def _allocated(module: Module, request: Request, registers: int) -> Version:
    """Return the baseline of an input that has more than `registers` registers per thread, by allocator `local`."""
    version = build_version(module, request, registers, 0, BASELINE)
    return replace(version, allocated=BASELINE, name=f"the original, with {version.name}")


def ordered_version(module: Module, request: Request, given: Version) -> Version | None:
    """Return the input in another order of instructions, unproven; None if there is no such order.

    Allocator `local` makes it, with all registers that the input's own number of blocks leaves, and with no call
    inlined. There is none if the result is the input, or differs in more than order: in resident blocks, or in local
    memory. (The allocator may have lifted values from there into registers.)
    """
    if given.allocated:
        return None
    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    most = registers_for_blocks(request.machine, use.given(0), given.blocks_per_sm)
    if not most:
        return None
    asked = replace(request, explain=False)
    if request.inline != NONE:
        asked = replace(asked, inline=NONE, prepared=Preparations())
    try:
        version = build_unproven(module, asked, min(most, request.machine.limits.registers_per_thread), 0, BASELINE)
    except Refused:
        return None
    as_much = (version.blocks_per_sm, version.local_bytes) == (given.blocks_per_sm, given.local_bytes)
    same = [fn.instrs for fn in version.functions] == [fn.instrs for fn in given.functions]
    return replace(version, name="the original, in another order") if as_much and not same else None


def run_original(module: Module, request: Request, given: Version) -> Original:
    """Run the input and its other order. An order that leaves other results than the input is dropped."""
    request.progress(f"{request.kernel}: original, {count(given.blocks_per_sm, 'block')} per SM")
    given = measure(given, request)
    ordered = ordered_version(module, request, given)
    if ordered is None:
        return Original(given)
    request.progress(f"{request.kernel}: original in another order")
    try:
        ordered = measure(prove(module, request, ordered), request)
    except Refused:
        return Original(given)
    return Original(given, None if same_results(request, given, ordered) is False else ordered)
