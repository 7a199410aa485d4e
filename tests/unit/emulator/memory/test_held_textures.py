"""While lines of an access are held, nothing that goes to memory issues: loads and texture fetches alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import parse_launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule

GTX = load_machine("gtx680")
FEW = replace(GTX, l1=replace(GTX.l1, mshrs=2))
THREADS, SIDE = 256, 4096
TEXT = """
.kernel k
    .param x 8
    .param tex 8
    S2R R0, SR_TID.X
    MOV R2, c[0][x]
    MOV R3, c[0][x+4]
    IMAD.WIDE R2, R0, 128, R2
    MOV R11, c[0][tex]
    LOP3 R4, R0, 32, RZ, 0xc0
    ISETP.EQ P0, PT, R4, 0, PT
    IMAD R8, R0, 16, RZ
    @P0 LDG R5, [R2]
    @!P0 TEX.1D.S32.R R5, R8, R11
    @!P0 LDG R6, [R2]
    @P0 TEX.1D.S32.R R6, R8, R11
    IADD3 R5, R5, R6, RZ
    STG [R2], R5
    EXIT
.end
"""


def result(reference: bool) -> Result:
    """Even warps load and then fetch, odd ones fetch and then load, each of 32 lines."""
    launch = parse_launch({
        "kernel": "k", "grid": 1, "block": THREADS,
        "argument": [
            {"name": "x", "kind": "buffer", "dtype": "u32", "shape": [THREADS * 32]},
            {"name": "tex", "kind": "texture", "dtype": "u32", "shape": [SIDE]},
        ],
    })  # fmt: skip
    data = {"x": np.arange(THREADS * 32, dtype=np.uint32)}
    image = np.arange(SIDE, dtype=np.uint32)
    return run(
        schedule(assemble(TEXT), FEW), "k", launch, FEW, engine="python", buffers=data, textures={"tex": image},
        reference=reference,
    )  # fmt: skip


@pytest.mark.rotates("long")
def test_no_fetch_passes_lines_that_are_held() -> None:
    fast, slow = result(False), result(True)
    assert (fast.cycles, fast.stats) == (slow.cycles, slow.stats)
    assert fast.stats["queues"]["l1_mshrs"]["most"] == 2
    at = np.arange(THREADS)
    assert (fast.buffers["x"][::32] == at * 32 + np.minimum(at * 16, SIDE - 1)).all()
