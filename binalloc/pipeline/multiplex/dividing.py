"""This module decides which bytes of shared memory blocks keep to themselves in CO-VTB and CO-HW.

Needs a laid-out module and a request with a launch. Either the user says it (`--split`), or the best cut is chosen:
what fits on an SM, and leaves the fewest accesses, weighted by loops, to the bytes that blocks use in turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.isa.instruction import Function, Module
from binalloc.launch.merged import Merge
from binalloc.models.allocation.windows import Weighted, Window, cheapest
from binalloc.models.machines.occupancy import shared_bytes_for_blocks
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import kernel_use

if TYPE_CHECKING:
    from binalloc.analysis.shared.memory import SharedMemory
    from binalloc.transform.multiplex.split import Split

Fits = Callable[[Window], bool]
"""Whether enough blocks fit on an SM if a window is public."""


@dataclass(frozen=True)
class DividedVariable:
    """A divided variable has private bytes, its first ones."""

    name: str
    private: int  #: so many bytes
    bytes: int  #: of the whole variable


def divided_variables(kernel: Function, private: int) -> tuple[DividedVariable, ...]:
    """Return the variables with private bytes, by address. private: all private bytes, as a bitset."""
    found = []
    for v in sorted(kernel.shared, key=lambda v: v.offset):
        inside = (private >> v.offset & (1 << v.size) - 1).bit_count()
        if inside:
            found.append(DividedVariable(v.name, inside, v.size))
    return tuple(found)


def private_of(
    module: Module, request: Request, splits: Sequence[Split], merge: int | None, over: int | None
) -> int:
    """Return the private bytes of a kernel, as a bitset.

    merge: virtual blocks of a merged block; None for blocks that get the public part as they run, of which `over` more
    are to fit than have static memory; None: one more. Raises UsageError for a wrong split, Refused if nothing fits.
    """
    from binalloc.analysis.shared.memory import shared_memory_of
    from binalloc.transform.multiplex.merged import with_one_copy
    from binalloc.transform.multiplex.split import private_bytes

    assert request.launch is not None
    memory = shared_memory_of(module, request.kernel, request.launch.block)
    if not memory.reach.accesses:
        raise Refused("no part of shared memory can be private", place=request.kernel,
                      found="no access to shared memory", expected="at least one",
            remedy="Leave this kernel as it is.")  # fmt: skip
    if splits:
        return private_bytes(memory, splits)
    if merge is not None:
        memory = with_one_copy(memory, 0)
        nothing = Window(memory.reach.size, memory.reach.size)
        return _chosen(memory, [nothing, *_windows(memory, _used(memory))], _fits_merged(memory, request, merge))
    return _chosen(memory, _windows(memory, _used(memory)), _fits_beside(memory, request, 1 if over is None else over))


def _chosen(memory: SharedMemory, those: Iterable[Window], fits: Fits) -> int:
    """Return the private bytes of the best window: of those that leave the fewest public accesses the one with the
    fewest words in access regions, then with the most private bytes."""
    from binalloc.analysis.shared.regions import access_regions
    from binalloc.transform.multiplex.parts import with_private

    kernel, used = memory.program.kernel, _used(memory)
    weights = [
        Weighted(a.may, kernel.loops.weight[kernel.cfg.block_of[a.place.word]])
        for a in memory.reach.accesses if a.may & used
    ]  # fmt: skip
    windows = [w for w in those if used & ~w.bytes and _can_be_compared(memory, w) and fits(w)]
    best = cheapest(weights, windows, used)
    if not best:
        raise Refused("no part of shared memory can be private", place=memory.program.graph.kernel,
                      found="no cut of it that leaves room for the copies", expected="a cut that fits on an SM",
                      remedy="Let blocks take turns in all of it, or choose another machine.")  # fmt: skip

    def cost(window: Window) -> tuple[int, int, Window]:
        private = used & ~window.bytes
        regions = access_regions(with_private(memory, private))
        return sum(end - first for r in regions for first, end in r.spans), -private.bit_count(), window

    return used & ~min(best, key=cost).bytes


def _used(memory: SharedMemory) -> int:
    """Return the bytes that accesses may touch and that are not common to all blocks, as a bitset."""
    found = 0
    for access in memory.reach.accesses:
        found |= access.may
    return found & ~memory.common.bytes & (1 << memory.reach.size) - 1


def _windows(memory: SharedMemory, used: int) -> Iterator[Window]:
    """Yield the windows that a cut can leave: they end with a variable, and begin within this one or one in front of
    it: at a multiple of 16 bytes, or where accesses begin or end."""
    from binalloc.transform.multiplex.parts import UNIT

    inside = (1 << memory.reach.size) - 1
    arrays = [(v.offset, v.offset + v.size) for v in memory.program.kernel.fn.shared]
    arrays = [a for a in arrays if Window(*a).bytes & used] or [((used & -used).bit_length() - 1, used.bit_length())]
    edges = {at for a in memory.reach.accesses if (may := a.may & inside) for at in _edges(may)}
    starts = {at for first, end in arrays for at in range(first, end, UNIT)}
    starts |= {at for at in edges if any(first <= at < end for first, end in arrays)}
    for end in sorted({end for _, end in arrays}):
        yield from (Window(first, end) for first in sorted(starts) if first < end)


def _edges(mask: int) -> tuple[int, int]:
    return (mask & -mask).bit_length() - 1, mask.bit_length()


def _can_be_compared(memory: SharedMemory, window: Window) -> bool:
    """Return whether each access is to one part, or can compare its address as it runs."""
    inside = (1 << memory.reach.size) - 1
    for access in memory.reach.accesses:
        may = access.may & inside
        if may & window.bytes and may & ~window.bytes:
            guard = memory.program.kernel.cfg.views[access.place.word].guard
            size = access.memory.size
            if access.memory.base is None or guard is not None or window.first % size or window.end % size:
                return False
    return True


def _fits_merged(memory: SharedMemory, request: Request, merge: int) -> Fits:
    """Return whether a merged block fits on an SM."""
    from binalloc.transform.multiplex.copies import merged_size, ranges_around

    assert request.launch is not None
    use = kernel_use(memory.program.kernel.fn, request.launch)
    threads = math.prod(Merge(merge, request.launch.block, 0).merged_block)
    room = shared_bytes_for_blocks(request.machine, replace(use.given(0), threads=threads), 1)
    used, size = _used(memory), memory.reach.size

    def fits(window: Window) -> bool:
        ranges = ranges_around(used & ~window.bytes, *window, size)
        return room is not None and merged_size(size, ranges, merge) <= room

    return fits


def _fits_beside(memory: SharedMemory, request: Request, more: int) -> Fits:
    """Return whether so many more blocks fit than with static memory, or as many as other limits allow."""
    from binalloc.emulator.host.resources import PublicPart, Resources, resident_blocks
    from binalloc.transform.multiplex.parts import Parts

    assert request.launch is not None
    launch, machine, size = request.launch, request.machine, memory.reach.size
    use = kernel_use(memory.program.kernel.fn, launch)
    most = machine.occupancy(replace(use, shared_bytes=0)).blocks_per_sm
    wanted = min(machine.occupancy(use).blocks_per_sm + more, most)

    def fits(window: Window) -> bool:
        parts = Parts.around(window.first, window.end, size)
        need = Resources(replace(use, shared_bytes=parts.private), 0, 0, PublicPart(parts.public, True))
        try:
            return resident_blocks(machine, need, launch, None) >= wanted
        except Refused:
            return False

    return fits
