"""Staging: a module's code as a table of integers, its constants as words, for one launch on one machine.

Per code word the table holds everything device code needs without looking at encodings again: opcode, unit, latency,
control code, operand kinds (register or value; constants c[bank][offset] are resolved here, once per launch),
modifiers, and the registers and predicates read and written as the instruction interface lists them (the hazard rules
use those)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binalloc.emulator.execute.table import NUMBERS, OPERATIONS
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.errors import Hint, MalformedInput, Refused
from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import Ref
from binalloc.isa.kinds import Access, Space
from binalloc.isa.loom.view import view
from binalloc.isa.table.fields import PT, RZ
from binalloc.isa.table.opcodes import (
    ATOMIC_BYTES,
    FORM_C_CONST,
    FORM_C_IMM,
    FORM_CONST,
    FORM_IMM,
    ITYPES,
    WIDTH_BYTES,
    WIDTHS,
    Operand,
)
from binalloc.isa.timing import by_scoreboard
from binalloc.isa.validate import validate_layout
from binalloc.models.machines.model import Machine

_FLOAT_GROUPS = ("float32", "float64", "conversion")


@dataclass
class Constants:
    """Constant banks as one array of words: per bank where it starts (in bytes) and how long it is."""

    words: Array
    start: list[int]
    size: list[int]

    @staticmethod
    def build(banks: dict[int, bytes]) -> Constants:
        """Lay the banks out one after the other; a bank nobody gave has size 0."""
        start, size, data = [0] * 32, [0] * 32, b""
        for bank in sorted(banks):
            start[bank], size[bank] = len(data), len(banks[bank])
            data += banks[bank] + bytes(-len(banks[bank]) % 16)
        return Constants(np.frombuffer(data + bytes(16), "<u4").copy(), start, size)

    def read(self, bank: int, offset: int, words: int) -> list[int] | None:
        """`words` words from c[bank][offset]; None where the bank does not reach that far."""
        if offset + 4 * words > self.size[bank]:
            return None
        first = (self.start[bank] + offset) // 4
        return [int(word) for word in self.words[first : first + words]]


class Program:
    """The staged code of a module: `table` int64 [word, column]; `place(word)` names function and index of a word."""

    def __init__(self, module: Module, machine: Machine, constants: Constants) -> None:
        validate_layout(module)
        self.module = module
        words = max((fn.address + len(fn.instrs) for fn in module.functions), default=0)
        self.table: Array = np.zeros((words + 1, L.COLUMNS), np.int64)
        for fn in module.functions:
            for index, instr in enumerate(fn.instrs):
                try:
                    row = stage_instruction(fn.address + index, instr, machine, constants)
                except MalformedInput as error:
                    error.place = error.place or f"{fn.name}+{index}"
                    raise (error.at(module.path) if module.path else error) from None
                self.table[fn.address + index] = row
            if fn.instrs and not fn.info.is_kernel:
                self.table[fn.address, L.C_VALID] = L.FUNCTION if fn.addressable else L.REWRITTEN
        for column in (L.C_TARGET, L.C_RECONV):  # a branch out of the code ends at the word behind it, which is none
            outside = (self.table[:, column] < 0) | (self.table[:, column] > words)
            self.table[outside, column] = words

    def place(self, word: int) -> tuple[Function, int] | None:
        """The function and instruction index that code word `word` belongs to."""
        for fn in self.module.functions:
            if fn.address <= word < fn.address + len(fn.instrs):
                return fn, word - fn.address
        return None


def check_scheduled(functions: list[Function], machine: Machine, path: str) -> None:
    """Refused unless every function was scheduled for `machine`."""
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
    """Registers per thread: what the kernel claims; MalformedInput if its code names more. 0 claimed: what the code
    names."""
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


_BLANK = [0] * L.COLUMNS
for _name in ("pd0", "pd1", "ps0", "ps1", "ps2"):
    _BLANK[L.FIELD_COLUMNS[_name]] = PT


def stage_instruction(word: int, instr: Instr, machine: Machine, constants: Constants) -> list[int]:
    """The table row of `instr`, which stands at code word `word`: one number per column."""
    row = list(_BLANK)
    op, f = instr.op, instr.f
    unit = L.UNIT_NAMES.index(op.unit)
    latency = machine.units[op.unit].latency
    guarded = by_scoreboard(op.variable, latency)
    row[L.C_VALID] = L.CODE
    operation = OPERATIONS[op.name]
    row[L.C_OP], row[L.C_GROUP], row[L.C_TAINT] = NUMBERS[op.name], operation.group, operation.taint
    row[L.C_UNIT] = unit
    row[L.C_LATENCY] = latency
    row[L.C_VARIABLE] = guarded
    row[L.C_CONTROL] = L.CONTROLS.index(op.control)
    ctrl = instr.ctrl
    row[L.C_STALL], row[L.C_WBAR], row[L.C_RBAR], row[L.C_WAIT] = ctrl.stall, ctrl.wbar, ctrl.rbar, ctrl.wait
    row[L.C_GUARD] = instr.guard
    row[L.C_GUARDN] = L.FULL if instr.guard_neg else 0
    for name, value in f.items():
        if name in L.FIELD_COLUMNS:
            row[L.FIELD_COLUMNS[name]] = value
    for column, name in ((L.C_PS0_XOR, "ps0n"), (L.C_PS1_XOR, "ps1n"), (L.C_PS2_XOR, "ps2n")):
        row[column] = L.FULL if f.get(name) else 0
    row[L.C_RD] = f.get("rd", RZ)
    row[L.C_TARGET] = word + 1 + f.get("target", 0)
    row[L.C_RECONV] = word + 1 + f.get("reconv", 0)
    for c in (L.C_A_REG, L.C_B_REG, L.C_C_REG):
        row[c] = RZ
    for c in (L.C_A_AND, L.C_B_AND, L.C_C_AND):
        row[c] = L.FULL
    for operand in op.operands:
        stage_operand(row, operand, instr, constants)
    if op.access:
        stage_memory(row, instr)
    stage_places(row, instr, guarded)
    return row


def stage_operand(row: list[int], o: Operand, instr: Instr, constants: Constants) -> None:
    """Stage what operand `o` reads: a register (pair), or a value."""
    f = instr.f
    width = o.width(f)
    if o.name == "rd":
        row[L.C_RD_UNITS] = width
    elif o.name == "ra":
        row[L.C_A_UNITS], row[L.C_A_REG] = min(width, 2), f["ra"]
        stage_signs(row, "a", L.C_A_AND, L.C_A_XOR, instr)
    elif o.name in ("mem64", "mem32", "cmem"):
        row[L.C_A_UNITS], row[L.C_A_REG] = 2 if o.name == "mem64" else 1, f["ra"]
        row[L.C_OFFSET] = f["coff"] if o.name == "cmem" else f["moff"]
    elif o.name == "b":
        stage_flexible(row, "b", width, instr, constants, L.C_B_UNITS)
    elif o.name == "c":
        stage_flexible(row, "c", width, instr, constants, L.C_C_UNITS)
    elif o.name == "rb":
        if instr.op.access == Access.ATOMIC or instr.op.space == Space.TEXTURE:
            row[L.C_B_UNITS], row[L.C_B_REG] = width, f["rb"]
        row[L.C_DATA] = f["rb"]
    elif o.name == "rc":
        row[L.C_C_UNITS], row[L.C_C_REG] = width, f["rc"]
    elif o.name == "lane":
        row[L.C_B_UNITS] = 1
        row[L.C_B_REG], row[L.C_B_LO] = (-1, f["laneimm"]) if f["limm"] else (f["rb"], 0)
    elif o.name == "clamp":
        row[L.C_C_UNITS] = 1
        row[L.C_C_REG], row[L.C_C_LO] = (-1, f["clampimm"]) if f["cimm"] else (f["rc"], 0)


def stage_flexible(row: list[int], name: str, width: int, instr: Instr, constants: Constants, first: int) -> None:
    """Operand B or C, whose columns UNITS REG LO HI AND XOR start at `first`, under the instruction's form."""
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
        if found is None:  # a fault of the lane that executes it, as in LDC: nobody may ever
            row[L.C_GROUP], row[L.C_OFFSET], row[L.C_SIZE] = L.G_OUTSIDE, f["coff"], 4 * width
    else:
        row[first + 1] = f["rb" if name == "b" and form not in (FORM_C_IMM, FORM_C_CONST) else "rc"]
    stage_signs(row, name, first + 4, first + 5, instr)


def wide_immediate(imm: int, instr: Instr) -> tuple[int, int]:
    """A 32-bit immediate as a 64-bit operand: the high word of an f64; an integer is extended as its type says."""
    if instr.op.operand["b"].units == "i":
        return imm, (L.FULL if ITYPES[instr.f["ityp"]] == "S64" and imm >> 31 else 0)
    return 0, imm


def stage_signs(row: list[int], name: str, keep: int, flip: int, instr: Instr) -> None:
    """Negation and absolute value of a float operand, as masks of its highest word."""
    if instr.op.group in _FLOAT_GROUPS:
        row[keep] = 0x7FFFFFFF if instr.f.get("abs" + name) else L.FULL
        row[flip] = 0x80000000 if instr.f.get("neg" + name) else 0


def stage_memory(row: list[int], instr: Instr) -> None:
    """Space, access, size and the spill mark of a memory instruction."""
    op, f = instr.op, instr.f
    if op.space == Space.TEXTURE:
        return
    row[L.C_SPACE] = L.Space.names.index(op.space)
    row[L.C_ACCESS] = L.Access.names.index(op.access)
    row[L.C_SPILL] = f.get("spill", 0)
    if "width" in f:
        if f["width"] >= len(WIDTHS):
            raise MalformedInput("reserved access width", found=f["width"], expected="0 to 6")
        row[L.C_SIZE] = WIDTH_BYTES[f["width"]]
        row[L.C_SIGNED] = WIDTHS[f["width"]].startswith("S")
    else:
        row[L.C_SIZE] = ATOMIC_BYTES[f["atyp"]] if f["atyp"] < len(ATOMIC_BYTES) else 4


def stage_places(row: list[int], instr: Instr, guarded: bool) -> None:
    """The rows of the hazard table that the instruction reads (its guard last) and writes."""
    v = view(instr)
    uses = [place for ref in v.uses for place in places(ref)]
    defs = [place for ref in v.defs for place in places(ref)]
    late = len(uses)
    if v.guard is not None and v.guard[0] != PT:
        uses.append(L.PRED_ROW + v.guard[0])
    assert max(len(uses), len(defs)) <= L.MAX_LISTED, instr
    row[L.C_N_USES], row[L.C_N_DEFS], row[L.C_N_LATE] = len(uses), len(defs), late
    row[L.C_USES : L.C_USES + len(uses)] = uses
    row[L.C_DEFS : L.C_DEFS + len(defs)] = defs
    if guarded and late:
        pair = instr.ctrl.rbar * 8 + instr.ctrl.wbar
        row[L.C_LATE] = (1 << pair) if pair < 63 else -(1 << 63)


def places(ref: Ref) -> list[int]:
    """Rows of the hazard table an operand stands for."""
    return [L.PRED_ROW + ref.index] if ref.file == PRED else list(ref.registers())
