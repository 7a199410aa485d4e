"""This module merges the blocks of a kernel: its virtual blocks use the shared memory of one block, one after another.

Needs a laid-out module; leaves another, in front of allocation. How the virtual blocks are kept apart is up to their
*order*: in TURNS (`orders/turns.py`), PIPED (`orders/pipe.py`), or with the turn HANDED on at named barriers
(`orders/handing.py`). In CO-VTB (multiplex paper, section 4.3, Figure 6) each virtual block has a copy of the private
bytes, and regions are those of the other bytes alone (`copies.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory_of
from binalloc.analysis.shared.regions import Region, access_regions
from binalloc.errors import Refused
from binalloc.isa.instruction import Module, Origin
from binalloc.launch.merged import Merge
from binalloc.transform.multiplex.copies import Copies, copies_of
from binalloc.transform.multiplex.edit import in_place, untouched
from binalloc.transform.multiplex.merge import require_mergeable
from binalloc.transform.multiplex.moving import require_known
from binalloc.transform.multiplex.orders.handing import Handing
from binalloc.transform.multiplex.orders.pipe import Pipe
from binalloc.transform.multiplex.orders.turns import Turns
from binalloc.transform.multiplex.orders.virtual_blocks import VirtualBlocks
from binalloc.transform.multiplex.parts import with_private
from binalloc.transform.multiplex.public import require_plain

TURNS, PIPED, HANDED = "turns", "pipe", "handed"
"""Orders of virtual blocks."""
_ORDERS: dict[str, type[VirtualBlocks]] = {TURNS: Turns, PIPED: Pipe, HANDED: Handing}


@dataclass
class Merged:
    """A merged module has a kernel whose blocks are several of the original's."""

    module: Module
    merge: Merge
    regions: list[Region]  #: the kernel's access regions, in words of the original
    copies: Copies  #: of the private bytes


def merge_blocks(
    module: Module, kernel: str, block: Three, count: int, axis: int = 0, private: int = 0, order: str = TURNS,
    votes: bool = True,
) -> Merged:  # fmt: skip
    """Return the module with `count` blocks of a kernel merged into one, which are in order in its access regions.

    block: threads of the original's block. axis: of the grid, along which neighbours are merged. private: bytes of
    which each virtual block has a copy, as a bitset. votes: the machine has barriers that say whether any thread has
    given "true". Raises Refused where the kernel cannot be merged, with the place.
    """
    require_plain(module, kernel)
    merge = Merge(count, block, axis)
    known = shared_memory_of(module, kernel, block)
    require_mergeable(known.program, merge)
    memory = with_one_copy(known, private)
    copies = Copies(memory, [], count)
    if private:
        require_known(memory)
        copies = copies_of(memory, count)
        memory = copies.memory
    regions = access_regions(memory)
    if not regions and not private:
        raise Refused("no block waits for shared memory", place=kernel, found="no access region",
                      expected="at least one", remedy="Look at the kernel's view of shared memory.")  # fmt: skip
    work = _ORDERS[order](memory, regions, merge, copies, votes)
    fn, index = work.run()
    info = replace(work.merging.info(fn.info), shared_bytes=copies.size)
    info = replace(info, registers=max(info.registers, work.next))
    made = replace(fn, info=info, shared=copies.variables(fn.shared), origin=Origin(kernel, index))
    return Merged(in_place(untouched(module), replace(made, touches={}), index), merge, regions, copies)


def with_one_copy(memory: SharedMemory, private: int) -> SharedMemory:
    """Return the shared memory with those common bytes alone of which the first virtual block's copy serves all. Where
    some bytes are private, the other common ones are private, too."""
    guarded = 0
    for access in memory.reach.accesses:
        if access.place in memory.common.stores:
            seen = memory.program.kernel.cfg.views[access.place.word]
            guarded |= access.may if seen.guard is not None else 0
    common = memory.common.only(memory.common.settled & ~guarded)
    return with_private(replace(memory, common=common), private and private | memory.common.bytes & ~common.bytes)
