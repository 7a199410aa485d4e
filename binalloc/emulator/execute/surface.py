"""TXQ reads properties of a texture or surface, and SUADDR the address of an element of a surface (ISA.md,
"Textures")."""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.operands import write_predicate
from binalloc.emulator.execute.texture import side_at
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, Column, Fault
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.texture_layout import Handle, TextureColumn
from binalloc.isa.table.opcodes import SURFACE_BOUNDS, TEXTURE_QUERIES


class Query(Codes, numbers={name.lower(): i for i, name in enumerate(TEXTURE_QUERIES)}):
    """TXQ reads one of these properties."""

    WIDTH: int
    HEIGHT: int
    DEPTH: int
    LAYERS: int
    LEVELS: int
    TYPE: int
    ORDER: int
    NORMALIZED: int
    KIND: int


class OutsideAccess(Codes, numbers={name.lower(): i for i, name in enumerate(SURFACE_BOUNDS)}):
    """An access outside of a surface is handled in one of these ways, where it is not left out."""

    TRAP: int  #: it is a fault
    CLAMP: int  #: it goes to the nearest element of the surface


class Amiss(Codes):
    """SUADDR faults for one of these reasons."""

    HANDLE: int  #: the handle is none of a surface
    GEOMETRY: int  #: the surface has other dimensions or layers than the instruction
    RANGE: int  #: the element is outside of the surface


@device
def answer(g: Gpu, h: int, query: int) -> int:
    """Return the property that row `h` of the table of textures has."""
    layered = 1 if g.texture[h, TextureColumn.LAYERS] else 0
    axes = g.texture[h, TextureColumn.DIMENSIONS] - layered
    value = 0
    if query <= Query.DEPTH:
        value = g.texture[h, TextureColumn.WIDTH + query] if query < axes else 1
    elif query == Query.LAYERS:
        value = g.texture[h, TextureColumn.WIDTH + axes] if layered else 0
    elif query == Query.LEVELS:
        value = g.texture[h, TextureColumn.LEVELS]
    elif query == Query.TYPE:
        value = g.texture[h, TextureColumn.TYPE]
    elif query == Query.ORDER:
        value = g.texture[h, TextureColumn.ORDER]
    elif query == Query.NORMALIZED:
        value = g.texture[h, TextureColumn.NORMALIZED]
    elif query == Query.KIND:
        value = g.texture[h, TextureColumn.OF]
    return value


@device
def texture_query(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute TXQ. Of a handle that names nothing only the kind can be asked."""
    query = program[pc, Column.TQUERY]
    for t in range(g.lanes):
        s.d[t] = 0
        if (mask >> t) & 1:
            if 1 <= s.a[t] <= g.textures:
                s.d[t] = answer(g, s.a[t] - 1, query)
            elif query != Query.KIND:
                set_fault(g, s, Fault.TEXTURE, w, pc, t, s.a[t], 0, 0)
                return


@device
def signed(word: int) -> int:
    """Return a word read as two's complement."""
    return (word ^ 0x80000000) - 0x80000000


@device
def coordinate(s: Sm, t: int, axis: int) -> int:
    """Return lane t's coordinate on an axis."""
    return signed(s.a[t] if axis == 0 else s.ah[t] if axis == 1 else s.c[t])


@device
def surface_fault(g: Gpu, s: Sm, w: int, pc: int, t: int, amiss: int, wanted: int) -> None:
    """Report that SUADDR of lane t cannot give an address. wanted: the geometry, or the bytes, of the instruction."""
    where = (s.ah[t] << 32) | s.a[t]
    set_fault(g, s, Fault.SURFACE, w, pc, t, (amiss << 32) | s.b[t], where, (wanted << 32) | s.c[t])


@device
def surface_address(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int) -> None:
    """Execute SUADDR: give the lanes inside the surface an address and a true pd0, the others 0 and a false pd0."""
    dimensions, bound = program[pc, Column.TDIM] + 1, program[pc, Column.SBOUND]
    size, layers = 1 << program[pc, Column.SSIZE], program[pc, Column.TLAY]
    found = 0
    for t in range(g.lanes):
        s.d[t], s.dh[t] = 0, 0
        if (mask >> t) & 1:
            h = s.b[t] - 1
            if h < 0 or h >= g.textures or g.texture[h, TextureColumn.OF] != Handle.SURFACE:
                surface_fault(g, s, w, pc, t, Amiss.HANDLE, 0)
                return
            same = g.texture[h, TextureColumn.DIMENSIONS] == dimensions
            if not same or g.texture[h, TextureColumn.LAYERS] != layers:
                surface_fault(g, s, w, pc, t, Amiss.GEOMETRY, dimensions + 4 * layers)
                return
            at = offset_of(g, s, program, h, pc, t, size)
            if at < 0 and (bound == OutsideAccess.TRAP or bound == OutsideAccess.CLAMP):
                surface_fault(g, s, w, pc, t, Amiss.RANGE, size)
                return
            if at >= 0:
                found |= 1 << t
                at += g.global_base + g.texture[h, TextureColumn.START]
                s.d[t], s.dh[t] = at & FULL, at >> 32
    write_predicate(s, w, program[pc, Column.PD0], found, mask)


@device
def offset_of(g: Gpu, s: Sm, program: Grid, h: int, pc: int, t: int, size: int) -> int:
    """Return the byte offset of lane t's `size` bytes in surface `h`, or -1 for none."""
    texel = g.texture[h, TextureColumn.CHANNELS] * g.texture[h, TextureColumn.BYTES]
    row = g.texture[h, TextureColumn.WIDTH] * texel
    clamped = program[pc, Column.SBOUND] == OutsideAccess.CLAMP
    at = 0
    for axis in range(program[pc, Column.TDIM], -1, -1):
        x = coordinate(s, t, axis)
        if axis == 0 and program[pc, Column.SUNIT]:
            x *= texel
        last = row - size if axis == 0 else side_at(g, h, axis, 0) - 1
        if clamped:
            x = min(max(x, 0), last)
        if x < 0 or x > last:
            return -1
        at = at * (row if axis == 0 else side_at(g, h, axis, 0)) + x
    return at
