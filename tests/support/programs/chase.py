"""A small kernel that gains from merged blocks: each waits for memory, has most of an SM's shared memory, and needs it
for a moment. Its launch, and a program that launches it."""

from __future__ import annotations

from pathlib import Path

KERNEL = """.kernel chase
.param out, 8
.param next, 8
.shared_bytes 12288
    S2R R0, SR_TID.X
    S2R R5, SR_CTAID.X
    IMAD R5, R5, 0x40, R0
    MOV R8, c[0][next]
    MOV R9, c[0][next+0x4]
    IMAD.WIDE R10, R5, 0x4, R8
    LDG.32 R6, [R10]
    IMAD.WIDE R10, R6, 0x4, R8
    LDG.32 R6, [R10]
    IMAD.WIDE R10, R6, 0x4, R8
    LDG.32 R6, [R10]
    IMAD.WIDE R10, R6, 0x4, R8
    LDG.32 R6, [R10]
    SHF.L.U32 R1, R0, 0x2, RZ
    STS.32 [R1], R6
    BAR.SYNC 0
    LDS.32 R4, [R1]
    BAR.SYNC 0
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    IMAD.WIDE R2, R5, 0x4, R2
    STG.32 [R2], R4
    EXIT
.end
"""
_BUFFERS = """
[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = [448]
init = "zeros"

[[argument]]
name = "next"
kind = "buffer"
dtype = "u32"
shape = [448]
init = { kind = "random", distribution = "integers", low = 0, high = 447, seed = 3 }
"""
LAUNCH = f'kernel = "chase"\ngrid = 7\nblock = 64\n{_BUFFERS}'
PROGRAM = f"""{_BUFFERS}
[[step]]
launch = "chase"
grid = 7
block = 64
arguments = ["out", "next"]
"""


def chase_files(folder: Path) -> tuple[str, str, str]:
    """Write the binary, its launch file and the program, and return their paths."""
    from binalloc.isa.sets.files import assemble, write_module

    binary, launch, program = folder / "chase.loom", folder / "chase.toml", folder / "program.toml"
    binary.write_bytes(write_module(assemble(KERNEL)))
    launch.write_text(LAUNCH)
    program.write_text(PROGRAM)
    return str(binary), str(launch), str(program)
