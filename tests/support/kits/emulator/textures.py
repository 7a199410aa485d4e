"""A kernel of one texture fetch, and its run: thread t has the coordinates in[0][t], in[1][t] and in[2][t], and stores
the four registers that it gets."""

from __future__ import annotations

from typing import Any

import numpy as np

from binalloc.emulator.runs.run import Result, run
from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import parse_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule

GTX = load_machine("gtx680")
HANDLE = "MOV R11, c[0][tex]"


def coordinates(threads: int) -> str:
    """Code that loads a thread's three, in front of whatever takes them; the rows behind them follow every 4 * threads
    bytes at R2."""
    return f"""S2R R0, SR_TID.X
    MOV R2, c[0][in]
    MOV R3, c[0][in+4]
    IMAD.WIDE R2, R0, 4, R2
    LDG R8, [R2]
    LDG R9, [R2+{4 * threads}]
    LDG R10, [R2+{8 * threads}]"""


def fetch_text(op: str, threads: int, before: str = HANDLE, handle: str = "R11", kernel: str = "k") -> str:
    """The kernel; op: TEX with its modifiers; before: code that has `handle` hold what names the texture, and more."""
    third = ", R10" if "3D" in op else ""
    return f"""
.kernel {kernel}
    .param in 8
    .param out 8
    .param tex 8
    {coordinates(threads)}
    {before}
    {op} R12, R8, {handle}{third}
    MOV R4, c[0][out]
    MOV R5, c[0][out+4]
    IMAD.WIDE R4, R0, 16, R4
    STG.128 [R4], R12
    EXIT
.end
"""


def scheduled(text: str) -> Module:
    return schedule(assemble(text), GTX)


def fetch_launch(shape: Any, dtype: str, threads: int, rows: int = 3, **keys: Any) -> Launch:
    """Its launch, of one block; rows: of numbers for each thread; keys: of the texture."""
    return parse_launch({
        "kernel": "k", "grid": 1, "block": threads,
        "argument": [
            {"name": "in", "kind": "buffer", "dtype": "u32", "shape": [rows, threads]},
            {"name": "out", "kind": "buffer", "dtype": "u32", "shape": [threads, 4]},
            {"name": "tex", "kind": "texture", "dtype": dtype, "shape": shape} | keys,
        ],
    })  # fmt: skip


def dtype_of(image: Any) -> str:
    """What a launch file calls the elements of an array."""
    kind = {"f": "f", "u": "u", "i": "i"}[image.dtype.kind]
    return f"{kind}{8 * image.dtype.itemsize}"


def run_fetch(text: str, image: Any, rows: Any, engine: str, **keys: Any) -> Result:
    """The run; rows: those of numbers for each thread, as patterns."""
    threads = rows.shape[1]
    launch = fetch_launch(list(image.shape), dtype_of(image), threads, len(rows), **keys)
    data = {"in": rows, "out": np.zeros((threads, 4), np.uint32)}
    return run(scheduled(text), "k", launch, GTX, engine=engine, buffers=data, textures={"tex": image})


BOTH = """
.kernel k
    .param s 8
    .param t 8
    .param out 8
    S2R R0, SR_TID.X
    IMAD R8, R0, 4, RZ
    MOV R11, c[0][s]
    I2F.F32.S32 R9, R0
    SUADDR.1D.TRAP.32 R12, R8, R11
    STG [R12], R9
    MEMBAR.CTA
    MOV R16, c[0][t]
    TEX.1D.S32.R R20, R0, R16
    MOV R4, c[0][out]
    MOV R5, c[0][out+4]
    IMAD.WIDE R4, R0, 4, R4
    STG [R4], R20
    EXIT
.end
"""
"""Thread i writes i to a surface, and puts what it fetches from a texture into out."""
