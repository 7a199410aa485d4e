"""Dead code: nodes whose results nobody reads, and that do nothing else.

A load is dead without readers too (but not a volatile one): leaving it out can only leave out a fault.
"""

from __future__ import annotations

from binalloc.frontend.ir import FIRST_REGISTER, RZ, Node, Routine
from binalloc.isa.opcodes import CACHE_OPS

_VOLATILE = CACHE_OPS.index("CV")


def removable(node: Node) -> bool:
    """Whether a node has no effect but its results."""
    view = node.view
    if node.callee or view.control or view.convergent:
        return False
    if view.memory is not None:
        return view.memory.access == "load" and node.instr.f.get("cache") != _VOLATILE
    return True


def remove_dead(routine: Routine) -> None:
    """Remove dead nodes of `routine`, those that fed only them included. Linear: marks what is needed, from effects."""
    units = len(routine.registers.base)
    shift = units - 8
    writers: dict[int, list[Node]] = {}
    needed: list[Node] = []
    marked: set[int] = set()
    everything = routine.nodes()
    for node in everything:
        for ref in node.view.defs:
            first = ref.index - FIRST_REGISTER if ref.file == "R" else ref.index + shift
            for index in range(first, first + ref.units):
                writers.setdefault(index, []).append(node)
        for unit in node.results:
            if unit != RZ:
                writers.setdefault(unit - FIRST_REGISTER, []).append(node)
        if not removable(node):
            needed.append(node)
            marked.add(id(node))
    while needed:
        node = needed.pop()
        for index in _reads(routine, node, shift):
            for writer in writers.pop(index, ()):
                if id(writer) not in marked:
                    marked.add(id(writer))
                    needed.append(writer)
    for block in routine.blocks:
        block.nodes = [node for node in block.nodes if id(node) in marked]


def _reads(routine: Routine, node: Node, shift: int) -> list[int]:
    view = node.view
    out: list[int] = []
    for ref in view.uses:
        first = ref.index - FIRST_REGISTER if ref.file == "R" else ref.index + shift
        out += range(first, first + ref.units)
    if view.guard is not None:
        out.append(view.guard[0] + shift)
    if node.callee:
        out += [u - FIRST_REGISTER for u in node.args if u != RZ]
    elif view.control == "return":
        out += [u - FIRST_REGISTER for u in routine.results]
    return out
