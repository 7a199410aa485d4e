"""The reconvergence stack of a warp orders the sides of divergent branches and calls.

Entries are (kind, PC, reconvergence PC, mask); the top one runs. An entry is popped when its PC is its reconvergence
PC. Its lanes then wait in an entry deeper in the stack whose PC is that point. A divergent branch turns the running
entry into the one that waits at the reconvergence point, and pushes one entry per side. If the next deeper entry
already waits at the same point (a loop's next round), the running entry is dropped instead, so loops have bounded
depth. A call pushes a CALL entry, which never reconverges but empties as its lanes return.

`sm.control` names one function here for each kind of control. They take the lanes that execute as `mask`, which may be
empty, and leave the warp's PC behind the instruction.
"""

from __future__ import annotations

from binalloc.emulator.checks.faulting import set_fault
from binalloc.emulator.execute.operands import stage
from binalloc.emulator.execute.warp import warpsync
from binalloc.emulator.memory.l1 import wait_for_stores
from binalloc.emulator.policies.pairs import give_if_released
from binalloc.emulator.state.arrays import Cube, Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import CodeKind, Column, EntryKind, Fault, StackColumn
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit
from binalloc.isa.table.opcodes import MODIFIERS

CTA = MODIFIERS["scope"].values.index("CTA")  # the scope of a fence that concerns the block only


@device(inline=True)
def settle(s: Sm, w: int) -> None:
    """Pop entries that are empty or at their reconvergence point."""
    sp = s.sp[w]
    while sp >= 0 and (
        s.stack[w, sp, StackColumn.MASK] == 0
        or (
            s.stack[w, sp, StackColumn.KIND] == EntryKind.PLAIN
            and s.stack[w, sp, StackColumn.PC] == s.stack[w, sp, StackColumn.RPC]
        )
    ):
        sp -= 1
    s.sp[w] = sp


@device
def push(g: Gpu, s: Sm, w: int, kind: int, pc: int, rpc: int, mask: int) -> None:
    """Push an entry. Overflow is a fault at the running instruction, whatever the entries' PCs are by now."""
    sp = s.sp[w] + 1
    if sp >= g.stack_entries:
        set_fault(g, s, Fault.STACK, w, s.at[w], -1, g.stack_entries, 0, 0)
        return
    s.sp[w] = sp
    s.stack[w, sp, StackColumn.KIND] = kind
    s.stack[w, sp, StackColumn.PC] = pc
    s.stack[w, sp, StackColumn.RPC] = rpc
    s.stack[w, sp, StackColumn.MASK] = mask


@device
def advance(s: Sm, w: int, pc: int) -> None:
    """Set the PC behind an instruction without control flow, at which no entry becomes empty."""
    s.stack[w, s.sp[w], StackColumn.PC] = pc + 1
    if s.stack[w, s.sp[w], StackColumn.RPC] == pc + 1:
        settle(s, w)


@device
def branch(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute BRA: its lanes jump, the others go on. The layout of the code makes no difference: a branch to the next
    word diverges like any other."""
    s.stat[Stat.BRANCHES] += 1
    sp = s.sp[w]
    active = s.stack[w, sp, StackColumn.MASK]
    target = program[pc, Column.TARGET]
    if mask == active:
        s.stack[w, sp, StackColumn.PC] = target
        settle(s, w)
        return
    if mask == 0:
        s.stack[w, sp, StackColumn.PC] = pc + 1
        settle(s, w)
        return
    s.stat[Stat.DIVERGENT_BRANCHES] += 1
    if program[pc, Column.DIVERGES] == 0:
        set_fault(g, s, Fault.NO_RECONV, w, pc, -1, mask, active, 0)
        return
    join = program[pc, Column.RECONV]
    if sp > 0 and s.stack[w, sp, StackColumn.KIND] == EntryKind.PLAIN and s.stack[w, sp, StackColumn.RPC] == join:
        s.sp[w] = sp - 1
    else:
        s.stack[w, sp, StackColumn.PC] = join
    if target != join:
        push(g, s, w, EntryKind.PLAIN, target, join, mask)
    if pc + 1 != join:
        push(g, s, w, EntryKind.PLAIN, pc + 1, join, active & ~mask)
    settle(s, w)


@device
def enter(g: Gpu, s: Sm, program: Grid, w: int, pc: int, target: int, mask: int, most: int) -> None:
    """Let lanes `mask`, not empty, of the call at `pc` enter the function at `target`. It is checked that there is one.
    most: CodeWord.REWRITTEN if a rewritten function is allowed, else CodeWord.FUNCTION."""
    if target < 0 or target >= g.code_words or not CodeKind.FUNCTION <= program[target, Column.VALID] <= most:
        set_fault(g, s, Fault.CALL_TARGET, w, pc, lowest_bit(mask), target, 0, 0)
        return
    push(g, s, w, EntryKind.CALL, target, -1, mask)


@device
def call(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute CALL: its lanes enter the target; the others wait behind the call until it has returned."""
    s.stack[w, s.sp[w], StackColumn.PC] = pc + 1
    if mask != 0:
        enter(g, s, program, w, pc, program[pc, Column.TARGET], mask, CodeKind.REWRITTEN)
    settle(s, w)


@device
def call_indirect(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute CALL.IND: push one CALL entry per distinct target. They are ordered by their lowest lanes, the highest of
    these first, so that the function of the lowest lane runs first."""
    stage(g, s, program, regs, w, pc)
    s.stack[w, s.sp[w], StackColumn.PC] = pc + 1
    for k in range(g.lanes):
        lane = g.lanes - 1 - k
        same = 0
        for t in range(g.lanes):
            if (mask >> t) & 1 and s.a[t] == s.a[lane]:
                same |= 1 << t
        if (mask >> lane) & 1 and lowest_bit(same) == lane:
            enter(g, s, program, w, pc, s.a[lane], same, CodeKind.FUNCTION)
    settle(s, w)


@device
def leave(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute RET: its lanes leave every entry from the top down to the innermost CALL entry."""
    sp = s.sp[w]
    s.stack[w, sp, StackColumn.PC] = pc + 1
    if mask == 0:
        settle(s, w)
        return
    i = sp
    while i >= 0:
        s.stack[w, i, StackColumn.MASK] &= ~mask
        if s.stack[w, i, StackColumn.KIND] == EntryKind.CALL:
            break
        i -= 1
    if i < 0:
        set_fault(g, s, Fault.RETURN, w, pc, -1, mask, 0, 0)
        return
    settle(s, w)


@device
def finish(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute EXIT: its lanes leave every entry. The warp has ended when the stack is empty. A thread that has ended
    counts as one that has released what its block shares."""
    sp = s.sp[w]
    s.stack[w, sp, StackColumn.PC] = pc + 1
    if mask != 0:
        for i in range(sp + 1):
            s.stack[w, i, StackColumn.MASK] &= ~mask
        s.live[w] &= ~mask
        if g.pairs:
            give_if_released(g, s, s.block_of[w])
    settle(s, w)


@device
def release(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute RELSSP. Without pairs of blocks it does nothing.

    After "Scratchpad Sharing in GPUs", section 6.2 and Fig. 9: each thread has a release bit. (By the count of Fig. 8 a
    thread that ends without RELSSP, or comes to it twice, would break the release.)
    """
    advance(s, w, pc)
    if g.pairs and mask:
        s.released[w] |= mask
        give_if_released(g, s, s.block_of[w])


@device
def converge(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute WARPSYNC."""
    advance(s, w, pc)
    stage(g, s, program, regs, w, pc)
    warpsync(g, s, w, pc, mask)


@device
def fence(g: Gpu, s: Sm, program: Grid, regs: Cube, w: int, pc: int, mask: int) -> None:
    """Execute MEMBAR. Data is in order anyway. With a scope wider than the block its result comes when the warp's
    stores have arrived at L2."""
    advance(s, w, pc)
    if mask and program[pc, Column.SCOPE] != CTA:
        wait_for_stores(g, s, w, program[pc, Column.WBAR])
