"""Barriers are put at the bounds of access regions here.

Needs the regions and an edit of the kernel; leaves the edit with the barriers. A barrier of the original directly
beside a bound goes, as the new one takes its place (multiplex paper, Figure 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory_of
from binalloc.analysis.shared.regions import Bound, Region, access_regions
from binalloc.errors import Refused
from binalloc.isa.instruction import Instr, Module, Origin
from binalloc.transform.multiplex.edit import Edit, Line, in_place


def put_at_bounds(edit: Edit, memory: SharedMemory, regions: list[Region], begin: Instr, end: Instr) -> None:
    """Insert a barrier at all begins of regions, and another at all ends. Where both are at one place the end is
    first."""
    for k, region in enumerate(regions):
        for bound in region.ends:
            _put(edit, memory, bound, Line(end, label=f"end {k} {bound}"), bound.word)
    for k, region in enumerate(regions):
        for bound in region.begins:
            _put(edit, memory, bound, Line(begin, label=f"begin {k} {bound}"), bound.word - 1)


def _put(edit: Edit, memory: SharedMemory, bound: Bound, line: Line, beside: int) -> None:
    cfg = memory.program.kernel.cfg
    edit.insert(bound.word, way_of(memory, bound), [line])
    near = bound.source is None and cfg.block_of[beside] == cfg.block_of[bound.word]
    if near and _replaceable(memory, beside):
        edit.removed.add(beside)


def way_of(memory: SharedMemory, bound: Bound) -> int | None:
    """Return the branch of the way on which a bound is, None for all ways."""
    return None if bound.source is None else memory.program.kernel.cfg.blocks[bound.source].end - 1


def _replaceable(memory: SharedMemory, word: int) -> bool:
    """Return whether a word is a plain barrier of all threads of the block that run."""
    kernel = memory.program.kernel
    for site in memory.barriers:
        if site.place == (kernel.name, word):
            return site.barrier.plain and kernel.cfg.views[word].guard is None
    return False


@dataclass
class Bounded:
    """A bounded module has plain barriers at the bounds of a kernel's access regions."""

    module: Module
    begins: frozenset[int]  #: words of the kernel with the barriers at begins
    ends: frozenset[int]


def bound_regions(module: Module, kernel: str, block: Three) -> Bounded:
    """Return the module with barriers at the bounds of a kernel's access regions. The multiplex paper inserts them to
    measure how long shared memory is used (section 3). Raises Refused if there is no region."""
    memory = shared_memory_of(module, kernel, block)
    regions = access_regions(memory)
    if not regions:
        raise Refused("shared memory is not used", place=kernel, found="no access region", expected="at least one",
                      remedy="Leave this kernel as it is.")  # fmt: skip
    edit, build = Edit(memory.program.kernel.fn), memory.program.isa.build
    put_at_bounds(edit, memory, regions, build.barrier(), build.barrier())
    fn, index = edit.done()
    made = replace(fn, info=replace(fn.info, machine=""), origin=Origin(kernel, index))
    places = [frozenset(w for label, w in edit.labels.items() if label.startswith(kind)) for kind in ("begin", "end")]
    return Bounded(in_place(module, made, index), *places)
