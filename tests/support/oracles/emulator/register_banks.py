"""What instructions wait for their registers, replayed from the log of a run, read by read and cycle by cycle.

Each scheduler's banks are a calendar: a read takes the first cycle, from that of its instruction's issue on, in which
its bank has given out fewer registers than it can. An instruction waits until its last read is within the window.
Operands are told apart here by a table of opcodes; all that stands in none reads no banks: memory, slow units, control.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import REG
from binalloc.isa.loom.view import view
from binalloc.models.machines.model import Machine
from binalloc.models.machines.sections import RegisterFile
from tests.support.kits.emulator.run_log import Row

SINGLE, PAIR, NONE = 1, 2, 0
OPERANDS: dict[str, tuple[int, int, int]] = {
    "FFMA": (SINGLE, SINGLE, SINGLE), "IADD3": (SINGLE, SINGLE, SINGLE), "IMAD": (SINGLE, SINGLE, SINGLE),
    "LOP3": (SINGLE, SINGLE, SINGLE), "SHF": (SINGLE, SINGLE, SINGLE), "FADD": (SINGLE, SINGLE, NONE),
    "FMUL": (SINGLE, SINGLE, NONE), "SEL": (SINGLE, SINGLE, NONE), "ISETP": (SINGLE, SINGLE, NONE),
    "MOV": (NONE, SINGLE, NONE), "IMAD.WIDE": (SINGLE, SINGLE, PAIR), "DADD": (PAIR, PAIR, NONE),
    "DMUL": (PAIR, PAIR, NONE), "DFMA": (PAIR, PAIR, PAIR),
}  # fmt: skip
"""Widths of the operands A, B and C."""
RZ = 255
IMMEDIATE_B, CONSTANT_B, IMMEDIATE_C, CONSTANT_C = 1, 2, 3, 4
SLOWEST_FIXED = 15


def operands(instr: Instr, machine: Machine) -> list[list[int]]:
    """The registers of A, B and C that an instruction of fixed latency reads."""
    widths = OPERANDS.get(instr.op.name)
    if widths is None or machine.units[instr.op.unit].latency > SLOWEST_FIXED:
        return [[], [], []]
    form = instr.f.get("form", 0)
    names: list[str | None] = ["ra", "rb", "rc"]
    if form in (IMMEDIATE_B, CONSTANT_B):
        names[1] = None
    if form in (IMMEDIATE_C, CONSTANT_C):
        names[1:] = ["rc", None]
    found = []
    for name, width in zip(names, widths, strict=True):
        first = RZ if name is None or not width else instr.f[name]
        found.append([] if first == RZ else [first + i for i in range(width)])
    return found


@dataclass
class Banks:
    """The banks of one scheduler."""

    shape: RegisterFile
    given: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Registers that a bank gives out in a cycle."""
    kept: dict[tuple[int, int], tuple[object, int]] = field(default_factory=dict)
    """Warp and register that the operand cache holds for a bank and operand."""
    hits: list[tuple[object, int]] = field(default_factory=list)
    """Warps and registers that were found there."""

    def issue(self, cycle: int, warp: object, registers: Sequence[Sequence[int]], reuse: int) -> int:
        """The cycles that an instruction of the warp waits when it issues in `cycle`."""
        wanted = set()
        for operand, group in enumerate(registers):
            for register in group:
                entry = register % self.shape.banks, operand
                if self.kept.pop(entry, None) == (warp, register):
                    self.hits.append((warp, register))
                else:
                    wanted.add(register)
                if self.shape.operand_cache and reuse >> operand & 1:
                    self.kept[entry] = warp, register
        last = max((self.read(cycle, register % self.shape.banks) for register in sorted(wanted)), default=cycle)
        return max(0, last - (cycle + self.shape.window - 1))

    def read(self, cycle: int, bank: int) -> int:
        """The cycle in which the bank gives out one register more."""
        while self.given[bank, cycle] == self.shape.reads:
            cycle += 1
        self.given[bank, cycle] += 1
        return cycle


@dataclass(frozen=True)
class Replay:
    """What a run's issues waited, over all schedulers: instructions that did, cycles, operands that were kept; of these
    such as had been written since."""

    conflicts: int
    waited: int
    hits: int
    stale: int


def replay(rows: Iterable[Row], code: Sequence[Instr], machine: Machine) -> Replay:
    """The issues of a log again. AssertionError where a scheduler issues while an instruction of its waits, or a warp
    before its stall count and that wait are over."""
    shape = machine.register_file
    assert shape is not None
    count = machine.schedulers.count
    banks: dict[tuple[int, int], Banks] = {}
    free: dict[tuple[int, int], int] = {}
    awake: dict[tuple[int, int], int] = {}
    unwritten: dict[object, set[int]] = {}
    """Of each warp the registers that were kept and have not been written since."""
    conflicts = waited = stale = 0
    for row in rows:
        if row.kind != "issue":
            continue
        scheduler, warp = (row.sm, row.warp % count), (row.block, row.in_block)
        assert row.cycle >= free.get(scheduler, 0), "a scheduler issues before its time"
        assert row.cycle >= awake.get(warp, 0), "a warp issues before its time"
        instr = code[row.pc]
        reads = operands(instr, machine)
        bank = banks.setdefault(scheduler, Banks(shape))
        before = len(bank.hits)
        wait = bank.issue(row.cycle, warp, reads, instr.ctrl.reuse)
        fresh = unwritten.setdefault(warp, set())
        stale += sum(register not in fresh for _, register in bank.hits[before:])
        fresh |= {r for k, group in enumerate(reads) for r in group if instr.ctrl.reuse >> k & 1}
        fresh -= {r for ref in view(instr).defs if ref.file == REG for r in ref.registers()}
        conflicts += wait > 0
        waited += wait
        free[scheduler] = row.cycle + wait + (wait > 0)
        awake[warp] = row.cycle + instr.ctrl.stall + wait
    return Replay(conflicts, waited, sum(len(each.hits) for each in banks.values()), stale)
