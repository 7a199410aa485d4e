"""Global memory of a device: the module's variables, buffers and textures in one array, kept over all launches.

Needs a module, and contents by name. Leaves true: what has been placed keeps its address, and its words are the only
copy there is; pages of the array that nothing lies on cost no memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from binalloc.emulator.host.placing import BUFFER_ALIGN, Symbols, place_buffers, place_textures, texture_row
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.errors import UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.file import variable_name
from binalloc.launch.types import Launch


class GlobalMemory:
    """Contents by name, buffers and symbols (`host`) and textures (`images`) as they were given; `addresses` of what
    lies in global memory; `words`, uint32 from `base` on; `rows` of the table of textures, by whose names handles count
    from 1."""

    def __init__(
        self, launch: Launch, module: Module, buffers: Mapping[str, Array], textures: Mapping[str, Array]
    ) -> None:
        self.module, self.host, self.images = module, dict(buffers), dict(textures)
        self.symbols = Symbols.of(launch, module, buffers)
        self.base = L.VARIABLE_BASE if module.globals else L.GLOBAL_BASE
        self.addresses, total = place_buffers({k: v for k, v in buffers.items() if k not in self.symbols.names})
        self.addresses |= self.symbols.addresses
        images = -(-(L.GLOBAL_BASE - self.base + total) // BUFFER_ALIGN) * BUFFER_ALIGN
        self.images_at, end = place_textures(self.images, images)
        if len(self.images_at) > L.MAX_TEXTURES:
            raise UsageError("too many textures", found=len(self.images_at), expected=f"at most {L.MAX_TEXTURES}")
        self.rows = [texture_row(launch.argument(name), at) for name, at in self.images_at.items()]
        self.words = np.zeros(-(-end // 4), "<u4")
        raw = self.words.view(np.uint8)
        for v in module.globals:
            at = v.address - self.base
            raw[at : at + len(v.data)] = np.frombuffer(v.data, np.uint8)
        for name in [*self.addresses, *self.images]:
            data = self.images[name] if name in self.images else self.host[name]
            self.view(name)[...] = data

    def view(self, name: str) -> Array:
        """What a buffer, a texture or a variable that the launch names holds, in place; one in constant memory as it
        is on the host."""
        if name not in self.addresses and name not in self.images:
            return self.host[name]
        data = self.images[name] if name in self.images else self.host[name]
        at = self.images_at[name] if name in self.images else self.addresses[name] - self.base
        return self.words.view(np.uint8)[at : at + data.nbytes].view(data.dtype).reshape(data.shape)

    def places(self) -> list[tuple[str, int, int]]:
        """(name, first address, address behind it) of every buffer and, as `.global NAME`, every variable."""
        out = [(variable_name(v.name), v.address, v.address + v.size) for v in self.module.globals]
        buffers = {k: v for k, v in self.host.items() if k not in self.symbols.names}
        return out + [(k, self.addresses[k], self.addresses[k] + v.nbytes) for k, v in buffers.items()]

    def contents(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Copies of what buffers and symbols hold, and the module's global variables."""
        buffers = {name: self.view(name).copy() for name in self.host}
        raw = self.words.view(np.uint8)
        variables = {}
        for v in self.module.globals:
            at = v.address - self.base
            kind = "<u4" if v.size % 4 == 0 and v.align % 4 == 0 else "<u1"
            variables[v.name] = raw[at : at + v.size].copy().view(kind)
        return buffers, variables
