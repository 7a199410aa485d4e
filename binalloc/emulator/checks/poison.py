"""`check` marks values as poisoned until something writes them, propagates poison through all instructions, and reports
a fault only where it matters.

Registers, predicates, shared and local words start poisoned. An instruction's results are poisoned in the lanes where
any source, or the guard, is. SEL looks only at the side it takes, SHFL at the lane it reads. Poison is a fault in an
address, in a branch or other control, in the guard of a store, and in data stored to global memory.

Poison is tracked by whole words. A store narrower than a word cleans all of it, which can hide poison. A word stays
poisoned where only written bits of it are kept, and this can be a false fault. An example is a bit field set in a local
variable that nothing wrote as a whole, as code of nvcc -O0 and -G does: load, mask, merge, store, shift.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.integer import shfl_source
from binalloc.emulator.arithmetic.matrix import giving_lanes, matrix_half
from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import (
    FIRST_DEF,
    FIRST_USE,
    FULL,
    LANES,
    LOCAL_WINDOW,
    NO_CONTROL,
    PRED_ROW,
    PT,
    RZ,
    SHARED_WINDOW,
    WINDOW_SIZE,
    AccessCode,
    Column,
    ExecGroup,
    Fault,
    SpaceCode,
    Taint,
)
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit
from binalloc.isa.table.opcodes import MATRIX_ROWS


class Sink(Codes):
    """Poison is a fault in these places."""

    GUARD: int  #: the guard of control flow or of a store
    ADDRESS: int  #: the address of a memory access
    DATA: int  #: data stored to global memory
    TARGET: int  #: the target of an indirect branch or call, the size of BAR.ALLOC, the address of BAR.FREE


@device
def poison_all(g: Gpu, s: Sm, shadow: Grid, shadow_local: Grid, slot: int) -> None:
    """Poison all that belongs to a new block in `slot`. RZ and PT are never poisoned."""
    poison_words(s, shadow, s.shared_first[slot], s.shared_end[slot])
    if g.pairs and s.own_slots[slot]:
        for i in range(g.warps_per_block):
            row = s.own_slots[slot] + (i * g.slot_bytes >> 2)
            poison_words(s, shadow, row, row + g.private_rows * LANES)
    for i in range(g.warps_per_block):
        w = slot * g.warps_per_block + i
        shadow_local[s.warp_base + w, :] = FULL
        for r in range(PRED_ROW + PT):
            s.poison[w, r] = FULL
        s.poison[w, RZ] = 0
        s.poison[w, PRED_ROW + PT] = 0
        if g.local_stack < RZ:
            s.poison[w, g.local_stack] = 0  # the hardware sets it


@device
def poison_words(s: Sm, shadow: Grid, first: int, end: int) -> None:
    """Poison words of the SM's shared memory."""
    shadow[s.id, first:end] = 1


@device
def poison_fault(g: Gpu, s: Sm, w: int, pc: int, lanes: int, what: int) -> None:
    """Report a fault of the lowest lane of `lanes`, if there is any."""
    if lanes:
        set_fault(g, s, Fault.POISON, w, pc, lowest_bit(lanes), what, lanes, 0)


@device
def poison_before(g: Gpu, s: Sm, program: Grid, w: int, pc: int, active: int, mask: int) -> None:
    """Report the faults that need no address. Leaves the sources' and the guard's poison in `s.taint` and
    `s.taint_guard`."""
    guard = s.poison[w, PRED_ROW + program[pc, Column.GUARD]] & active
    taint = 0
    for i in range(program[pc, Column.N_LATE]):
        taint |= s.poison[w, program[pc, FIRST_USE + i]]
    s.taint = taint
    s.taint_guard = guard
    if program[pc, Column.CONTROL] != NO_CONTROL:
        poison_fault(g, s, w, pc, guard, Sink.GUARD)
        if program[pc, Column.TAINT] == Taint.TARGET:
            poison_fault(g, s, w, pc, taint & mask, Sink.TARGET)
    if program[pc, Column.GROUP] == ExecGroup.MEM:
        base = s.poison[w, program[pc, Column.A_REG]]
        if program[pc, Column.A_UNITS] == 2 and program[pc, Column.A_REG] != RZ:
            base |= s.poison[w, program[pc, Column.A_REG] + 1]
        poison_fault(g, s, w, pc, base & mask & giving_lanes(program[pc, Column.MATRICES]), Sink.ADDRESS)
        if program[pc, Column.ACCESS] != AccessCode.LOAD:
            poison_fault(g, s, w, pc, guard, Sink.GUARD)
            if program[pc, Column.SPACE] == SpaceCode.GLOBAL:
                poison_fault(g, s, w, pc, taint & mask, Sink.DATA)


@device
def memory_word(
    g: Gpu, s: Sm, program: Grid, shadow: Grid, shadow_local: Grid, w: int, pc: int, t: int, k: int
) -> int:
    """Return 1 if word k of lane t's access in shared or local memory is poisoned, else 0."""
    space = program[pc, Column.SPACE]
    address = s.addr[t]
    if space == SpaceCode.GENERIC:
        if (s.to_shared >> t) & 1:
            space, address = SpaceCode.SHARED, address - SHARED_WINDOW
        elif LOCAL_WINDOW <= address < LOCAL_WINDOW + WINDOW_SIZE:
            space, address = SpaceCode.LOCAL, address - LOCAL_WINDOW
    value = 0
    if space == SpaceCode.SHARED:
        value = shadow[s.id, s.shared_first[s.block_of[w]] + (address >> 2) + k]
    elif space == SpaceCode.LOCAL:
        value = (shadow_local[s.warp_base + w, (address >> 2) + k] >> t) & 1
    return value


@device
def poison_store(
    g: Gpu,
    s: Sm,
    program: Grid,
    shadow: Grid,
    shadow_local: Grid,
    w: int,
    pc: int,
    t: int,
    k: int,
    value: int,
) -> None:
    """Give word k of lane t's store the poison `value`. Poison for global memory behind a generic address is a
    fault."""
    space = program[pc, Column.SPACE]
    address = s.addr[t]
    if space == SpaceCode.GENERIC:
        space = SpaceCode.GLOBAL
        if (s.to_shared >> t) & 1:
            space, address = SpaceCode.SHARED, address - SHARED_WINDOW
        elif LOCAL_WINDOW <= address < LOCAL_WINDOW + WINDOW_SIZE:
            space, address = SpaceCode.LOCAL, address - LOCAL_WINDOW
    if space == SpaceCode.SHARED:
        shadow[s.id, s.shared_first[s.block_of[w]] + (address >> 2) + k] = value
    elif space == SpaceCode.LOCAL:
        old = shadow_local[s.warp_base + w, (address >> 2) + k]
        shadow_local[s.warp_base + w, (address >> 2) + k] = (old & ~(1 << t)) | (value << t)
    elif value:
        poison_fault(g, s, w, pc, 1 << t, Sink.DATA)


@device
def set_poison(s: Sm, w: int, row: int, bits: int, mask: int) -> None:
    """Give the row `bits` as poison in the lanes executed. Lanes whose guard is poisoned are poisoned either way."""
    lanes = mask | s.taint_guard
    s.poison[w, row] = (s.poison[w, row] & ~lanes) | ((bits | s.taint_guard) & lanes)


@device
def poison_memory(
    g: Gpu, s: Sm, program: Grid, shadow: Grid, shadow_local: Grid, w: int, pc: int, mask: int
) -> None:
    """Move poison between registers and shared or local words, for a memory instruction that has executed."""
    access = program[pc, Column.ACCESS]
    rd = program[pc, Column.RD]
    data = program[pc, Column.DATA]
    for k in range(max(program[pc, Column.SIZE] >> 2, 1)):
        loaded = 0
        for t in range(g.lanes):
            if (
                (mask >> t) & 1
                and program[pc, Column.SPACE] != SpaceCode.GLOBAL
                and program[pc, Column.SPACE] != SpaceCode.CONST
            ):
                if access != AccessCode.STORE:
                    loaded |= memory_word(g, s, program, shadow, shadow_local, w, pc, t, k) << t
                if access != AccessCode.LOAD:
                    value = (s.poison[w, data + k if data != RZ else RZ] >> t) & 1
                    if access != AccessCode.STORE:
                        value |= (loaded >> t) & 1
                    poison_store(g, s, program, shadow, shadow_local, w, pc, t, k, value)
        if access != AccessCode.STORE and rd != RZ:
            set_poison(s, w, rd + k, loaded, mask)


@device
def poison_matrices(g: Gpu, s: Sm, program: Grid, shadow: Grid, w: int, pc: int, mask: int) -> None:
    """Set the poison of LDSM's results. A lane's register is poisoned where a word of shared memory is poisoned that
    holds one of its two halves."""
    rd = program[pc, Column.RD]
    if rd == RZ:
        return
    start = s.shared_first[s.block_of[w]]
    for m in range(program[pc, Column.MATRICES]):
        loaded = 0
        for t in range(g.lanes):
            for k in range(2):
                row, column = matrix_half(program[pc, Column.MFORM], t, k)
                word = (s.addr[MATRIX_ROWS * m + row] >> 2) + (column >> 1)
                loaded |= int(shadow[s.id, start + word]) << t
        set_poison(s, w, rd + m, loaded, mask)


@device
def poison_after(
    g: Gpu, s: Sm, program: Grid, shadow: Grid, shadow_local: Grid, w: int, pc: int, mask: int
) -> None:
    """Set the poison of all that the instruction at `pc` wrote in lanes `mask`."""
    if program[pc, Column.MATRICES]:
        poison_matrices(g, s, program, shadow, w, pc, mask)
        return
    if program[pc, Column.GROUP] == ExecGroup.MEM:
        poison_memory(g, s, program, shadow, shadow_local, w, pc, mask)
        return
    taint = s.taint
    choice = 0
    kind = program[pc, Column.TAINT]
    if kind == Taint.CHOICE:
        p = s.pred[w, program[pc, Column.PS0]] ^ program[pc, Column.PS0_XOR]
        b = s.poison[w, program[pc, Column.B_REG]] if program[pc, Column.B_REG] >= 0 else 0
        taint = (
            s.poison[w, PRED_ROW + program[pc, Column.PS0]] | (s.poison[w, program[pc, Column.A_REG]] & p) | (b & ~p)
        )
    elif kind == Taint.LANE:
        # which lane is read, and whether it is in range; a lane that is not active gives zero
        for i in range(1 if program[pc, Column.A_REG] != RZ else 0, program[pc, Column.N_LATE]):
            choice |= s.poison[w, program[pc, FIRST_USE + i]]
        source_poison = s.poison[w, program[pc, Column.A_REG]] & mask
        taint = choice
        for t in range(g.lanes):
            if (mask >> t) & 1:
                source, _ = shfl_source(program[pc, Column.SHFL], t, s.b[t], s.c[t])
                taint |= ((source_poison >> source) & 1) << t
    elif kind == Taint.ALL and taint & mask:
        taint = FULL
    for i in range(program[pc, Column.N_DEFS]):
        row = program[pc, FIRST_DEF + i]
        set_poison(s, w, row, choice if kind == Taint.LANE and row >= PRED_ROW else taint, mask)
