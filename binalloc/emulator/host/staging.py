"""Staging turns a module's code into a table of integers, and its constants into words, for one launch on one machine.

Per code word the table holds all that device code needs, so that it does not look at encodings again: opcode, unit,
latency, control code, operand kinds (register or value; constants c[bank][offset] are resolved here, once per launch),
modifiers, and the registers and predicates that the instruction reads and writes by the instruction interface (for the
hazard rules).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from binalloc.emulator.execute.operation import is_plain
from binalloc.emulator.execute.table import NUMBERS, OPERATIONS
from binalloc.emulator.host.value_rows import ValueRows
from binalloc.emulator.sm.control import control_number
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.emulator.state.memory_layout import BANK_SHIFT
from binalloc.emulator.state.parts.scheduler import LOAD_SHIFT
from binalloc.errors import Hint, MalformedInput, Refused
from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import Ref
from binalloc.isa.kinds import Access, Space
from binalloc.isa.loom.view import view
from binalloc.isa.table.fields import PT, RZ
from binalloc.isa.table.opcodes import (
    ATOMIC_BYTES,
    CACHE_OPS,
    FORM_C_CONST,
    FORM_C_IMM,
    FORM_CONST,
    FORM_IMM,
    ITYPES,
    MATRIX_ROW_BYTES,
    WIDTH_BYTES,
    WIDTHS,
    Operand,
)
from binalloc.isa.timing import by_scoreboard
from binalloc.isa.validate import CODE_LIMIT, validate_layout
from binalloc.models.machines.model import Machine

assert L.CODE_WORDS == CODE_LIMIT  # device code has it as a constant of its own
PAST_L1 = ("CG", "CV")  # Cache modifiers of accesses that bypass L1: they find nothing in it and leave nothing there.
_FLOAT_GROUPS = ("float32", "float64", "half", "conversion")
"""groups whose operands have negation and absolute value as sign modifiers"""
_COMPUTES = (L.ExecGroup.INT, L.ExecGroup.F32, L.ExecGroup.CONV, L.ExecGroup.F64, L.ExecGroup.HALF)
"""groups that neither access memory nor control the warp nor look across lanes, see `easy`"""


@dataclass
class Constants:
    """Staged constants are all banks in one array of words."""

    words: Array  #: uint32, all banks one after the other
    start: list[int]  #: first byte of each bank
    size: list[int]  #: bytes of each bank

    @staticmethod
    def build(banks: dict[int, bytes]) -> Constants:
        """Lay the banks out one after the other. A bank that is not given has size 0."""
        start, size, data = [0] * L.CONST_BANKS, [0] * L.CONST_BANKS, b""
        for bank in sorted(banks):
            start[bank], size[bank] = len(data), len(banks[bank])
            data += banks[bank] + bytes(-len(banks[bank]) % 16)
        return Constants(np.frombuffer(data + bytes(16), "<u4").copy(), start, size)

    def read(self, bank: int, offset: int, words: int) -> list[int] | None:
        """Return `words` words from c[bank][offset]; None where the bank ends before."""
        if offset + 4 * words > self.size[bank]:
            return None
        first = (self.start[bank] + offset) // 4
        return [int(word) for word in self.words[first : first + words]]


class StagedProgram:
    """A Program is the staged code of a module: `table`, int64 [word, column]. `place(word)` gives function and index
    of a word."""

    def __init__(self, module: Module, machine: Machine, constants: Constants) -> None:
        validate_layout(module)
        self.module, self.machine = module, machine
        self.values = ValueRows()
        self.with_operands: list[tuple[int, Instr]] = []
        words = max((fn.address + len(fn.instrs) for fn in module.functions), default=0)
        self.table: Array = np.zeros((words + 1, L.COLUMNS), np.int64)
        for fn in module.functions:
            for index, instr in enumerate(fn.instrs):
                try:
                    row = stage_instruction(fn.address + index, instr, machine, constants, self.values)
                except MalformedInput as error:
                    error.place = error.place or f"{fn.name}+{index}"
                    raise (error.at(module.path) if module.path else error) from None
                self.table[fn.address + index] = row
                if row[L.Column.CONSTANT] or row[L.Column.GROUP] == L.ExecGroup.OUTSIDE:
                    self.with_operands.append((fn.address + index, instr))
            if fn.instrs and not fn.info.is_kernel:
                self.table[fn.address, L.Column.VALID] = L.CodeKind.FUNCTION if fn.addressable else L.CodeKind.REWRITTEN
        # a branch out of the code goes to the word behind the last, which is no instruction
        for column in (L.Column.TARGET, L.Column.RECONV):
            outside = (self.table[:, column] < 0) | (self.table[:, column] > words)
            self.table[outside, column] = words

    def with_constants(self, constants: Constants) -> StagedProgram:
        """Return the same code with other contents of constant banks. Only instructions with operands there are staged
        again: they do not branch, and their words are valid as before."""
        other = copy(self)
        other.table, other.values = self.table.copy(), self.values.copy()
        for word, instr in self.with_operands:
            valid = self.table[word, L.Column.VALID]
            other.table[word] = stage_instruction(word, instr, self.machine, constants, other.values)
            other.table[word, L.Column.VALID] = valid
        return other

    def load_bits(self) -> list[int]:
        """Return a bit for each code word that loads from off-chip memory, or perhaps does, as its address is
        generic."""
        table = self.table
        off_chip = np.isin(table[:, L.Column.SPACE], (L.SpaceCode.GLOBAL, L.SpaceCode.LOCAL, L.SpaceCode.GENERIC))
        loads = (table[:, L.Column.GROUP] == L.ExecGroup.MEM) & (table[:, L.Column.ACCESS] == L.AccessCode.LOAD)
        words = np.flatnonzero((loads & off_chip) | (table[:, L.Column.GROUP] == L.ExecGroup.TEX))
        bits = [0] * ((len(table) >> LOAD_SHIFT) + 1)
        for word in words.tolist():
            bits[word >> LOAD_SHIFT] |= 1 << (word & ((1 << LOAD_SHIFT) - 1))
        return bits

    def place(self, word: int) -> tuple[Function, int] | None:
        """Return the function and instruction index that code word `word` belongs to."""
        for fn in self.module.functions:
            if fn.address <= word < fn.address + len(fn.instrs):
                return fn, word - fn.address
        return None


def check_scheduled(functions: list[Function], machine: Machine, path: str) -> None:
    """Raise Refused unless every function was scheduled for `machine`."""
    for fn in functions:
        if fn.info.machine != machine.name:
            raise Refused(
                f"{fn.name} is not scheduled for {machine.name}",
                file=path or None,
                place=f".loom.info.{fn.name}",
                found=fn.info.machine or "no machine",
                expected=machine.name,
                remedy=Hint(f"Run {{schedule}} with {{machine}} {machine.name} first."),
            )


def check_registers(functions: list[Function], kernel: Function, path: str) -> int:
    """Return the registers per thread: the number that the kernel claims, or the number in its code if it claims 0.
    MalformedInput if its code names more than it claims."""
    most, where = 0, ""
    for fn in functions:
        for index, instr in enumerate(fn.instrs):
            v = view(instr)
            for ref in (*v.defs, *v.uses):
                if ref.file == REG and ref.index + ref.units > most:
                    most, where = ref.index + ref.units, f"{fn.name}+{index}"
    claimed = min(kernel.info.registers, RZ)
    if most > RZ:
        raise MalformedInput(
            f"{kernel.name} names a register behind the last", file=path or None, place=where,
            found=f"R{most - 1}", expected=f"R0 to R{RZ - 1}",
        )  # fmt: skip
    if claimed and most > claimed:
        raise MalformedInput(
            f"{kernel.name} uses more registers than it claims",
            file=path or None, place=where, found=f"R{most - 1}", expected=f"{claimed} registers",
            remedy="Correct the register count in .loom.info.",
        )  # fmt: skip
    return claimed or max(most, 1)


# a row before anything is staged: absent predicates are PT
_BLANK = [0] * L.COLUMNS
for _name in ("pd0", "pd1", "ps0", "ps1", "ps2"):
    _BLANK[L.FIELD_COLUMNS[_name]] = PT


def stage_instruction(word: int, instr: Instr, machine: Machine, constants: Constants, values: ValueRows) -> list[int]:
    """Return the table row of `instr` at code word `word`: one number per column."""
    row = list(_BLANK)
    op, f = instr.op, instr.f
    unit = L.UNIT_NAMES.index(op.unit)
    latency = machine.units[op.unit].latency
    guarded = by_scoreboard(op.variable, latency)
    row[L.Column.VALID] = L.CodeKind.CODE
    operation = OPERATIONS[op.name]
    row[L.Column.OP], row[L.Column.GROUP], row[L.Column.TAINT] = NUMBERS[op.name], operation.group, operation.taint
    row[L.Column.UNIT] = unit
    row[L.Column.LATENCY] = latency
    row[L.Column.VARIABLE] = guarded
    row[L.Column.CONTROL] = control_number(op)
    ctrl = instr.ctrl
    row[L.Column.STALL], row[L.Column.WAIT] = ctrl.stall, ctrl.wait
    row[L.Column.WBAR], row[L.Column.RBAR] = ctrl.wbar, ctrl.rbar
    row[L.Column.GUARD] = instr.guard
    row[L.Column.GUARDN] = L.FULL if instr.guard_neg else 0
    for name, value in f.items():
        if name in L.FIELD_COLUMNS:
            row[L.FIELD_COLUMNS[name]] = value
    for column, name in ((L.Column.PS0_XOR, "ps0n"), (L.Column.PS1_XOR, "ps1n"), (L.Column.PS2_XOR, "ps2n")):
        row[column] = L.FULL if f.get(name) else 0
    row[L.Column.RD] = f.get("rd", RZ)
    row[L.Column.TARGET] = word + 1 + f.get("target", 0)
    row[L.Column.RECONV] = word + 1 + f.get("reconv", 0)
    for c in (L.Column.A_REG, L.Column.B_REG, L.Column.C_REG):
        row[c] = RZ
    for c in (L.Column.A_AND, L.Column.B_AND, L.Column.C_AND):
        row[c] = L.FULL
    for operand in op.operands:
        stage_operand(row, operand, instr, constants)
    stage_rows(row, values)
    if op.access:
        stage_memory(row, instr)
    stage_places(row, instr, guarded)
    if machine.register_file is not None and not guarded and row[L.Column.CONTROL] == L.NO_CONTROL:
        stage_reads(row, machine.register_file.banks)
        row[L.Column.REUSE] = ctrl.reuse
    row[L.Column.EASY], row[L.Column.PLAIN] = easy(row), is_plain(operation, row)
    return row


def easy(row: list[int]) -> bool:
    """Return whether the warp only has to wait for the instruction's stall count, which is not 0. That is so if the
    instruction computes, arms no scoreboard, and need not ask for its registers."""
    computes = row[L.Column.GROUP] in _COMPUTES
    free = row[L.Column.WBAR] == row[L.Column.RBAR] == L.NO_BARRIER
    return computes and free and row[L.Column.STALL] > 0 and not row[L.Column.READS]


def stage_operand(row: list[int], o: Operand, instr: Instr, constants: Constants) -> None:
    """Stage what operand `o` reads: a register (pair), or a value."""
    f = instr.f
    width = o.width(f)
    if o.name == "rd":
        row[L.Column.RD_UNITS] = width
    elif o.name == "ra":
        row[L.Column.A_UNITS], row[L.Column.A_REG] = min(width, 2), f["ra"]
        stage_signs(row, "a", L.Column.A_AND, L.Column.A_XOR, instr)
    elif o.name in ("mem64", "mem32", "cmem"):
        row[L.Column.A_UNITS], row[L.Column.A_REG] = 2 if o.name == "mem64" else 1, f["ra"]
        row[L.Column.OFFSET] = f["coff"] if o.name == "cmem" else f["moff"]
    elif o.name == "b":
        stage_flexible(row, "b", width, instr, constants, L.Column.B_UNITS)
    elif o.name == "c":
        stage_flexible(row, "c", width, instr, constants, L.Column.C_UNITS)
    elif o.name == "rb":
        if instr.op.access in (None, Access.ATOMIC) or instr.op.space == Space.TEXTURE:
            row[L.Column.B_UNITS], row[L.Column.B_REG] = width, f["rb"]
        row[L.Column.DATA] = f["rb"]
    elif o.name == "rc":
        row[L.Column.C_UNITS], row[L.Column.C_REG] = width, f["rc"]
    elif o.name == "lane":
        row[L.Column.B_UNITS] = 1
        row[L.Column.B_REG], row[L.Column.B_LO] = (-1, f["laneimm"]) if f["limm"] else (f["rb"], 0)
    elif o.name == "clamp":
        row[L.Column.C_UNITS] = 1
        row[L.Column.C_REG], row[L.Column.C_LO] = (-1, f["clampimm"]) if f["cimm"] else (f["rc"], 0)


def stage_rows(row: list[int], values: ValueRows) -> None:
    """Stage the rows of operands A, B, C: a row among the warp's own, or one of `values`."""
    c = L.Column
    value = {"b": (c.B_LO, c.B_HI), "c": (c.C_LO, c.C_HI)}
    reg = {"a": c.A_REG, "b": c.B_REG, "c": c.C_REG}
    for name, (at, counts) in L.ROW_COLUMNS.items():
        r = row[reg[name]]
        own = 0 <= r < RZ
        low, high = (row[column] for column in value[name]) if r < 0 else (0, 0)
        row[at] = r if own else values.row(low, high)
        row[counts] = -1 if own else 0
    masks = ((c.A_AND, c.A_XOR), (c.B_AND, c.B_XOR), (c.C_AND, c.C_XOR))
    row[c.SIGNS] = any(row[keep] != L.FULL or row[flip] for keep, flip in masks)
    lie_there = any(row[counts] and row[at] == row[c.RD] for at, counts in L.ROW_COLUMNS.values())
    row[c.DETOUR] = row[c.RD] == RZ or (lie_there and not row[c.SIGNS])


def stage_flexible(row: list[int], name: str, width: int, instr: Instr, constants: Constants, first: int) -> None:
    """Stage operand B or C, whose columns UNITS REG LO HI AND XOR start at `first`, under the instruction's form."""
    f, form = instr.f, instr.form
    immediate = form == (FORM_IMM if name == "b" else FORM_C_IMM)
    constant = form == (FORM_CONST if name == "b" else FORM_C_CONST)
    row[first] = width
    if immediate:
        row[first + 1] = -1
        row[first + 2], row[first + 3] = wide_immediate(f["imm"], instr) if width == 2 else (f["imm"], 0)
    elif constant:
        row[first + 1] = -1
        found = constants.read(f["cbank"], f["coff"], width)
        row[first + 2], row[first + 3] = [*(found or [0]), 0][:2]
        if found is None:  # a fault only when a lane executes it, as in LDC: perhaps never
            row[L.Column.GROUP], row[L.Column.OFFSET], row[L.Column.SIZE] = L.ExecGroup.OUTSIDE, f["coff"], 4 * width
        else:
            row[L.Column.CONSTANT] = 1 + (f["cbank"] << BANK_SHIFT) + f["coff"]
    else:
        row[first + 1] = f["rb" if name == "b" and form not in (FORM_C_IMM, FORM_C_CONST) else "rc"]
    stage_signs(row, name, first + 4, first + 5, instr)


def wide_immediate(imm: int, instr: Instr) -> tuple[int, int]:
    """Return a 32-bit immediate as a 64-bit operand. It is the high word of an f64; an integer is extended by its
    type."""
    if instr.op.operand["b"].units == "i":
        return imm, (L.FULL if ITYPES[instr.f["ityp"]] == "S64" and imm >> 31 else 0)
    return 0, imm


def stage_reads(row: list[int], banks: int) -> None:
    """Stage an instruction's reads of register banks. Column OPERANDS has the registers of A, B and C, two of each (RZ
    where there are fewer). Column READS has the number of different ones in each bank."""
    named, packed = set(), 0
    c = L.Column
    for operand, (units, first) in enumerate(((c.A_UNITS, c.A_REG), (c.B_UNITS, c.B_REG), (c.C_UNITS, c.C_REG))):
        assert row[units] <= L.OPERAND_WORDS
        for word in range(L.OPERAND_WORDS):
            there = word < row[units] and row[first] not in (-1, RZ)
            register = row[first] + word if there else RZ
            packed |= register << L.REGISTER_BITS * (operand * L.OPERAND_WORDS + word)
            named |= {register} - {RZ}
    row[L.Column.OPERANDS] = packed
    row[L.Column.READS] = sum(1 << L.READ_BITS * (register % banks) for register in named)


def stage_signs(row: list[int], name: str, keep: int, flip: int, instr: Instr) -> None:
    """Stage negation and absolute value of a float operand, or of two halves, as masks of its highest word."""
    if instr.op.group in _FLOAT_GROUPS:
        signs = 0x80008000 if instr.op.group == "half" else 0x80000000
        row[keep] = L.FULL ^ signs if instr.f.get("abs" + name) else L.FULL
        row[flip] = signs if instr.f.get("neg" + name) else 0


def stage_memory(row: list[int], instr: Instr) -> None:
    """Stage space, access, size and the spill mark of a memory instruction."""
    op, f = instr.op, instr.f
    if op.space == Space.TEXTURE:
        return
    row[L.Column.SPACE] = L.SpaceCode.names.index(op.space)
    row[L.Column.ACCESS] = L.AccessCode.names.index(op.access)
    row[L.Column.SPILL] = f.get("spill", 0)
    row[L.Column.PAST] = CACHE_OPS[f.get("cache", 0)] in PAST_L1
    if "width" in f:
        if f["width"] >= len(WIDTHS):
            raise MalformedInput("reserved access width", found=f["width"], expected="0 to 6")
        row[L.Column.SIZE] = WIDTH_BYTES[f["width"]]
        row[L.Column.SIGNED] = WIDTHS[f["width"]].startswith("S")
    elif "mats" in f:
        row[L.Column.SIZE], row[L.Column.MATRICES] = MATRIX_ROW_BYTES, op.operand["rd"].width(f)
    else:
        row[L.Column.SIZE] = ATOMIC_BYTES[f["atyp"]] if f["atyp"] < len(ATOMIC_BYTES) else 4


def stage_places(row: list[int], instr: Instr, guarded: bool) -> None:
    """Stage the rows of the hazard table that the instruction reads (its guard last) and writes."""
    v = view(instr)
    uses = [place for ref in v.uses for place in places(ref)]
    defs = [place for ref in v.defs for place in places(ref)]
    late = len(uses)
    if v.guard is not None and v.guard[0] != PT:
        uses.append(L.PRED_ROW + v.guard[0])
    assert max(len(uses), len(defs)) <= L.MAX_LISTED, instr
    row[L.Column.N_USES], row[L.Column.N_DEFS], row[L.Column.N_LATE] = len(uses), len(defs), late
    row[L.FIRST_USE : L.FIRST_USE + len(uses)] = uses
    row[L.FIRST_DEF : L.FIRST_DEF + len(defs)] = defs
    for column, place in zip(L.READ_COLUMNS, [*uses, *[L.PRED_ROW + PT] * len(L.READ_COLUMNS)], strict=False):
        row[column] = place
    if guarded:
        row[L.Column.RESULT] = L.RESULTS if defs or late else L.NO_RESULT
    else:
        row[L.Column.RESULT] = defs[0] if len(defs) == 1 else L.RESULTS if defs else L.NO_RESULT
    if guarded and late:
        pair = instr.ctrl.rbar * L.BOARD_NUMBERS + instr.ctrl.wbar
        row[L.Column.LATE] = (1 << pair) if pair < 63 else -(1 << 63)


def places(ref: Ref) -> list[int]:
    """Return the rows of the hazard table for an operand."""
    return [L.PRED_ROW + ref.index] if ref.file == PRED else list(ref.registers())
