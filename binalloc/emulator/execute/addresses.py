"""The addresses of a memory instruction's lanes, and common properties of them, are found in one pass over the lanes.

Checks of bounds, banks, lines and data look at 32 addresses each. Most accesses have a simple shape that a few numbers
describe. An access is *even* if the addresses of its lanes have one stride. It is *inside* if each address is where the
instruction may access memory: in one buffer, in the block's shared memory, in a frame. An access that is not inside
need not be a fault, as lanes may be in different buffers. Its addresses are then checked one by one.
"""

from __future__ import annotations

from binalloc.emulator.execute.counting import buffer_of
from binalloc.emulator.execute.operands import first_row
from binalloc.emulator.memory.lanes import address_of, has_pair
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, LANES, LANES_SHIFT, RZ, SLOT_ROW, WORD, Column, SpaceCode
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import count_bits, lowest_bit

FAR = 1 << 56
"""No stride inside of a buffer is as long. This number times the number of lanes does not wrap, as 2^64 does."""


@device(inline=True)
def reach(g: Gpu, s: Sm, program: Grid, w: int, pc: int, start: int) -> tuple[int, int]:
    """Return the first and the last address at which accesses of the instruction may begin, if one begins at `start`.
    The last is less than the first if there is none."""
    space = program[pc, Column.SPACE]
    spill = program[pc, Column.SPILL]
    low = 0
    if space == SpaceCode.SHARED:
        high = s.shared_limit[s.block_of[w]]
        if spill:
            low = g.slot_base + s.in_block[w] * g.slot_bytes
            high = low + g.slot_bytes
        elif s.apart[s.block_of[w]]:
            low, high = part_of(s, w, start)
    elif space == SpaceCode.LOCAL:
        high = g.local_user
        if spill:
            low, high = g.local_user, g.local_total
    elif space == SpaceCode.CONST:
        high = g.const_size[program[pc, Column.CBANK]]
    else:
        b = buffer_of(g, start)
        high = 0
        if b >= 0 and g.buffer_start[b] != g.heap_start:  # in the heap each lane is checked by itself
            low, high = g.buffer_start[b], g.buffer_end[b]
    return low, high - program[pc, Column.SIZE]


@device
def part_of(s: Sm, w: int, address: int) -> tuple[int, int]:
    """Return the first and the end of the addresses that lie in one place with an address, in a block whose shared
    memory lies in two."""
    slot = s.block_of[w]
    limit = s.shared_limit[slot]
    split = min(s.split[slot], limit)  # private bytes may be more than the kernel has: the machine rounds up
    return (0, split) if address < split else (split, limit)


@device
def highest_lane(mask: int) -> int:
    """Return the highest lane in `mask`, which is not empty."""
    if mask == FULL:
        return LANES - 1
    below = mask
    for k in range(LANES_SHIFT):
        below |= below >> (1 << k)
    return count_bits(below) - 1


@device(inline=True)
def find_addresses(g: Gpu, s: Sm, program: Grid, rows: Grid, w: int, pc: int, mask: int) -> int:
    """Find the addresses of all lanes, `s.addr`, and whether the lanes in `mask`, which is not empty, are inside and
    even.

    `s.inside` is 1 if they are inside. `s.even` is 1 if they are inside and even: lane t's address is then `s.origin` +
    t * `s.step`. Returns 0 if each address is a multiple of the access's size.
    """
    row = first_row(s, w) + program[pc, Column.A_REG]
    upper = row + 1 if program[pc, Column.A_REG] < RZ else row
    offset = program[pc, Column.OFFSET]
    size = program[pc, Column.SIZE]
    pair = has_pair(program[pc, Column.SPACE])
    first = lowest_bit(mask)
    rest = mask & (mask - 1)
    second = lowest_bit(rest) if rest else first
    start = address_of(rows, row, upper, pair, offset, first)
    step = address_of(rows, row, upper, pair, offset, second) - start
    if second != first + 1 and (step != 0 or second == first):
        step = size  # as good a guess as any
    origin = start - step * first
    uneven = 0
    expected = origin
    if pair:
        for t in range(g.lanes):
            address = address_of(rows, row, upper, 1, offset, t)
            s.addr[t] = address
            uneven |= (1 if address != expected else 0) << t
            expected += step
    else:
        for t in range(g.lanes):
            address = address_of(rows, row, upper, 0, offset, t)
            s.addr[t] = address
            uneven |= (1 if address != expected else 0) << t
            expected += step
    low, last = reach(g, s, program, w, pc, start)
    s.step = step
    s.origin = origin
    s.even = 0
    if uneven & mask or step <= -FAR or step >= FAR:
        return each_address(g, s, program, pc, mask, low, last)
    end = origin + step * highest_lane(mask)
    s.inside = 1 if min(start, end) >= low and max(start, end) <= last else 0
    if program[pc, Column.SPILL] and program[pc, Column.SPACE] == SpaceCode.SHARED:
        own = step == WORD and size == WORD and (origin - low) & (SLOT_ROW - 1) == 0  # its word of its warp's rows
        s.inside &= 1 if own else 0
    s.even = s.inside
    return (start | step) & (size - 1)


@device
def each_address(g: Gpu, s: Sm, program: Grid, pc: int, mask: int, low: int, last: int) -> int:
    """Find `s.inside` of addresses that are not even. Returns 0 if all are aligned."""
    if last < low:
        low, last = 1, 0  # nothing is inside, whatever the sums below may wrap to
    bits, outside = 0, 0
    for t in range(g.lanes):
        take = -((mask >> t) & 1)
        bits |= s.addr[t] & take
        outside |= ((s.addr[t] - low) | (last - s.addr[t])) & take
    s.inside = 1 if outside >= 0 else 0
    if program[pc, Column.SPILL] and program[pc, Column.SPACE] == SpaceCode.SHARED:
        s.inside = 0  # where each lane has its own word, they are even
    return bits & (program[pc, Column.SIZE] - 1)
