"""TEX fetches from textures. ISA.md, chapter "Semantics", specifies the result of each fetch to the bit.

Textures are behind the buffers in the array of global memory, row by row, where the program has no addresses. A fetch
reads all its texels through L1, whatever the machine caches there: each distinct line of the warp is one pass of the
texture unit, and misses come from off-chip memory.
"""

from __future__ import annotations

import math

from binalloc.emulator.arithmetic.bits import bits_from_f32, f32_from_bits, f64_from_i64, i64_from_f64
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.operands import stage
from binalloc.emulator.memory.coalescing import add_words
from binalloc.emulator.memory.l1 import make_access
from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, RZ, Column, Fault
from binalloc.emulator.state.memory_layout import LINE_SHIFT, LINE_WORDS, LinePolicy
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.texture_layout import HANDLE_BITS, TEXEL_SIGNED, Handle, Outside, TextureColumn
from binalloc.isa.table.opcodes import TEXTURE_LAYERS

FARTHEST = 2.0**40  # ISA.md's limit of coordinates in texels: their floor fits an integer
FARTHEST_NORMALIZED = 2.0**24  # f32 numbers beyond it are even integers, and give the same texel as it does
ONE = 0x3F800000  # the pattern of f32 1
CUBE = TEXTURE_LAYERS.index("CUBE")  # the value of field tlay for cubes
WHOLE = 256  # the weight of a mipmap level that is not blended with the next


@device
def inside(i: int, n: int, mode: int) -> int:
    """Return the index that the address mode gives for `i` on an axis of n texels, or -1 for the border."""
    if mode == Outside.CLAMP:
        return min(max(i, 0), n - 1)
    if mode == Outside.BORDER:
        return i if 0 <= i < n else -1
    if mode == Outside.WRAP:
        return i % n
    k = i % (2 * n)
    return k if k < n else 2 * n - 1 - k


@device
def along(bits: int, n: int, normalized: int, mode: int, linear: int, integer: int) -> tuple[int, int]:
    """Return the index of the (first) texel on an axis of n texels for the coordinate `bits`, and the second's weight
    in 1/256."""
    if integer:
        return (bits ^ 0x80000000) - 0x80000000, 0
    x = f32_from_bits(bits)
    if x != x:
        x = 0.0
    if normalized:
        x = min(max(x, -FARTHEST_NORMALIZED), FARTHEST_NORMALIZED)
        if mode == Outside.MIRROR:
            f = math.floor(x)
            x = f + 1 - x if f & 1 else x - f
        x = x * n
    else:
        x = min(max(x, -FARTHEST), FARTHEST)
    if not linear:
        return math.floor(x), 0
    x = x - 0.5
    i = math.floor(x)
    return i, math.floor((x - i) * 256.0 + 0.5)


@device
def layer_of(bits: int, n: int, layers: int) -> int:
    """Return the layer that a coordinate names: an unsigned number, the last layer at most. For cubes it is 8 times the
    cube's number, which is limited likewise, plus the face."""
    if layers == CUBE:
        return min(bits >> 3, n // 6 - 1) * 6 + min(bits & 7, 5)
    return min(bits, n - 1)


@device
def offset_on(packed: int, axis: int) -> int:
    """Return the texels by which a fetch is shifted along an axis. They are packed, four bits for each axis."""
    return (((packed >> (4 * axis)) & 15) ^ 8) - 8


@device
def side_at(g: Gpu, h: int, axis: int, level: int) -> int:
    """Return the texels of texture `h` on an axis at a mipmap level. The number of layers is the same at each."""
    n = g.texture[h, TextureColumn.WIDTH + axis]
    if g.texture[h, TextureColumn.LAYERS] and axis == g.texture[h, TextureColumn.DIMENSIONS] - 1:
        return n
    return max(n >> level, 1)


@device
def level_of(g: Gpu, h: int, bits: int, integer: int) -> tuple[int, int]:
    """Return the mipmap level that a level of detail names, and the next one's weight in 1/256."""
    last = g.texture[h, TextureColumn.LEVELS] - 1
    if integer:
        return min(max((bits ^ 0x80000000) - 0x80000000, 0), last), 0
    x = f32_from_bits(bits)
    if x != x:
        x = 0.0
    x += f32_from_bits(g.texture[h, TextureColumn.BIAS])
    x = max(x, f32_from_bits(g.texture[h, TextureColumn.LEAST]))
    x = min(max(min(x, f32_from_bits(g.texture[h, TextureColumn.MOST])), 0.0), last * 1.0)
    if g.texture[h, TextureColumn.BLENDED] == 0:
        return math.floor(x + 0.5), 0
    i = math.floor(x)
    weight = math.floor((x - i) * 256.0 + 0.5)
    return i + (weight >> 8), weight & 255


@device
def texel_at(g: Gpu, h: int, level: int, x: int, y: int, z: int) -> int:
    """Return the byte offset of a texel of texture `h` in global memory's array, or -1 on the border. Indices may be
    outside."""
    width, height, depth = side_at(g, h, 0, level), side_at(g, h, 1, level), side_at(g, h, 2, level)
    i = inside(x, width, g.texture[h, TextureColumn.MODE_X])
    j = inside(y, height, g.texture[h, TextureColumn.MODE_Y])
    k = inside(z, depth, g.texture[h, TextureColumn.MODE_Z])
    if i < 0 or j < 0 or k < 0:
        return -1
    index = (k * height + j) * width + i
    for n in range(level):
        index += side_at(g, h, 0, n) * side_at(g, h, 1, n) * side_at(g, h, 2, n)
    return (
        g.texture[h, TextureColumn.START]
        + index * g.texture[h, TextureColumn.CHANNELS] * g.texture[h, TextureColumn.BYTES]
    )


@device
def channel(g: Gpu, h: int, global_: Words, at: int) -> int:
    """Return the channel at byte offset `at` as a fetch gives it: an integer extended to 32 bits, or the pattern of an
    f32."""
    size = g.texture[h, TextureColumn.BYTES]
    word = int(global_[at >> 2]) + 0
    if size == 4:
        return word
    top = 1 << (size * 8)
    value = (word >> ((at & 3) * 8)) & (top - 1)
    if g.texture[h, TextureColumn.KIND] == TEXEL_SIGNED and value >= top >> 1:
        value -= top
    if g.texture[h, TextureColumn.FLOAT] == 0:
        return value & FULL
    if g.texture[h, TextureColumn.KIND] == TEXEL_SIGNED:
        return bits_from_f32(max(value / ((top >> 1) - 1.0), -1.0))
    return bits_from_f32(value / (top - 1.0))


@device
def weight_of(packed: int, corner: int, dimensions: int) -> int:
    """Return the weight of a corner in 256^-dimensions. Along each axis it is the second texel's, or 256 less it for
    the first.

    Where nothing is filtered the second weights are 0, so that the first corner alone counts.
    """
    weight = 1
    for axis in range(dimensions):
        second = (packed >> (10 * axis)) & 1023
        weight *= second if (corner >> axis) & 1 else 256 - second
    return weight


@device
def corner(g: Gpu, s: Sm, global_: Words, t: int, k: int, units: int, linear: int) -> int:
    """Add corner k of lane t's cell to its channels in `s.bank_words`. Return the texel's address, or -1 if it does not
    count."""
    h = s.b[t] - 1
    weight = weight_of(s.bh[t], k, g.texture[h, TextureColumn.DIMENSIONS]) * s.dh[t]
    if weight == 0:
        return -1
    at = texel_at(g, h, s.d[t], s.a[t] + (k & 1), s.ah[t] + ((k >> 1) & 1), s.ch[t] + (k >> 2))
    if at < 0:
        return -1
    for n in range(min(units, g.texture[h, TextureColumn.CHANNELS])):
        value = channel(g, h, global_, at + n * g.texture[h, TextureColumn.BYTES])
        if linear:
            value = i64_from_f64(f64_from_i64(s.bank_words[n, t]) + weight * f32_from_bits(value))
        s.bank_words[n, t] = value
    return at


@device
def gather(g: Gpu, s: Sm, program: Grid, global_: Words, pc: int, t: int, k: int) -> int:
    """Copy one channel of corner k of lane t's cell to its place among the results. Return the texel's address, or -1
    for none."""
    h = s.b[t] - 1
    n = program[pc, Column.TGATH] - 1
    if k > 3:
        return -1
    at = texel_at(g, h, s.d[t], s.a[t] + (k & 1), s.ah[t] + (k >> 1), s.ch[t])
    if at >= 0 and n < g.texture[h, TextureColumn.CHANNELS]:
        place = 3 - k if k < 2 else k - 2  # counter-clockwise from the lower left, y downwards
        s.bank_words[place, t] = channel(g, h, global_, at + n * g.texture[h, TextureColumn.BYTES])
    return at


@device
def fits(g: Gpu, h: int, dimensions: int, layers: int, gathers: int) -> bool:
    """Return whether an instruction's geometry is the texture's. Texels can be gathered from two dimensions and layers
    of them only."""
    same = g.texture[h, TextureColumn.DIMENSIONS] == dimensions and g.texture[h, TextureColumn.LAYERS] == layers
    return same and (gathers == 0 or dimensions - (1 if layers else 0) == 2)


@device
def find_cells(g: Gpu, s: Sm, program: Grid, w: int, pc: int, mask: int, second: int) -> int:
    """Find the first texel of each lane, in `a`, `ah`, `ch`, and the weights of its neighbours, in `bh`. Return the
    lanes that filter.

    The offsets above the handles are removed. `d` and `dh` get the lane's mipmap level and its weight in 1/256.
    `second`: the cells of the second of two levels are wanted, and `d` and `dh` become that level's.
    """
    dimensions = program[pc, Column.TDIM] + 1
    integer = program[pc, Column.TCOORD]
    layers, gathers = program[pc, Column.TLAY], program[pc, Column.TGATH]
    linear = 0
    for t in range(g.lanes):
        if (mask >> t) & 1:
            offsets = 0
            if program[pc, Column.TOFF]:
                offsets = s.b[t] >> HANDLE_BITS
                s.b[t] &= (1 << HANDLE_BITS) - 1
            h = s.b[t] - 1
            if h < 0 or h >= g.textures or g.texture[h, TextureColumn.OF] != Handle.TEXTURE:
                set_fault(g, s, Fault.TEXTURE, w, pc, t, s.b[t], 0, 0)
                return 0
            if not fits(g, h, dimensions, layers, gathers):
                have = g.texture[h, TextureColumn.DIMENSIONS] + 4 * g.texture[h, TextureColumn.LAYERS]
                set_fault(g, s, Fault.TEXTURE, w, pc, t, s.b[t], have, dimensions + 4 * layers + 16 * gathers)
                return 0
            smooth = 1 if (g.texture[h, TextureColumn.LINEAR] or gathers) and not integer else 0
            if second:
                s.d[t], s.dh[t] = s.d[t] + 1, WHOLE - s.dh[t]
            elif program[pc, Column.TLOD]:
                s.d[t], weight = level_of(g, h, s.bh[t], integer)
                s.dh[t] = WHOLE - weight
            else:
                s.d[t], s.dh[t] = 0, WHOLE
            if gathers == 0 and (smooth or s.dh[t] != WHOLE):
                linear |= 1 << t
            s.bh[t] = 0
            for axis in range(3):
                bits = s.a[t] if axis == 0 else s.ah[t] if axis == 1 else s.c[t]
                i, next_one = 0, 0
                if axis < dimensions and layers and axis == dimensions - 1:
                    i = layer_of(bits, g.texture[h, TextureColumn.WIDTH + axis], layers)
                elif axis < dimensions:
                    n, mode = side_at(g, h, axis, s.d[t]), g.texture[h, TextureColumn.MODE_X + axis]
                    i, next_one = along(bits, n, g.texture[h, TextureColumn.NORMALIZED], mode, smooth, integer)
                    i += offset_on(offsets, axis)
                s.bh[t] |= next_one << (10 * axis)
                if axis == 0:
                    s.a[t] = i
                elif axis == 1:
                    s.ah[t] = i
                else:
                    s.ch[t] = i
    return linear


@device
def result(g: Gpu, s: Sm, t: int, n: int, linear: int, gathered: int) -> int:
    """Return channel n of lane t from the sums of its corners, or the default for a channel that the texture does not
    have."""
    h = s.b[t] - 1
    if gathered:
        if gathered > g.texture[h, TextureColumn.CHANNELS]:
            one = ONE if g.texture[h, TextureColumn.FLOAT] else 1
            return one if gathered == 4 else 0
        return int(s.bank_words[n, t])
    if n >= g.texture[h, TextureColumn.CHANNELS]:
        one = ONE if g.texture[h, TextureColumn.FLOAT] else 1
        return one if n == 3 else 0
    if linear:
        scale = WHOLE << (8 * g.texture[h, TextureColumn.DIMENSIONS])
        return bits_from_f32(f64_from_i64(s.bank_words[n, t]) / scale)
    return int(s.bank_words[n, t])


@device
def strip_handles(g: Gpu, s: Sm, mask: int) -> None:
    """Remove the offsets from the handles of the lanes in `mask`."""
    for t in range(g.lanes):
        if (mask >> t) & 1:
            s.b[t] &= (1 << HANDLE_BITS) - 1


@device
def add_cells(g: Gpu, s: Sm, program: Grid, global_: Words, pc: int, mask: int, linear: int) -> None:
    """Add the texels of the cells of the lanes in `mask` to their channels, and enter the lines of these texels."""
    units = program[pc, Column.RD_UNITS]
    gathered = program[pc, Column.TGATH]
    lanes = mask
    for k in range(1 << (program[pc, Column.TDIM] + 1)):
        for t in range(g.lanes):
            if (lanes >> t) & 1:
                if gathered:
                    at = gather(g, s, program, global_, pc, t, k)
                else:
                    at = corner(g, s, global_, t, k, units, (linear >> t) & 1)
                if at >= 0:
                    at += g.global_base
                    size = g.texture[s.b[t] - 1, TextureColumn.CHANNELS] * g.texture[s.b[t] - 1, TextureColumn.BYTES]
                    words = (1 << max(size >> 2, 1)) - 1
                    add_words(s, 0, at >> LINE_SHIFT, words << ((at >> 2) & (LINE_WORDS - 1)), LinePolicy.TEXTURE)
        if not gathered:
            lanes &= linear


@device(apart=True)
def exec_tex(g: Gpu, s: Sm, program: Grid, regs: Cube, global_: Words, w: int, pc: int, mask: int) -> None:
    """Execute TEX by the lanes of `mask` (not empty)."""
    linear = find_cells(g, s, program, w, pc, mask, 0)
    if g.fault:
        return
    for n in range(4):
        for t in range(g.lanes):
            s.bank_words[n, t] = 0
    s.lines = 0
    s.stat[Stat.TEXTURE_FETCHES] += 1
    s.passes = 0
    s.done_at = g.cycle + g.l1_latency
    add_cells(g, s, program, global_, pc, mask, linear)
    if program[pc, Column.TLOD]:
        blended = 0
        for t in range(g.lanes):
            if (linear >> t) & 1 and s.dh[t] != WHOLE:
                blended |= 1 << t
        if blended:
            stage(g, s, program, regs, w, pc)  # coordinates again: cells have overwritten them
            if program[pc, Column.TOFF]:
                strip_handles(g, s, mask & ~blended)
            add_cells(g, s, program, global_, pc, blended, find_cells(g, s, program, w, pc, blended, 1))
    s.passes = max(s.lines, 1)
    if s.lines:
        make_access(g, s, w)
    rd = program[pc, Column.RD]
    if rd == RZ:
        return
    for n in range(program[pc, Column.RD_UNITS]):
        for t in range(g.lanes):
            if (mask >> t) & 1:
                regs[s.warp_base + w, rd + n, t] = result(g, s, t, n, (linear >> t) & 1, program[pc, Column.TGATH])
