"""An L2 that holds textures alone: what goes past its lines takes none of its MSHRs, and waits for none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import parse_launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule

GTX285 = load_machine("gtx285")
LINES, MIB = 6, 1 << 20
MODES = [("python", False), ("python", True), ("numba", False), ("numba", True)]


def measured(body: str, machine: Any = GTX285, engine: str = "python", reference: bool = False) -> Result:
    """Two warps, each lane of which has R4, the address of bytes of its own in 2 MB, and R11, a texture."""
    text = f"""
    .kernel k
        .param x 8
        .param tex 8
        S2R R0, SR_TID.X
        MOV R2, 16384
        IMAD.WIDE R4, R0, R2, c[0][x]
        MOV R11, c[0][tex]
        MOV R8, RZ
        {body}
        EXIT
    .end
    """
    launch = parse_launch({
        "kernel": "k", "grid": 1, "block": 64,
        "argument": [
            {"name": "x", "kind": "buffer", "dtype": "u32", "shape": [MIB // 2]},
            {"name": "tex", "kind": "texture", "dtype": "f32", "shape": [64]},
        ],
    })  # fmt: skip
    data = {"x": np.zeros(MIB // 2, np.uint32)}
    image = {"tex": np.zeros(64, np.float32)}
    code = schedule(assemble(text), machine)
    return run(code, "k", launch, machine, engine=engine, reference=reference, buffers=data, textures=image)


def with_mshrs(count: int) -> Any:
    return replace(GTX285, l2=replace(GTX285.l2, mshrs=count))


@pytest.mark.rotates
@pytest.mark.parametrize(("engine", "reference"), MODES)
def test_data_and_atomics_hold_no_mshr_of_l2(engine: str, reference: bool) -> None:
    loads = "\n".join(f"LDG R{20 + i}, [R4+{512 * i}]" for i in range(LINES))
    found = measured(f"{loads}\nRED.ADD [R4], R8\nSTG [R4], R8", engine=engine, reference=reference).stats
    assert found["l2_fills"] == 64 * (LINES + 1)
    queue = found["queues"]["l2_mshrs"]
    assert (queue["most"], queue["entry_cycles"], queue["full_cycles"]) == (0, 0, 0)


@pytest.mark.rotates
@pytest.mark.parametrize(("engine", "reference"), MODES)
def test_textures_do_not_wait_for_fetches_past_l2(engine: str, reference: bool) -> None:
    """The kernel asks for the texture's only line while data is under way: one MSHR is as good as sixteen."""
    loads = "\n".join(f"LDG R{20 + i}, [R4+{512 * i}]" for i in range(LINES))
    body = f"{loads}\nTEX.1D R12, R8, R11\n{loads}"
    one, many = (measured(body, with_mshrs(n), engine, reference) for n in (1, 16))
    assert one.cycles == many.cycles
    assert one.stats["l2_texture_misses"] == 1
    assert one.stats["queues"]["l2_mshrs"]["most"] == 1
    assert {**one.stats, "queues": 0} == {**many.stats, "queues": 0}
