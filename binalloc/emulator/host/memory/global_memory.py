"""Global memory of a device has the module's variables, buffers and textures in one array, kept over all launches.

Needs a module, and contents by name. Leaves true: each placed object keeps its address, and the array has the only copy
of its words; pages of the array without objects cost no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from binalloc.emulator.host.memory.placing import Symbols, initial, place_textures, texture_row
from binalloc.emulator.host.runtime import HeapUse, Printed, Runtime
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.emulator.state.texture_layout import MAX_TEXTURES
from binalloc.errors import LimitHit, UsageError
from binalloc.isa.instruction import CONSTANTS_COPY, Module
from binalloc.isa.runtime import GRID, OWN, WORKSPACE
from binalloc.launch.file import variable_name
from binalloc.launch.numbers.dtypes import copied
from binalloc.launch.placing import BUFFER_ALIGN, BUFFER_GAP, place_buffers
from binalloc.launch.textures import upper_levels
from binalloc.launch.types import Argument, Launch

MOST_BYTES = 1 << 31
"""Upper limit of the array's size in bytes where buffers are added to it. It is far beyond what a sample needs, and
fits the memory of a usual host; chosen by hand."""


class GlobalMemory:
    """Global memory holds contents by name: buffers and symbols (`host`) and textures (`images`) as they were given.

    `addresses`: of all objects in global memory. `words`: uint32 from address `base` on. `rows`: the table of textures.
    `handles`: the rows' numbers, from 1 on. `images_at`, `image_bytes`: of textures, with their further levels.
    """

    def __init__(
        self, launch: Launch, module: Module, buffers: Mapping[str, Array], textures: Mapping[str, Array]
    ) -> None:
        self.module, self.host, self.images = module, dict(buffers), dict(textures)
        self.symbols = Symbols.of(launch, module, buffers)
        self.base = L.VARIABLE_BASE if module.globals else L.GLOBAL_BASE
        self.addresses, total = place_buffers(
            {k: v.nbytes for k, v in buffers.items() if k not in self.symbols.names}
        )
        self.addresses |= self.symbols.addresses
        self.runtime = Runtime.of(module, launch, L.GLOBAL_BASE + total)
        if self.runtime is not None:
            total = self.runtime.end - L.GLOBAL_BASE
        images = -(-(L.GLOBAL_BASE - self.base + total) // BUFFER_ALIGN) * BUFFER_ALIGN
        uppers = {k: upper_levels(launch.argument(k), v, launch.contents_of) for k, v in self.images.items()}
        self.image_bytes = {k: v.nbytes + sum(u.nbytes for u in uppers[k]) for k, v in self.images.items()}
        self.images_at, end = place_textures(self.image_bytes, images)
        self.rows: list[list[int]] = []
        self._readers: list[tuple[int, Argument]] = []
        self.handles: dict[str, int] = {}
        for argument in launch.handled:
            self._add_row(argument)
        self.end = end if buffers or textures or self.runtime is not None else L.GLOBAL_BASE - self.base
        self.words = np.zeros(-(-end // 4), "<u4")
        raw = self.words.view(np.uint8)
        for v in module.globals:
            at = v.address - self.base
            raw[at : at + len(v.data)] = np.frombuffer(v.data, np.uint8)
        for name in [*self.addresses, *self.images]:
            self._fill(name, self.images[name] if name in self.images else self.host[name])
        for name, upper in uppers.items():
            self._put_levels(name, upper)
        if self.runtime is not None:
            self.runtime.fill(raw, self.base)

    def begin(self, launch: Launch) -> None:
        """Prepare memory as the host does in front of each launch. Nothing is printed yet, a cooperative grid gets the
        place where it meets, and copies of constants get the present values of the constants."""
        raw = self.words.view(np.uint8)
        if self.runtime is not None:
            self.runtime.begin(raw, self.base)
        for v in self.module.globals:
            if v.name.startswith(CONSTANTS_COPY):
                first = initial(v, self.symbols.constants)
                raw[v.address - self.base :][: len(first)] = np.frombuffer(first, np.uint8)
            if v.name == GRID:
                at = v.address - self.base
                raw[at : at + v.size] = 0
                workspace = v.address + WORKSPACE if launch.cooperative else 0
                raw[at : at + WORKSPACE] = np.frombuffer(workspace.to_bytes(WORKSPACE, "little"), np.uint8)

    def view(self, name: str) -> Array:
        """Return the contents of a buffer, a texture or a variable that the launch names, in place. A variable in
        constant memory is returned as it is on the host."""
        if name not in self.addresses and name not in self.images:
            return self.host[name]
        data = self.images[name] if name in self.images else self.host[name]
        at = self.images_at[name] if name in self.images else self.addresses[name] - self.base
        return self.words.view(np.uint8)[at : at + data.nbytes].view(data.dtype).reshape(data.shape)

    def _fill(self, name: str, data: Array) -> None:
        """Put contents in place, with the bytes between the fields of structs."""
        self.view(name).reshape(-1).view(np.uint8)[:] = np.ascontiguousarray(data).reshape(-1).view(np.uint8)

    def add_buffer(self, name: str, data: Array) -> None:
        """Place a buffer behind all other objects."""
        at = self._room_for(data.nbytes)
        self.host[name], self.addresses[name] = data, self.base + at
        self._fill(name, data)

    def add_handle(self, argument: Argument) -> None:
        """Enter a surface, or a texture of another object's memory, which is already in place."""
        self._add_row(argument)

    def add_texture(self, argument: Argument, data: Array, contents_of: Callable[[Argument], Array]) -> None:
        """Place a texture behind all other objects. contents_of: as of `upper_levels`."""
        upper = upper_levels(argument, data, contents_of)
        size = data.nbytes + sum(u.nbytes for u in upper)
        at = self._room_for(size)
        self.images[argument.name], self.images_at[argument.name] = data, at
        self.image_bytes[argument.name] = size
        self._add_row(argument)
        self.view(argument.name)[...] = data
        self._put_levels(argument.name, upper)

    def _add_row(self, argument: Argument) -> None:
        """Enter a texture or surface, whose contents have their place, into the table."""
        if len(self.rows) == MAX_TEXTURES:
            raise UsageError(
                "too many textures and surfaces", found=len(self.rows) + 1, expected=f"at most {MAX_TEXTURES}"
            )
        name, texture = argument.name, argument.texture
        assert texture is not None
        if texture.array:
            self._readers.append((len(self.rows), argument))
        self.rows.append(texture_row(argument, self._texels_at(texture.array or name)))
        self.handles[name] = len(self.rows)

    def _texels_at(self, name: str) -> int:
        return self.images_at[name] if name in self.images_at else self.addresses[name] - self.base

    def swap(self, one: str, other: str) -> None:
        """Exchange the names of two buffers. Textures of either read the buffer that has the name now."""
        self.addresses[one], self.addresses[other] = self.addresses[other], self.addresses[one]
        for row, reader in self._readers:
            assert reader.texture is not None
            self.rows[row] = texture_row(reader, self._texels_at(reader.texture.array))

    def _put_levels(self, name: str, upper: list[Array]) -> None:
        """Put the further levels of a mipmap behind its first."""
        at, raw = self.images_at[name] + self.images[name].nbytes, self.words.view(np.uint8)
        for data in upper:
            raw[at : at + data.nbytes] = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
            at += data.nbytes

    def _room_for(self, size: int) -> int:
        """Return the offset of `size` bytes more, with the usual gap behind them."""
        at = -(-self.end // BUFFER_ALIGN) * BUFFER_ALIGN
        self.end = at + size + BUFFER_GAP
        wanted = -(-self.end // 4)
        if 4 * wanted > MOST_BYTES:
            raise LimitHit("the device's memory is full", found=f"{self.end} bytes", expected=f"at most {MOST_BYTES}")
        if wanted > len(self.words):
            words = np.zeros(max(wanted, min(2 * len(self.words), MOST_BYTES // 4)), "<u4")
            words[: len(self.words)] = self.words
            self.words = words
        return at

    def variable(self, name: str) -> bytes:
        """Return the bytes of a variable of the module. UsageError where it has no such variable."""
        for v in self.module.globals:
            if v.name == name:
                raw = self.words.view(np.uint8)
                return raw[v.address - self.base : v.address - self.base + v.size].tobytes()
        bank, offset, size = self._in_bank(name)
        return self.symbols.constants[bank][offset : offset + size]

    def set_variable(self, name: str, data: bytes) -> None:
        """Fill a variable of the module from its first byte on. UsageError where it has no such variable, or a smaller
        one."""
        size = len(self.variable(name))
        if len(data) > size:
            raise UsageError(
                "the variable is smaller", place=name, found=f"{len(data)} bytes", expected=f"at most {size}"
            )
        for v in self.module.globals:
            if v.name == name:
                at = v.address - self.base
                self.words.view(np.uint8)[at : at + len(data)] = np.frombuffer(data, np.uint8)
                return
        bank, offset, _ = self._in_bank(name)
        old = self.symbols.constants[bank]
        self.symbols.constants[bank] = old[:offset] + data + old[offset + len(data) :]

    def _in_bank(self, name: str) -> tuple[int, int, int]:
        """Return bank, offset and size of a variable in constant memory."""
        for c in self.module.constant_vars:
            if c.name == name:
                return c.bank, c.offset, c.size
        known = [v.name for v in self.module.globals] + [c.name for c in self.module.constant_vars]
        raise UsageError(
            "the binary has no such variable", file=self.module.path or None, found=name,
            expected=", ".join(known) or "a binary with variables",
        )  # fmt: skip

    def places(self) -> list[tuple[str, int, int]]:
        """Return (name, first address, address behind it) of every buffer, of the device runtime's parts and, as
        `.global NAME`, of every variable."""
        out = [(variable_name(v.name), v.address, v.address + v.size) for v in self.module.globals]
        buffers = {k: v for k, v in self.host.items() if k not in self.symbols.names}
        out += [(k, self.addresses[k], self.addresses[k] + v.nbytes) for k, v in buffers.items()]
        return out + [(name, *span) for name, span in (self.runtime.spans if self.runtime is not None else {}).items()]

    def contents(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return copies of the contents of buffers and symbols, and of the module's global variables."""
        buffers = {name: copied(self.view(name)) for name in self.host}
        raw = self.words.view(np.uint8)
        variables = {}
        for v in self.module.globals:
            if v.name in OWN:
                continue
            at = v.address - self.base
            kind = "<u4" if v.size % 4 == 0 and v.align % 4 == 0 else "<u1"
            variables[v.name] = raw[at : at + v.size].copy().view(kind)
        return buffers, variables

    def printed(self) -> Printed:
        """Return what printf has written in the last launch."""
        return Printed() if self.runtime is None else self.runtime.printed(self.words.view(np.uint8), self.base)

    def heap_use(self) -> HeapUse | None:
        """Return the use of the heap now; None where the module has no heap."""
        return None if self.runtime is None else self.runtime.heap_use(self.words.view(np.uint8), self.base)
