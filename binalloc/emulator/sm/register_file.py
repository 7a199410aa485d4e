"""Banks of the register file, and the operand cache in front of them, on machines that name banks.

Each scheduler has banks of its own. An instruction of fixed latency asks for its registers when it issues; a bank gives
out so many a cycle, in the order in which they were asked for. An instruction whose last register comes later than the
machine's window waits until it is within, and its scheduler issues nothing meanwhile (stall `register_bank`): the
pipeline is in order, so whatever follows is as late, and stall counts stay right. After Huerta et al., "Dissecting and
Modeling the Architecture of Modern GPU Cores" (MICRO 2025), sections 5.1.1 and 5.3, who measured this on Turing, Ampere
and Blackwell; banks and conflicts on Volta after Jia et al. (arXiv 1804.06826)."""

from __future__ import annotations

from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import OPERAND_WORDS, OPERANDS, READ_BITS, REGISTER_BITS, RZ, Column
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def read_registers(g: Gpu, s: Sm, program: Grid, w: int, pc: int) -> int:
    """The instruction at `pc`, which warp w issues now, asks for its registers. Returns the cycles that it waits, and
    its scheduler with it."""
    sch = g.scheduler_of[w]
    reads = left_to_read(g, s, program, sch, w, pc) if g.operand_cache else program[pc, Column.READS]
    wait = 0
    for bank in range(g.register_banks):
        n = (reads >> READ_BITS * bank) & ((1 << READ_BITS) - 1)
        if n:
            end = max(s.bank_free[sch, bank], g.cycle * g.bank_reads) + n
            s.bank_free[sch, bank] = end
            wait = max(wait, (end + g.bank_reads - 1) // g.bank_reads - g.cycle - g.read_window)
    if wait:
        s.issue_from[sch] = g.cycle + wait + 1
        s.issue_latest = max(s.issue_latest, s.issue_from[sch])
        s.stat[Stat.REGISTER_CONFLICTS] += 1
        s.stat[Stat.REGISTER_WAIT_CYCLES] += wait
    return wait


@device
def kept_as(s: Sm, w: int, register: int) -> int:
    """What stands in the operand cache for a register of warp w. Warps of one slot are told apart by their age, so that
    none finds what an earlier one has left."""
    return 1 + register + (s.age[w] << REGISTER_BITS)


@device
def left_to_read(g: Gpu, s: Sm, program: Grid, sch: int, w: int, pc: int) -> int:
    """What the instruction reads of each bank, as in column READS, but for what is kept for its operands; every entry
    that it asks is used up, and holds what it keeps itself."""
    operands = program[pc, Column.OPERANDS]
    missing = 0
    for i in range(OPERANDS * OPERAND_WORDS):
        register = (operands >> REGISTER_BITS * i) & RZ
        if register != RZ:
            operand = i // OPERAND_WORDS
            entry = register % g.register_banks * OPERANDS + operand
            name = kept_as(s, w, register)
            if s.kept[sch, entry] == name:
                s.stat[Stat.OPERAND_CACHE_HITS] += 1
            else:
                missing |= 1 << i
            s.kept[sch, entry] = name if (program[pc, Column.REUSE] >> operand) & 1 else 0
    reads = 0
    for i in range(OPERANDS * OPERAND_WORDS):
        if (missing >> i) & 1 and first_of(operands, missing, i):
            register = (operands >> REGISTER_BITS * i) & RZ
            reads += 1 << READ_BITS * (register % g.register_banks)
    return reads


@device
def first_of(operands: int, missing: int, i: int) -> int:
    """1 if the i-th register of the operands is none of the missing ones before it."""
    for k in range(i):
        if (missing >> k) & 1 and ((operands >> REGISTER_BITS * k) ^ (operands >> REGISTER_BITS * i)) & RZ == 0:
            return 0
    return 1
