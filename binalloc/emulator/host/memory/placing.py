"""Buffers, textures and the launch's contents of variables are placed in the memories here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.emulator.state.texture_layout import TEXEL_KINDS, TEXTURE_COLUMNS, Handle, Outside, TextureColumn
from binalloc.errors import UsageError
from binalloc.isa.instruction import CONSTANTS_COPY, Function, GlobalVar, Module
from binalloc.launch.placing import BUFFER_ALIGN, FIRST_BUFFER
from binalloc.launch.sampling import AddressMode, TextureFilter, TextureLayers, TextureRead
from binalloc.launch.types import Argument, ArgumentKind, Launch

assert FIRST_BUFFER == L.GLOBAL_BASE  # device code has it as a constant of its own


@dataclass
class Symbols:
    """Symbols are the variables of the binary that the launch fills."""

    names: set[str]  #: names of the launch's symbol arguments
    addresses: dict[str, int]  #: of those variables that are in global memory
    constants: dict[int, bytes]  #: the binary's constant banks, with the contents of the other variables in place
    in_bank: dict[str, tuple[int, int]]  #: (bank, offset) of each of the other variables

    @staticmethod
    def of(launch: Launch, module: Module, contents: Mapping[str, Array]) -> Symbols:
        """Find the variables of a launch. Raises UsageError for a variable that is not in the binary, or is smaller
        than its contents."""
        found = Symbols(set(), {}, dict(module.constants), {})
        in_global = {v.name: v for v in module.globals}
        in_bank = {c.name: c for c in module.constant_vars}
        for a in launch.arguments:
            if a.kind != ArgumentKind.SYMBOL:
                continue
            variable = in_global.get(a.name) or in_bank.get(a.name)
            if variable is None or a.bytes > variable.size:
                raise UsageError(
                    "the binary has no such variable" if variable is None else "the variable is smaller",
                    file=launch.path or None,
                    place=f"argument {a.name}",
                    found=f"{a.name}, {a.bytes} bytes",
                    expected=(", ".join([*in_global, *in_bank]) or "a binary with variables")
                    if variable is None
                    else f"at most {variable.size} bytes",
                )
            found.names.add(a.name)
            if a.name in in_global:
                found.addresses[a.name] = in_global[a.name].address
            else:
                found.in_bank[a.name] = in_bank[a.name].bank, in_bank[a.name].offset
                found.fill(a.name, contents[a.name])
        return found

    def fill(self, name: str, contents: Array) -> None:
        """Put contents in place, if they belong to a variable in a constant bank."""
        if name in self.in_bank:
            bank, offset = self.in_bank[name]
            old, data = self.constants[bank], contents.tobytes()
            self.constants[bank] = old[:offset] + data + old[offset + len(data) :]

    def banks(
        self, kernel: Function, launch: Launch, buffers: Mapping[str, int], handles: Mapping[str, int]
    ) -> dict[int, bytes]:
        """Return the contents of all constant banks, with the kernel's parameters in bank 0, if it has any. buffers:
        their addresses. handles: of textures and surfaces, by name."""
        listed = [(p.name, p.offset, p.size) for p in kernel.info.params]
        params = launch.parameters(listed, {**buffers, **self.addresses, **handles})
        return self.with_parameters(params)

    def with_parameters(self, parameters: bytes) -> dict[int, bytes]:
        """Return the contents of all constant banks, with the kernel's parameters in bank 0."""
        return ({0: parameters} if parameters else {}) | self.constants


def initial(variable: GlobalVar, constants: Mapping[int, bytes]) -> bytes:
    """Return the first bytes of a global variable at launch. For a copy of a constant bank these are the launch's
    contents of the bank."""
    bank = variable.name.removeprefix(CONSTANTS_COPY)
    if bank == variable.name or not bank.isdigit() or int(bank) not in constants:
        return variable.data
    return constants[int(bank)][: variable.size]


def place_textures(images: Mapping[str, int], at: int) -> tuple[dict[str, int], int]:
    """Return the offsets of the textures, and the end of the last. images: bytes of each texture. at: aligned offset at
    which they begin."""
    places = {}
    for name, size in images.items():
        places[name] = at
        at += -(-size // BUFFER_ALIGN) * BUFFER_ALIGN
    return places, at


_TYPES = {
    ("i", 1, True): 0x10D0, ("i", 2, True): 0x10D1, ("u", 1, True): 0x10D2, ("u", 2, True): 0x10D3,
    ("i", 1, False): 0x10D7, ("i", 2, False): 0x10D8, ("i", 4, False): 0x10D9, ("u", 1, False): 0x10DA,
    ("u", 2, False): 0x10DB, ("u", 4, False): 0x10DC, ("f", 2, False): 0x10DD, ("f", 4, False): 0x10DE,
}  # fmt: skip
_ORDERS = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}
"""Numbers of channel data types (by kind, bytes, and whether they are read as normalized floats) and of channel orders
(by channels: R, RG, RGBA). PTX (5.3, texture, sampler and surface types) has them from OpenCL."""


def _pattern(x: float) -> int:
    """Return an f32's bits."""
    with np.errstate(over="ignore"):
        return int(np.array(x, np.float32).view(np.uint32))


def texture_row(a: Argument, start: int) -> list[int]:
    """Return one row of the table of textures, which has surfaces as well."""
    t = a.texture
    assert t is not None
    depth, height, width = (1, 1, *t.sides)[-3:]
    x, y, z = [Outside.names.index(m) for m in (*t.address, AddressMode.CLAMP, AddressMode.CLAMP)[:3]]
    kind, size = a.numpy_dtype.kind, a.numpy_dtype.itemsize
    as_float = kind == "f" or t.read != TextureRead.ELEMENT
    column = TextureColumn
    row = {
        column.START: start, column.DIMENSIONS: len(t.sides), column.CHANNELS: t.channels, column.BYTES: size,
        column.WIDTH: width, column.HEIGHT: height, column.DEPTH: depth,
        column.KIND: TEXEL_KINDS.index(kind), column.FLOAT: int(as_float),
        column.LINEAR: int(t.filter == TextureFilter.LINEAR), column.NORMALIZED: int(t.normalized),
        column.LAYERS: list(TextureLayers).index(t.layers),
        column.MODE_X: x, column.MODE_Y: y, column.MODE_Z: z,
        column.LEVELS: t.levels, column.BLENDED: int(t.blend == TextureFilter.LINEAR),
        column.BIAS: _pattern(t.bias), column.LEAST: _pattern(t.clamp[0]), column.MOST: _pattern(t.clamp[1]),
        column.OF: Handle.TEXTURE, column.TYPE: _TYPES[kind, size, t.read != TextureRead.ELEMENT],
        column.ORDER: _ORDERS[t.channels],
    }  # fmt: skip
    if a.kind == ArgumentKind.SURFACE:  # layers are what cubes are for it
        row |= {column.OF: Handle.SURFACE, column.LAYERS: int(t.layers != TextureLayers.NONE)}
    return [row[n] for n in range(TEXTURE_COLUMNS)]
