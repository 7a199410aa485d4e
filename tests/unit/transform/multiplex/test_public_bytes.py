"""Where blocks keep nothing, all bytes that regions touch are public, whatever the size of shared memory."""

from __future__ import annotations

import pytest

from binalloc.isa.sets.files import read_module, write_module
from binalloc.transform.multiplex.public import get_as_they_run
from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from tests.support.programs.builder import program

KERNEL = """.kernel k
.param out, 8
.shared_bytes {size}
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    STS.32 [R1+{at:#x}], R0
    BAR.SYNC 0
{load}
    MOV R4, c[0][out]
    MOV R5, c[0][out+0x4]
    STG.32 [R4], R7
    EXIT
.end
"""
NEXT = "    LOP3 R6, R1, 0x4, RZ, 0x3c\n    LDS.32 R7, [R6+{at:#x}]"
ANY = "    LDG.32 R6, [R4]\n    LOP3 R6, R6, 0x1fc, RZ, 0xc0\n    LDS.32 R7, [R6]"
"""A load of any of 128 words, of which 64 are stored."""


@pytest.mark.parametrize(("size", "at", "load", "public"), [
    (256, 0, NEXT, (0, 256)),
    (512, 0x80, NEXT, (0x80, 0x180)),
    (264, 8, NEXT, (0, 264)),  # no multiple of the 16 bytes to which the parts are aligned
    (260, 0, NEXT, (0, 256)),
    (512, 0, ANY, (0, 512)),
    (516, 0x80, ANY, (0, 512)),
])  # fmt: skip
def test_blocks_that_keep_nothing(size: int, at: int, load: str, public: tuple[int, int]) -> None:
    module = program(KERNEL.format(size=size, at=at, load=load.format(at=at)))
    made = get_as_they_run(module, "k", (64, 1, 1))
    parts = made.parts
    assert (parts.low, parts.high) == public
    assert made.module.function("k").info.shared_bytes == parts.private == 0
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    report = check_public(module, made.module, "k", (64, 1, 1), division)
    assert report.ok, report.errors


@pytest.mark.parametrize("order", [("used", "unused"), ("unused", "used")])
def test_a_variable_that_nobody_accesses_has_no_bytes(order: tuple[str, str]) -> None:
    variables = "\n".join(f".shared {name} 256 4" for name in order)
    text = KERNEL.format(size=512, at=256 * order.index("used"), load=NEXT.format(at=256 * order.index("used")))
    made = get_as_they_run(program(text.replace(".shared_bytes 512", variables)), "k", (64, 1, 1)).module
    assert (made.function("k").info.shared_bytes, made.function("k").shared) == (0, [])
    assert read_module(write_module(made), "k").function("k").shared == []
