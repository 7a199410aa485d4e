"""This module removes dead code: nodes without effects whose results are never read.

A load without readers is dead, too, unless it is volatile: its removal can only remove a fault.
"""

from __future__ import annotations

from binalloc.frontend.ir import Routine, VirtualNode, indices
from binalloc.isa.kinds import Access
from binalloc.isa.table.opcodes import CACHE_OPS

_VOLATILE = CACHE_OPS.index("CV")  # PTX's volatile loads have this cache operator


def removable(node: VirtualNode) -> bool:
    """Return whether a node has no effect but its results."""
    view = node.view
    if node.callee or view.control or view.convergent:
        return False
    if view.memory is not None:
        return view.memory.access == Access.LOAD and node.instr.f.get("cache") != _VOLATILE
    return True


def remove_dead(routine: Routine) -> None:
    """Remove the dead nodes of `routine`, and the nodes whose results only they read.

    It marks the needed nodes, beginning from the effects, in linear time.
    """
    writers: dict[int, list[VirtualNode]] = {}
    reads: dict[int, list[int]] = {}
    needed: list[VirtualNode] = []
    marked: set[int] = set()
    for node in routine.nodes():
        defined, reads[id(node)] = indices(routine, node)
        for index in defined:
            writers.setdefault(index, []).append(node)
        if not removable(node):
            needed.append(node)
            marked.add(id(node))
    while needed:
        for index in reads[id(needed.pop())]:
            for writer in writers.pop(index, ()):
                if id(writer) not in marked:
                    marked.add(id(writer))
                    needed.append(writer)
    for block in routine.blocks:
        block.nodes = [node for node in block.nodes if id(node) in marked]
