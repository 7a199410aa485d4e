"""Every operation of Loom has a name in traces that the simulator's table for Volta knows, with the width it reads."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.places import REG
from binalloc.isa.kinds import Space
from binalloc.isa.loom.view import view
from binalloc.isa.table.opcodes import ATOMIC_TYPES, BY_NAME, CACHE_OPS, MODIFIERS, WIDTHS
from binalloc.laboratory.accelsim.lines import lines
from binalloc.laboratory.accelsim.sass import SASS, opcode, sass_line
from tests.support.oracles.traces.accelsim import read_line

VOLTA = (
    "FADD", "FADD32I", "FCHK", "FFMA32I", "FFMA", "FMNMX", "FMUL", "FMUL32I", "FSEL", "FSET", "FSETP", "FSWZADD",
    "MUFU", "HADD2", "HADD2_32I", "HFMA2", "HFMA2_32I", "HMUL2", "HMUL2_32I", "HSET2", "HSETP2", "HMMA", "DADD",
    "DFMA", "DMUL", "DSETP", "BMSK", "BREV", "FLO", "IABS", "IADD", "IADD3", "IADD32I", "IDP", "IDP4A", "IMAD",
    "IMMA", "IMNMX", "IMUL", "IMUL32I", "ISCADD", "ISCADD32I", "ISETP", "LEA", "LOP", "LOP3", "LOP32I", "POPC",
    "SHF", "SHR", "VABSDIFF", "VABSDIFF4", "F2F", "F2I", "I2F", "I2I", "I2IP", "FRND", "MOV", "MOV32I", "PRMT",
    "SEL", "SGXT", "SHFL", "PLOP3", "PSETP", "P2R", "R2P", "LD", "LDC", "LDG", "LDL", "LDS", "ST", "STG", "STL",
    "STS", "MATCH", "QSPC", "ATOM", "ATOMS", "ATOMG", "RED", "CCTL", "CCTLL", "ERRBAR", "MEMBAR", "CCTLT", "TEX",
    "TLD", "TLD4", "TMML", "TXD", "TXQ", "BMOV", "BPT", "BRA", "BREAK", "BRX", "BSSY", "BSYNC", "CALL", "EXIT",
    "JMP", "JMX", "KILL", "NANOSLEEP", "RET", "RPCMOV", "RTT", "WARPSYNC", "YIELD", "B2R", "BAR", "CS2R", "CSMTEST",
    "DEPBAR", "GETLMEMBASE", "LEPC", "NOP", "PMTRIG", "R2B", "S2R", "SETCTAID", "SETLMEMBASE", "VOTE",
)  # fmt: skip
"""Volta's instruction set, as NVIDIA's manual of the binary utilities lists it."""

CLASSES = {
    "DMNMX": "DADD", "BAR.ALLOC": "BAR", "BAR.FREE": "BAR", "RELSSP": "NOP", "IMAD.WIDE": "IMAD", "IMAD.HI": "IMAD",
    "LEA.HI": "LEA", "CALL.IND": "CALL", "HMNMX2": "HADD2", "F2H": "F2F", "F2H2": "F2F", "H2F": "F2F", "I2H": "I2F",
    "SUADDR": "TXQ", "LDSM.16": "LDS",
}  # fmt: skip
"""Whose name in a trace is not their own."""
FULL = (1 << 32) - 1


def every_instruction(name: str) -> list[Instr]:
    """The operation in each form, with each value of each modifier, and in each operand a register of its own."""
    op, found = BY_NAME[name], []
    for form in op.forms:
        places = {"form": form} if op.has_form else {}
        given = make(name, **places).f
        places |= {field: n for field, n in (("rd", 8), ("ra", 16), ("rb", 24), ("rc", 32)) if field in given}
        found += [make(name, **places)]
        for modifier in op.modifiers:
            values = MODIFIERS[modifier].values
            found += [make(name, **places, **{modifier: i}) for i in range(len(values))]
    return found


@pytest.mark.parametrize("name", BY_NAME)
def test_every_operation_is_named_after_one_of_volta(name: str) -> None:
    for instr in every_instruction(name):
        base = opcode(instr).split(".")[0]
        assert base in VOLTA
        assert base == CLASSES.get(name, name)
        assert " " not in opcode(instr)
        assert ".." not in opcode(instr) + "."


def test_a_load_of_matrices_is_one_of_128_bits_by_the_lanes_that_give_addresses() -> None:
    for mats, lanes in ((0, 0xFF), (1, 0xFFFF), (2, FULL)):
        one = make("LDSM.16", rd=8, ra=16, mats=mats)
        assert (opcode(one), sass_line(one, FULL).lanes, sass_line(one, FULL).text.split()[-1]) == (
            "LDS.128",
            lanes,
            "16",
        )
    addresses = np.arange(32, dtype=np.int64)[None] * 48
    (line,) = lines(
        np.array([1]), np.array([FULL]), np.array([0]), addresses, lambda _, m: sass_line(make("LDSM.16"), m)
    )
    assert line.split()[1] == b"000000ff"


def test_no_name_is_of_no_operation() -> None:
    assert SASS.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", BY_NAME)
def test_an_instruction_has_the_registers_and_the_width_of_its_view(name: str) -> None:
    for instr in every_instruction(name):
        seen = view(instr)
        said = sass_line(instr, FULL)
        line = read_line(f"0010 {FULL:08x} {said.text}{' 1 0x80 4' if said.memory else ''} 0")
        assert list(line.dests) == [r.index for r in seen.defs if r.file == REG]
        assert list(line.sources) == [r.index for r in seen.uses if r.file == REG]
        assert len(line.dests) <= 1, "the simulator's reader has room for one"
        assert len(line.sources) <= 4, "and for four"
        memory = seen.memory
        if memory is None or memory.space in (Space.CONST, Space.TEXTURE):
            assert line.width == 0
        else:
            assert line.width == line.read == memory.size


def test_zero_registers_and_predicates_are_left_out() -> None:
    line = read_line(
        "0000 00000001 " + sass_line(make("IADD3", rd=255, ra=4, rb=255, rc=255, pd0=1, ps0=2), 1).text + " 0"
    )
    assert (line.dests, line.opcode, line.sources) == ((), "IADD3", (4,))


def test_modifiers_that_the_simulator_reads() -> None:
    def named(name: str, **fields: int) -> str:
        return opcode(make(name, **fields))

    width = {w: i for i, w in enumerate(WIDTHS)}
    assert named("LDG", width=width["64"]) == "LDG.E.64"
    assert named("LDG", width=width["32"], cache=CACHE_OPS.index("CG")) == "LDG.E.STRONG.GPU"
    assert named("LDS", width=width["S8"], spill=0) == "LDS.U8"
    assert named("LDL", width=width["128"], spill=0) == "LDL.128"
    assert named("STS", width=width["32"], spill=1) == "STS"
    assert named("ATOMG", aop=0, atyp=ATOMIC_TYPES.index("F64")) == "ATOMG.E.ADD.64.STRONG.GPU"
    assert named("ATOMS", aop=9, atyp=0) == "ATOMS.CAS"
    assert named("RED", aop=0, atyp=ATOMIC_TYPES.index("BF16X2")) == "RED.E.ADD.F16x2.STRONG.GPU"
    assert named("BAR", bar=0) == "BAR.SYNC"
    assert named("MUFU", func=1) == "MUFU.RSQ"
    assert named("IMAD.WIDE", u32=1) == "IMAD.WIDE.U32"


def test_a_reserved_value_of_a_modifier_has_no_name() -> None:
    assert opcode(make("ATOMG", aop=15, atyp=0)) == "ATOMG.E.STRONG.GPU"


def test_a_barrier_that_no_lane_comes_to_is_none() -> None:
    barrier = make("BAR", form=1, imm=0)
    assert sass_line(barrier, 1).text.split(" ")[1] == "BAR.SYNC"
    assert sass_line(barrier, 0).text == "0 NOP 0 0"
    assert sass_line(make("EXIT"), 0).text == "0 EXIT 0 0"
