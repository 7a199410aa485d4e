"""This module lets a kernel's blocks get their shared memory as they run (multiplex paper, section 5: HW and CO-HW).

Needs a laid-out module; leaves another, in front of allocation. Every access region begins with BAR.ALLOC and ends with
BAR.FREE. Each takes the place of a barrier of the original beside it, as in Figure 8. Accesses to the public part go to
where BAR.ALLOC says; the private part keeps only the room that it needs. HW has nothing but common bytes in it, CO-HW
also bytes that were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory_of
from binalloc.analysis.shared.regions import Region
from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import Module, Origin
from binalloc.isa.kinds import Flow
from binalloc.transform.multiplex.bounds import put_at_bounds
from binalloc.transform.multiplex.edit import Edit, in_place, untouched
from binalloc.transform.multiplex.free import unused_register
from binalloc.transform.multiplex.moving import Moving, Stretch, require_known
from binalloc.transform.multiplex.parts import Parts, divide, with_private


@dataclass
class Multiplexed:
    """A multiplexed module lets blocks of one kernel share memory in turns."""

    module: Module
    regions: list[Region]  #: the kernel's access regions, in words of the original
    parts: Parts


def get_as_they_run(module: Module, kernel: str, block: Three, private: int = 0) -> Multiplexed:
    """Return the module with a kernel whose blocks get their shared memory as they run.

    block: threads of a block along each axis. private: bytes that a block keeps, as a bitset. Raises Refused if the
    kernel has no access region, if an address may leave shared memory, or if registers do not suffice.
    """
    require_plain(module, kernel)
    memory, regions, parts = divide(with_private(shared_memory_of(module, kernel, block), private))
    if parts is None:
        raise _nothing_in_turns(memory, kernel)
    require_known(memory)
    program = memory.program
    base, edit, build = unused_register(program), Edit(program.kernel.fn), program.isa.build
    put_at_bounds(edit, memory, regions, build.hold_shared(base, parts.public), build.free_shared(base))
    moving = _moving(memory, regions, parts, base, edit)
    moving.run()
    fn, index = edit.done()
    info = replace(fn.info, shared_bytes=parts.private, registers=max(fn.info.registers, moving.next), machine="")
    moved = [
        replace(v, offset=parts.private_address(v.offset))
        for v in fn.shared if v.offset + v.size <= parts.first or parts.high <= v.offset
    ]  # fmt: skip
    variables = [v for v in moved if v.offset >= 0 and v.offset + v.size <= parts.private]
    made = replace(fn, info=info, shared=variables, origin=Origin(kernel, index))
    return Multiplexed(in_place(untouched(module), replace(made, touches={}), index), regions, parts)


def _nothing_in_turns(memory: SharedMemory, kernel: str) -> Refused:
    """Return the refusal of a kernel without an access region. Raises it, if an access cannot be to a private part."""
    if memory.private:
        require_known(memory)
        return Refused("no block waits for shared memory", place=kernel, found="all accesses in the private part",
                       expected="some in the public one",
                       remedy=Hint("Make less of it private, or choose {scheme} hw."))  # fmt: skip
    return Refused("no block waits for shared memory", place=kernel, found="no region that stores to it",
                   expected="at least one access region",
                   remedy="Look at the kernel's view of shared memory.")  # fmt: skip


def _moving(memory: SharedMemory, regions: list[Region], parts: Parts, base: int, edit: Edit) -> Moving:
    """Return the pass that gives accesses their addresses. base: register with what BAR.ALLOC gave."""
    public = Stretch(parts.first, parts.high, base, -parts.low)
    stretches = [Stretch(0, parts.first, None, 0), public, Stretch(parts.high, None, None, -parts.moved)]
    matters = memory.kept & (1 << parts.size) - 1 | (1 << parts.high) - (1 << parts.first)
    changes = [bound.word for region in regions for bound in region.begins]
    return Moving(memory, edit, stretches, base + 1, matters=matters, usual=public, changes=changes)


def require_plain(module: Module, kernel: str) -> None:
    """Refuse a kernel that already has slots, or shared memory that its blocks get as they run."""
    fn = module.function(kernel)
    if fn.info.slots:
        raise Refused("the kernel has slots in shared memory already", place=kernel,
                      found=f"{fn.info.slots} slots per thread", expected="none",
                      remedy="Multiplex the kernel first, then rewrite it.")  # fmt: skip
    for word, instr in enumerate(fn.instrs):
        if instr.control in (Flow.ALLOC, Flow.FREE):
            raise Refused("the kernel's blocks get shared memory as they run already", place=f"{kernel}+{word}",
                          found=instr.name, expected="static shared memory",
                          remedy="Multiplex the original.")  # fmt: skip
