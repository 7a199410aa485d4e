"""A new opcode is a row of the table of opcodes, a scalar function, and a row that ties them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.support.kits.extended import Extended

FUNCTION = '''@device
def absolute_difference(a: int, b: int, u32: int) -> int:
    """ABSDIFF: the distance of a and b."""
    flip = 0 if u32 else SIGN32
    return ((a - b) if (a ^ flip) > (b ^ flip) else (b - a)) & M32


'''
PROGRAM = """
.kernel k
.param out, 8
.registers 8
        S2R R0, SR_TID.X {wr:0}
        MOV R2, 0x4 {wait:1}
        IMAD.WIDE R2, R0, R2, c[0][out]
        ABSDIFF.U32 R4, R0, 0x10
        STG [R2], R4
        EXIT
.end
"""
LAUNCH = """
kernel = "k"
grid = 1
block = 32

[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = 32
init = "zeros"
"""


def test_a_row_of_each_table_and_a_function_make_an_opcode_of_the_command_line(tmp_path: Path) -> None:
    copy = Extended(tmp_path)
    row = '    _op(0x021, "ABSDIFF", "rd ra b", "u32", "alu", i, "distance of a and b")\n'
    copy.insert("isa/table/opcodes.py", "    # -- f32\n", row)
    copy.insert("emulator/arithmetic/integer.py", "# -- shifts and bits", FUNCTION)
    copy.insert("emulator/execute/table.py", "    brev,\n", "    absolute_difference,\n")
    copy.insert("emulator/execute/table.py", "    # -- f32\n",
                '    Operation("ABSDIFF", _INT, absolute_difference, "a b u32"),\n')  # fmt: skip
    (tmp_path / "k.lasm").write_text(PROGRAM)
    (tmp_path / "k.toml").write_text(LAUNCH)
    copy.cli("asm", "k.lasm", "-o", "k.loom")
    copy.cli("schedule", "k.loom", "--machine", "gtx680", "-o", "s.loom")
    options = ["--launch", "k.toml", "--engine", "python", "--save", "out", "--json"]
    assert json.loads(copy.cli("run", "s.loom", *options))["stats"]["warp_instructions"] == 6
    assert np.load(tmp_path / "out" / "out.npy").tolist() == [abs(t - 16) for t in range(32)]
