"""Variables of shared memory are moved here, and the instruction is inserted by which a thread releases what two blocks
share.

Needs a laid-out module, and where what goes; leaves another one, without control codes. After "Scratchpad Sharing in
GPUs", section 6. A variable's distance goes into the offset of each access to it, so values in registers, addresses
among them, are what they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.sharing.releases import Release
from binalloc.analysis.sharing.slot_rows import SlotPlaces
from binalloc.analysis.sharing.touching import unit_of
from binalloc.analysis.sharing.units import Units
from binalloc.isa.instruction import Function, Module, Origin, SharedVar
from binalloc.transform.multiplex.edit import Edit, in_place


def share_memory(
    module: Module, memory: SharedMemory, units: Units, distances: Sequence[int], places: Iterable[Release],
    slots: SlotPlaces | None = None, beyond: int = 0,
) -> Module:  # fmt: skip
    """Return the module with a kernel whose variables have moved, and which releases what is shared at some places.

    memory: of the kernel. distances: bytes by which each unit is moved. slots: numbers of slots, None where each has
    its own. beyond: like distances, of dynamic memory, which is behind the kernel's bytes. A function to which other
    kernels come, too, is changed for all of them.
    """
    offsets: dict[str, dict[int, int]] = {}
    for access in memory.reach.accesses:
        unit = unit_of(units, access)
        distance = distances[unit] if unit is not None else beyond if access.may >> memory.reach.size else 0
        if distance:
            offsets.setdefault(access.place.function, {})[access.place.word] = access.memory.offset + distance
    for name, words in (slots.distances() if slots is not None else {}).items():
        for word, distance in words.items():
            slot = memory.program[name].cfg.views[word].memory
            assert slot is not None
            offsets.setdefault(name, {})[word] = slot.offset + distance
    at: dict[str, list[Release]] = {}
    for place in places:
        at.setdefault(place.function, []).append(place)
    out = module
    for name in memory.program.functions:
        moved = any(distances) and bool(module.function(name).shared)
        if name in offsets or name in at or moved or name == memory.program.graph.kernel:
            made, index = _changed(memory, name, offsets.get(name, {}), at.get(name, []))
            variables = [_moved(units, distances, v) for v in made.shared]
            info = replace(made.info, machine="")
            made = replace(made, info=info, shared=variables, origin=Origin(name, index))
            out = in_place(out, made, index)
    return out


def _changed(
    memory: SharedMemory, name: str, offsets: dict[int, int], places: list[Release]
) -> tuple[Function, list[int]]:
    """Return a function with other offsets of accesses and with releases, and the old word of each new one."""
    cfg, isa = memory.program[name].cfg, memory.program.isa
    edit = Edit(cfg.fn)
    for word, offset in offsets.items():
        access = cfg.views[word].memory
        assert access is not None
        base = None if access.base is None else access.base.index
        edit.replaced[word] = isa.readdress(cfg.fn.instrs[word], base, offset)
    for place in places:
        source = None if place.source is None else cfg.blocks[place.source].end - 1
        code = isa.build.release_shared() if place.guard is None else isa.build.release_shared(place.guard)
        edit.insert(place.word, source, [code])
    return edit.done()


def _moved(units: Units, distances: Sequence[int], variable: SharedVar) -> SharedVar:
    """Return a variable at its new address."""
    for extent, distance in zip(units.extents, distances, strict=True):
        if extent.first <= variable.offset < extent.first + extent.size:
            return replace(variable, offset=variable.offset + distance)
    return variable
