"""Loom's operations are named after the SASS of Volta, and a line of a trace describes an instruction as SASS.

The simulator looks up the name in front of the first dot, and takes unit, latency and memory from it. Behind the dot it
looks for a width, for BAR and MUFU a little more, and ignores the rest. A trace names only general registers, neither
RZ nor predicates nor constant memory. An operand of several registers has its first one named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.emulator.state.layout import FULL
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import REG
from binalloc.isa.interface.view import Ref
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.loom.view import view
from binalloc.isa.table.opcodes import MODIFIERS

BINARY_VERSION = 70  # Volta, whose table has the opcodes used here, whatever machine the simulator is configured as

SASS: dict[str, str] = {
    # integer
    "IADD3": "IADD3", "IMAD": "IMAD", "IMAD.WIDE": "IMAD.WIDE", "IMAD.HI": "IMAD.HI", "LEA": "LEA", "LEA.HI": "LEA.HI",
    "SHF": "SHF", "LOP3": "LOP3.LUT", "IMNMX": "IMNMX", "ISETP": "ISETP", "POPC": "POPC", "FLO": "FLO", "BREV": "BREV",
    "PRMT": "PRMT", "SEL": "SEL", "MOV": "MOV", "IABS": "IABS",
    # f32, f64; Volta has no DMNMX: another instruction of the unit stands for it
    "FADD": "FADD", "FMUL": "FMUL", "FFMA": "FFMA", "FMNMX": "FMNMX", "FSETP": "FSETP", "MUFU": "MUFU",
    "DADD": "DADD", "DMUL": "DMUL", "DFMA": "DFMA", "DMNMX": "DADD", "DSETP": "DSETP",
    # f16, bf16; Volta converts with F2F
    "HADD2": "HADD2", "HMUL2": "HMUL2", "HFMA2": "HFMA2", "HMNMX2": "HADD2", "HSETP2": "HSETP2",
    "F2H": "F2F", "F2H2": "F2F", "H2F": "F2F", "I2H": "I2F",
    # conversions, predicates, warps
    "I2F": "I2F", "F2I": "F2I", "F2F": "F2F", "FRND": "FRND", "PLOP3": "PLOP3.LUT", "P2R": "P2R", "R2P": "R2P",
    "SHFL": "SHFL", "VOTE": "VOTE", "MATCH": "MATCH", "WARPSYNC": "WARPSYNC",
    # memory; Volta has no LDSM: a load of 128 bits by the lanes that give addresses stands for it
    "LDG": "LDG.E", "STG": "STG.E", "LDS": "LDS", "STS": "STS", "LDL": "LDL", "STL": "STL", "LDC": "LDC",
    "LDSM.16": "LDS", "LD": "LD.E", "ST": "ST.E",
    "ATOMG": "ATOMG.E", "ATOMS": "ATOMS", "ATOM": "ATOM.E", "RED": "RED.E", "TEX": "TEX",
    "TXQ": "TXQ", "SUADDR": "TXQ",
    # control
    "BRA": "BRA", "CALL": "CALL.REL.NOINC", "CALL.IND": "CALL.ABS.NOINC", "RET": "RET.REL.NODEC", "EXIT": "EXIT",
    "NOP": "NOP", "BAR": "BAR", "MEMBAR": "MEMBAR.SC", "S2R": "S2R", "CS2R": "CS2R",
    # from the papers: no GPU has them; two end in a barrier of the block
    "BAR.ALLOC": "BAR.SYNC", "BAR.FREE": "BAR.SYNC", "RELSSP": "NOP",
}  # fmt: skip
"""Every operation of Loom, by name, with its name in a trace. Its modifiers are added to that."""

_WIDTHS = {"U8": "U8", "S8": "U8", "U16": "U16", "S16": "U16", "32": "", "64": "64", "128": "128"}
"""Loom's widths, and their names in a trace. The simulator reads U8 and U16 as one and two bytes, but S8 as four."""
_TYPES = {
    "": "", "S32": "S32", "U64": "64", "S64": "64", "F32": "F32", "F64": "64", "F16X2": "F16x2", "BF16X2": "F16x2",
}  # fmt: skip
"""Loom's types of atomic operations, and their names in a trace. The simulator reads only the number in them."""
_CACHE = {"": "", "CG": "STRONG.GPU", "CS": "EF", "CV": "STRONG.SYS"}
"""Loom's cache modifiers, and their names in a trace."""
_NO_MODIFIERS = frozenset(("DMNMX", "HMNMX2", "BAR.ALLOC", "BAR.FREE"))
"""Operations whose SASS is another instruction, without their modifiers."""
_ADDRESSED = frozenset((Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC))
"""Spaces whose accesses have addresses in a trace; the simulator takes the others for arithmetic."""


@dataclass(frozen=True, slots=True)
class SassLine:
    """A SassLine is the common part of all lines of an instruction."""

    text: str  #: destinations, opcode and sources, with their counts, and the bytes that a thread accesses
    memory: bool  #: whether addresses follow
    lanes: int = FULL  #: the lanes that a line may name as executing it


NOTHING = SassLine("0 NOP 0 0", False)  # written for a barrier at which no lane arrives


def sass_line(instr: Instr, mask: int) -> SassLine:
    """Return the part of an instruction's lines that does not depend on the warp.

    A barrier that no lane of a warp executes is written as NOP, because the simulator would let the warp arrive. mask:
    the executing lanes.
    """
    seen = view(instr)
    if seen.control == Flow.BARRIER and mask == 0:
        return NOTHING
    memory = seen.memory if seen.memory is not None and seen.memory.space in _ADDRESSED else None
    size = 0 if memory is None else memory.size
    text = f"{_registers(seen.defs)} {opcode(instr)} {_registers(seen.uses)} {size}"
    givers = 0 if memory is None else memory.givers
    return SassLine(text, memory is not None, (1 << givers) - 1 if givers else FULL)


def _registers(refs: tuple[Ref, ...]) -> str:
    """Return the number of general registers and their names: `2 R4 R7`."""
    numbers = [f"R{r.index}" for r in refs if r.file == REG]
    return " ".join((str(len(numbers)), *numbers))


def opcode(instr: Instr) -> str:
    """Return the name of the operation in a trace: `LDG.E.64`."""
    name = instr.name
    return ".".join(part for part in (SASS[name], *_modifiers(name, instr)) if part)


def _modifiers(name: str, instr: Instr) -> list[str]:
    f, op = instr.f, instr.op
    if name in _NO_MODIFIERS:
        return []
    if op.access and "width" in f:
        return [_WIDTHS.get(_value(f, "width"), ""), _CACHE[_value(f, "cache")]]
    if op.access and "mats" in f:
        return ["128"]
    if op.access and "aop" in f:
        return [_value(f, "aop"), _TYPES[_value(f, "atyp")], "" if op.space == Space.SHARED else "STRONG.GPU"]
    return [_value(f, m) for m in op.modifiers]


def _value(f: Mapping[str, int], modifier: str) -> str:
    """Return a modifier as it is printed; "" if the instruction does not have it, or its value is reserved."""
    values, found = MODIFIERS[modifier].values, f.get(modifier, 0)
    return values[found] if found < len(values) else ""
