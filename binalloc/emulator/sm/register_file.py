"""This module has the banks of the register file and the operand cache in front of them, for machines that name banks.

Each scheduler has banks of its own. An instruction of fixed latency asks for its registers when it issues. A bank gives
out a number of registers per cycle, in the order of the requests. An instruction waits where its last register comes
later than the machine's window, and its scheduler issues nothing meanwhile (stall `register_bank`). The pipeline is in
order, so whatever follows is as late, and stall counts stay right.

After Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores" (MICRO 2025), sections 5.1.1 and
5.3, who measured this on Turing, Ampere and Blackwell; banks and conflicts on Volta after Jia et al. (arXiv
1804.06826).
"""

from __future__ import annotations

from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import OPERAND_WORDS, OPERANDS, READ_BITS, REGISTER_BITS, RZ, Column
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def read_registers(g: Gpu, s: Sm, program: Grid, w: int, pc: int) -> int:
    """Have the instruction at `pc`, which warp w issues now, ask for its registers. Return the cycles that it and its
    scheduler wait."""
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
    """Return the value for a register of warp w in the operand cache. It contains the warp's age, so no warp finds the
    registers of an earlier one in its slot."""
    return 1 + register + (s.age[w] << REGISTER_BITS)


@device
def left_to_read(g: Gpu, s: Sm, program: Grid, sch: int, w: int, pc: int) -> int:
    """Return the reads that the instruction needs of each bank, in the form of column READS, without operands in the
    cache. An entry that is looked up is used up, and then has what the instruction keeps."""
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
    """Return 1 if the i-th register of the operands differs from the missing ones before it."""
    for k in range(i):
        if (missing >> k) & 1 and ((operands >> REGISTER_BITS * k) ^ (operands >> REGISTER_BITS * i)) & RZ == 0:
            return 0
    return 1
