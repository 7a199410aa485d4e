"""Loads, stores and atomics execute here. Bounds: `execute.bounds`. Timing: `memory.coalescing`, `memory.banks`.

Data moves at issue: execution and timing are one. By the hazard rules results are used only after their scoreboard.
Lanes act in ascending order, so the highest lane wins a conflicting store.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.atomic import atomic32, atomic64, atomic_legal
from binalloc.emulator.arithmetic.matrix import giving_lanes
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.checks.touched import outside_variables
from binalloc.emulator.execute.addresses import find_addresses
from binalloc.emulator.execute.bounds import (
    after_release,
    global_bounds,
    in_other_regions,
    local_bounds,
    lone_halves,
    misaligned,
    shared_bounds,
    to_places,
    within,
)
from binalloc.emulator.execute.counting import count_access
from binalloc.emulator.execute.matrix import lanes_missing, load_matrices
from binalloc.emulator.execute.operands import first_row
from binalloc.emulator.memory.banks import shared_time
from binalloc.emulator.memory.coalescing import add_words, global_access, local_access
from binalloc.emulator.memory.l1 import make_access
from binalloc.emulator.memory.tagged import constant_line
from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    FULL,
    LOCAL_WINDOW,
    RZ,
    SHARED_WINDOW,
    WINDOW_SIZE,
    WORD,
    AccessCode,
    Column,
    Fault,
    SpaceCode,
)
from binalloc.emulator.state.memory_layout import CONSTANTS_BIT, LinePolicy
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit


@device
def narrow(word: int, address: int, size: int, signed: int) -> int:
    """Return the byte or half of `word` at `address`, extended to 32 bits."""
    bits = size * 8
    value = (word >> ((address & 3) * 8)) & ((1 << bits) - 1)
    if signed and value >> (bits - 1):
        value |= FULL & ~((1 << bits) - 1)
    return value


@device
def load_flat(
    g: Gpu, s: Sm, program: Grid, rows: Grid, memory: Words, w: int, pc: int, mask: int, base: int
) -> None:
    """Load from a flat memory, which begins at address `base`, into rd and following registers."""
    rd = program[pc, Column.RD]
    size = program[pc, Column.SIZE]
    row = first_row(s, w) + rd
    if rd == RZ:
        return
    if size < WORD:
        signed = program[pc, Column.SIGNED]
        for t in range(g.lanes):
            if (mask >> t) & 1:
                word = int(memory[(s.addr[t] - base) >> 2]) + 0
                rows[row, t] = narrow(word, s.addr[t], size, signed)
        return
    if size == 4 * WORD:
        for t in range(g.lanes):
            if (mask >> t) & 1:
                i = (s.addr[t] - base) >> 2
                rows[row, t] = memory[i]
                rows[row + 1, t] = memory[i + 1]
                rows[row + 2, t] = memory[i + 2]
                rows[row + 3, t] = memory[i + 3]
        return
    for k in range(size >> 2):
        for t in range(g.lanes):
            if (mask >> t) & 1:
                rows[row + k, t] = memory[((s.addr[t] - base) >> 2) + k]


@device
def store_flat(
    g: Gpu, s: Sm, program: Grid, rows: Grid, memory: Words, w: int, pc: int, mask: int, base: int
) -> None:
    """Store to a flat memory, which begins at address `base`, from the data registers."""
    rb = program[pc, Column.DATA]
    size = program[pc, Column.SIZE]
    row = first_row(s, w)
    if size < WORD:
        for t in range(g.lanes):
            if (mask >> t) & 1:
                i = (s.addr[t] - base) >> 2
                shift = (s.addr[t] & 3) * 8
                field = ((1 << (size * 8)) - 1) << shift
                old = int(memory[i]) + 0
                memory[i] = (old & ~field) | (((int(rows[row + rb, t]) + 0) << shift) & field)
        return
    for k in range(size >> 2):
        data = row + (rb + k if rb != RZ else RZ)
        for t in range(g.lanes):
            if (mask >> t) & 1:
                memory[((s.addr[t] - base) >> 2) + k] = rows[data, t]


@device
def atomic_flat(g: Gpu, s: Sm, program: Grid, memory: Words, pc: int, mask: int, base: int) -> None:
    """Do an atomic on a flat memory, which begins at address `base`, lane after lane; old values go to `d`, `dh`."""
    aop, atyp = program[pc, Column.AOP], program[pc, Column.ATYP]
    for t in range(g.lanes):
        if (mask >> t) & 1:
            i = (s.addr[t] - base) >> 2
            old = int(memory[i]) + 0
            s.d[t] = old
            if program[pc, Column.SIZE] == 4:
                memory[i] = atomic32(aop, atyp, old, s.b[t], s.c[t])
            else:
                high = int(memory[i + 1]) + 0
                s.dh[t] = high
                memory[i], memory[i + 1] = atomic64(aop, atyp, old, high, s.b[t], s.bh[t], s.c[t], s.ch[t])


@device
def flat(
    g: Gpu, s: Sm, program: Grid, rows: Grid, memory: Words, w: int, pc: int, mask: int, base: int
) -> None:
    """Do the access of the instruction at `pc` to a flat memory, which begins at address `base`, a multiple of 4."""
    access = program[pc, Column.ACCESS]
    if access == AccessCode.LOAD:
        load_flat(g, s, program, rows, memory, w, pc, mask, base)
    elif access == AccessCode.STORE:
        store_flat(g, s, program, rows, memory, w, pc, mask, base)
    else:
        atomic_flat(g, s, program, memory, pc, mask, base)


@device(inline=True)
def merge(g: Gpu, to: Words, source: Words, mask: int) -> None:
    """Copy lanes `mask` of a row to another one."""
    if mask == FULL:
        for t in range(g.lanes):
            to[t] = source[t]
    else:
        for t in range(g.lanes):
            take = -((mask >> t) & 1)
            to[t] = (int(source[t]) & take) | (int(to[t]) & ~take)


@device
def access_local(g: Gpu, s: Sm, program: Grid, rows: Grid, local: Cube, w: int, pc: int, mask: int) -> None:
    """Load or store in local memory, which is kept word by word across the lanes."""
    row = s.warp_base + w
    own = first_row(s, w)
    size = program[pc, Column.SIZE]
    load = program[pc, Column.ACCESS] == AccessCode.LOAD
    reg = program[pc, Column.RD] if load else program[pc, Column.DATA]
    if load and reg == RZ:
        return
    together = 1 if s.even and s.step == 0 and size >= WORD else 0
    for k in range(max(size >> 2, 1)):
        r = own + (reg + k if reg != RZ else RZ)
        if together:
            if load:
                merge(g, rows[r], local[row, (s.origin >> 2) + k], mask)
            else:
                merge(g, local[row, (s.origin >> 2) + k], rows[r], mask)
            continue
        for t in range(g.lanes):
            if (mask >> t) & 1:
                i = (s.addr[t] >> 2) + k
                if load:
                    word = int(local[row, i, t]) + 0
                    if size < 4:
                        word = narrow(word, s.addr[t], size, program[pc, Column.SIGNED])
                    rows[r, t] = word
                else:
                    value = int(rows[r, t]) + 0
                    if size < 4:
                        shift = (s.addr[t] & 3) * 8
                        field = ((1 << (size * 8)) - 1) << shift
                        value = ((int(local[row, i, t]) + 0) & ~field) | ((value << shift) & field)
                    local[row, i, t] = value


@device(inline=True)
def in_global(g: Gpu, s: Sm, program: Grid, rows: Grid, global_: Words, w: int, pc: int, mask: int) -> None:
    """Do the access of lanes `mask` to global memory."""
    access = program[pc, Column.ACCESS]
    size = program[pc, Column.SIZE]
    if s.inside == 0:
        low = lone_halves(g, s, program, pc, mask, 16) if access == AccessCode.ATOMIC else 0
        high = lone_halves(g, s, program, pc, mask & ~low, 0) if access == AccessCode.ATOMIC else 0
        global_bounds(g, s, global_, w, pc, mask & ~(low | high), size)
        if low and g.fault == 0:
            global_bounds(g, s, global_, w, pc, low, WORD // 2)
        if high and g.fault == 0:
            move_addresses(g, s, WORD // 2)
            global_bounds(g, s, global_, w, pc, high, WORD // 2)
            move_addresses(g, s, -WORD // 2)
        if g.fault:
            return
    count_access(s, Stat.USER_GLOBAL_LOADS + access, mask, size)
    global_access(g, s, mask, max(size >> 2, 1), access, program[pc, Column.PAST])
    flat(g, s, program, rows, global_, w, pc, mask, g.global_base)


@device(inline=True)
def in_shared(
    g: Gpu, s: Sm, program: Grid, rows: Grid, shared: Grid, w: int, pc: int, mask: int
) -> None:
    """Do the access of lanes `mask` to the block's shared memory."""
    access = program[pc, Column.ACCESS]
    size = program[pc, Column.SIZE]
    spill = program[pc, Column.SPILL]
    if s.inside == 0:
        low = lone_halves(g, s, program, pc, mask, 16) if access == AccessCode.ATOMIC else 0
        whole = mask & ~low
        if s.more_regions[s.block_of[w]] and spill == 0:
            whole &= ~in_other_regions(g, s, w, whole, size)
        shared_bounds(g, s, w, pc, whole, size, spill)
        if low and g.fault == 0:
            shared_bounds(g, s, w, pc, low, WORD // 2, spill)
        if g.fault:
            return
    if g.pairs and s.released[w] & mask:
        after_release(g, s, w, pc, s.released[w] & mask, size, spill)
        if g.fault:
            return
    if s.apart[s.block_of[w]]:
        to_places(g, s, w, mask, spill)
    count_access(s, (Stat.SPILL_SHARED_LOADS if spill else Stat.USER_SHARED_LOADS) + access, mask, size)
    shared_time(g, s, mask, max(size >> 2, 1), access)
    if program[pc, Column.MATRICES]:
        load_matrices(g, s, program, rows, shared[s.id], w, pc)
        return
    flat(g, s, program, rows, shared[s.id], w, pc, mask, -(s.shared_first[s.block_of[w]] << 2))


@device
def in_local(g: Gpu, s: Sm, program: Grid, rows: Grid, local: Cube, w: int, pc: int, mask: int) -> None:
    """Do the access of lanes `mask` to their local memory."""
    access = program[pc, Column.ACCESS]
    size = program[pc, Column.SIZE]
    spill = program[pc, Column.SPILL]
    if access == AccessCode.ATOMIC:
        set_fault(g, s, Fault.LOCAL_ATOMIC, w, pc, lowest_bit(mask), s.addr[lowest_bit(mask)], 0, 0)
        return
    if s.inside == 0:
        local_bounds(g, s, w, pc, mask, size, spill)
        if g.fault:
            return
    count_access(s, (Stat.SPILL_LOCAL_LOADS if spill else Stat.USER_LOCAL_LOADS) + access, mask, size)
    local_access(g, s, w, mask, max(size >> 2, 1), access)
    access_local(g, s, program, rows, local, w, pc, mask)


@device
def in_const(g: Gpu, s: Sm, program: Grid, rows: Grid, const: Words, w: int, pc: int, mask: int) -> None:
    """Do an LDC. The constant cache serves one word a pass; what may miss are lines, as in other spaces."""
    bank = program[pc, Column.CBANK]
    size = program[pc, Column.SIZE]
    if s.inside == 0:
        lane = within(g, s, mask, 0, g.const_size[bank], size)
        if lane >= 0:
            set_fault(g, s, Fault.CONST, w, pc, lane, s.addr[lane], size, bank)
            return
    count_access(s, Stat.CONST_LOADS, mask, size)
    n = 1 if s.even and s.step == 0 else 0
    for t in range(0 if n else g.lanes):
        if (mask >> t) & 1:
            i = n - 1
            while i >= 0 and s.seen[i] != s.addr[t] >> 2:
                i -= 1
            if i < 0:
                s.seen[n] = s.addr[t] >> 2
                n += 1
    s.passes += n
    s.done_at = max(s.done_at, g.cycle + g.const_latency + n - 1)
    if g.tagged & CONSTANTS_BIT:
        for t in range(g.lanes):
            if (mask >> t) & 1:
                add_words(s, 0, constant_line(g, bank, s.addr[t]), 0, LinePolicy.CONSTANT)
    flat(g, s, program, rows, const, w, pc, mask, -g.const_start[bank])


@device(apart=True)
def lanes_within(g: Gpu, s: Sm, mask: int, window: int) -> int:
    """Return the lanes of `mask` whose generic addresses are in a window."""
    found = 0
    for t in range(g.lanes):
        found |= (1 if window <= s.addr[t] < window + WINDOW_SIZE else 0) << t
    return found & mask


@device(apart=True)
def move_addresses(g: Gpu, s: Sm, distance: int) -> None:
    """Shift all addresses, from generic ones to addresses in a window's space, or back."""
    for t in range(g.lanes):
        s.addr[t] += distance


@device(apart=True)
def exec_mem(
    g: Gpu, s: Sm, program: Grid, rows: Grid, global_: Words, shared: Grid, local: Cube, const: Words,
    w: int, pc: int, executing: int,
) -> None:  # fmt: skip
    """Execute any memory instruction by the lanes `executing` (not empty). Atomics are staged. Opcodes' rows name the
    space and access, as in `SpaceCode` and `Access`: a new space is a member, and a case here and in
    `addresses.reach`."""
    access = program[pc, Column.ACCESS]
    space = program[pc, Column.SPACE]
    if access == AccessCode.ATOMIC and not atomic_legal(program[pc, Column.AOP], program[pc, Column.ATYP]):
        set_fault(g, s, Fault.ATOMIC, w, pc, -1, program[pc, Column.AOP], program[pc, Column.ATYP], 0)
        return
    mask = executing & giving_lanes(program[pc, Column.MATRICES])
    if program[pc, Column.MATRICES] and lanes_missing(g, s, program, w, pc, executing):
        return
    s.passes = 0
    s.done_at = 0
    s.lines = 0
    if find_addresses(g, s, program, rows, w, pc, mask):
        misaligned(g, s, w, pc, mask, program[pc, Column.SIZE])
        return
    # lanes that go to global, shared and local memory; generic addresses point to any of them
    split = 1 if space == SpaceCode.GENERIC and s.inside == 0 else 0  # all that are inside are in one buffer
    to_shared = mask if space == SpaceCode.SHARED else 0
    to_local = mask if space == SpaceCode.LOCAL else 0
    if split:
        to_shared = lanes_within(g, s, mask, SHARED_WINDOW)
        to_local = lanes_within(g, s, mask, LOCAL_WINDOW)
    s.to_shared = to_shared
    if CHECKING and g.check and program[pc, Column.TOUCHES]:
        halves = lone_halves(g, s, program, pc, mask, 16) if access == AccessCode.ATOMIC else 0
        outside_variables(g, s, program, w, pc, mask, to_shared, split, halves)
        if g.fault:
            return
    if space == SpaceCode.CONST:
        in_const(g, s, program, rows, const, w, pc, mask)
    elif mask & ~(to_shared | to_local):
        in_global(g, s, program, rows, global_, w, pc, mask & ~(to_shared | to_local))
    if to_shared and g.fault == 0:
        if split:
            move_addresses(g, s, -SHARED_WINDOW)
        in_shared(g, s, program, rows, shared, w, pc, to_shared)
        if split:
            move_addresses(g, s, SHARED_WINDOW)  # for the checks that follow
    if to_local and g.fault == 0:
        if split:
            move_addresses(g, s, -LOCAL_WINDOW)
        in_local(g, s, program, rows, local, w, pc, to_local)
        if split:
            move_addresses(g, s, LOCAL_WINDOW)
    if s.lines and g.fault == 0:
        make_access(g, s, w)
    if access == AccessCode.ATOMIC and g.fault == 0:
        row = first_row(s, w) + program[pc, Column.RD]
        if program[pc, Column.RD] != RZ:
            merge(g, rows[row], s.d, mask)
            if program[pc, Column.RD_UNITS] == 2:
                merge(g, rows[row + 1], s.dh, mask)
