"""Variables of shared memory are laid over one another here, so that a block needs fewer bytes.

Needs a laid-out module, and where each variable goes; leaves another one, without control codes. As where they are
moved for pairs of blocks (`share`), a variable's distance goes into the offset of each access to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.sharing.units import Units
from binalloc.isa.instruction import Module
from binalloc.transform.sharing.share import share_memory


def overlay_memory(
    module: Module, memory: SharedMemory, units: Units, distances: Sequence[int], size: int
) -> Module:  # fmt: skip
    """Return the module with a kernel whose variables have moved, and which has `size` bytes of static shared memory.

    memory: of the kernel. distances: bytes by which each unit is moved. Dynamic memory is behind the static one, so it
    moves with its end.
    """
    moved = share_memory(module, memory, units, distances, (), beyond=size - memory.reach.size)
    kernel = memory.program.graph.kernel
    functions = [
        replace(fn, info=replace(fn.info, shared_bytes=size)) if fn.name == kernel else fn for fn in moved.functions
    ]
    return replace(moved, functions=functions)
