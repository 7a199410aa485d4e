"""Dead code: nodes whose results nobody reads, and that do nothing else.

A load is dead without readers too (but not a volatile one): leaving it out can only leave out a fault.
"""

from __future__ import annotations

from binalloc.frontend.ir import Node, Routine, indices
from binalloc.isa.kinds import Access
from binalloc.isa.table.opcodes import CACHE_OPS

_VOLATILE = CACHE_OPS.index("CV")


def removable(node: Node) -> bool:
    """Whether a node has no effect but its results."""
    view = node.view
    if node.callee or view.control or view.convergent:
        return False
    if view.memory is not None:
        return view.memory.access == Access.LOAD and node.instr.f.get("cache") != _VOLATILE
    return True


def remove_dead(routine: Routine) -> None:
    """Remove dead nodes of `routine`, those that fed only them included. Linear: marks what is needed, from effects."""
    writers: dict[int, list[Node]] = {}
    reads: dict[int, list[int]] = {}
    needed: list[Node] = []
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
