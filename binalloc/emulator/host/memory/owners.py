"""This module says which lines of memory belong to which object, so that DRAM's commands can be counted by object.

Buffers and textures have lines of their own. Variables may be smaller than a line: then one that several share belongs
to the first of them.
"""

from __future__ import annotations

from typing import NamedTuple

from binalloc.emulator.host.memory.global_memory import GlobalMemory
from binalloc.emulator.state.memory_layout import LINE_SHIFT
from binalloc.isa.instruction import Module
from binalloc.launch.comparison import variable_name

BUFFER, VARIABLE, RUNTIME, TEXTURE = "buffer", "variable", "runtime", "texture"
"""Kinds of objects in global memory."""


class HeldObject(NamedTuple):
    """An object in global memory has some lines, or none where others have all of its lines."""

    kind: str
    name: str
    first: int  #: its first line
    end: int  #: the line behind its last


def held_objects(memory: GlobalMemory) -> list[HeldObject]:
    """Return the objects in global memory, in the rising order of their addresses."""
    names = _kinds_by_place(memory.module, memory)
    spans = [(start, end, *names.get(place, (BUFFER, place))) for place, start, end in memory.places()]
    for name, at in memory.images_at.items():
        start = memory.base + at
        spans.append((start, start + memory.image_bytes[name], TEXTURE, name))
    found: list[HeldObject] = []
    free = 0
    for start, end, kind, name in sorted(spans):
        first = max(start >> LINE_SHIFT, free)
        free = max(end + (1 << LINE_SHIFT) - 1 >> LINE_SHIFT, first)
        found.append(HeldObject(kind, name, first, free))
    return found


def _kinds_by_place(module: Module, memory: GlobalMemory) -> dict[str, tuple[str, str]]:
    """Return kind and name of what is no buffer, by its name among the places of memory."""
    kinds = {variable_name(v.name): (VARIABLE, v.name) for v in module.globals}
    if memory.runtime is not None:
        kinds |= {name: (RUNTIME, name) for name in memory.runtime.spans}
    return kinds
