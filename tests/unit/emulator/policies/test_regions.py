"""Regions of shared memory: a block that has several reads and writes each at its own addresses; others find no access
there, and the space is free again when the block has gone."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.policies.regions import close_all, close_region, open_first, open_region
from binalloc.emulator.runs.run import run
from binalloc.emulator.state.parts.regions import REGIONS
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.errors import KernelFault
from binalloc.isa.sets.files import assemble
from binalloc.launch.arrays import bind_arrays
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule

GTX = load_machine("gtx680")
ROOM = 0x4000
KERNEL = f"""
.kernel k
.param out, 8
.shared own 128 4
    S2R R0, SR_TID.X
    IADD3 R1, R0, R0, RZ
    IADD3 R1, R1, R1, RZ
    IADD3 R2, R1, {ROOM:#x}, RZ
    IADD3 R4, R0, 0x64, RZ
    STS.32 [R1], R0
    STS.32 [R2], R4
    BAR.SYNC 0
    LDS.32 R5, [R2]
    LDS.32 R6, [R1]
    IADD3 R5, R5, R6, RZ
    MOV R2, 0x4
    IMAD.WIDE R2, R0, R2, c[0][out]
    STG.32 [R2], R5
    EXIT
.end
"""


def opening(owner: int) -> object:
    """An observer that gives block slot `owner` 32 words more behind those of the first block, as a policy would."""
    done: list[int] = []

    def look(device: LaunchedDevice, _: int) -> None:
        if done:
            return
        done.append(1)
        first = int(device.engine.get(device.sms, 0, "shared_end")[0])
        place = {"owner": owner + 1, "first": first, "end": first + 32, "base": ROOM, "bytes": 128, "next": 0}
        for name, value in place.items():
            column = list(device.engine.get(device.sms, 0, f"region_{name}"))
            column[5] = value
            device.engine.put(device.sms, 0, f"region_{name}", column)
        more = list(device.engine.get(device.sms, 0, "more_regions"))
        more[owner] = 6
        device.engine.put(device.sms, 0, "more_regions", more)
        device.engine.put(device.sms, 0, "regions", 6)

    return look


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("owner", [0, 1])
def test_a_block_reads_and_writes_a_further_region(engine: str, owner: int) -> None:
    module = schedule(assemble(KERNEL), GTX)
    out = np.zeros(32, np.uint32)
    bound = bind_arrays(module.function("k").info, "k", 1, 32, [out])
    asked = {"engine": engine, "observer": opening(owner)}
    if owner:
        with pytest.raises(KernelFault, match="shared"):
            run(module, "k", bound.launch, GTX, buffers=bound.buffers, **asked)
        return
    found = run(module, "k", bound.launch, GTX, buffers=bound.buffers, **asked)
    (left,) = found.buffers.values()
    assert left.view(np.uint32).tolist() == [2 * thread + 100 for thread in range(32)]


def opened() -> tuple[Gpu, Sm]:
    g, s = Gpu(), Sm()
    g.block_words, g.user_shared, g.shared_words = 100, 400, 500
    return g, s


def test_regions_are_opened_closed_and_found_room_for() -> None:
    g, s = opened()
    assert [open_first(g, s, slot) for slot in range(3)] == [0, 100, 200]
    assert open_region(g, s, 0, 300, 4096) == -1  # too large for what is left
    one, two = open_region(g, s, 0, 100, 4096), open_region(g, s, 0, 100, 8192)
    assert (s.region_first[one], s.region_first[two]) == (300, 400)
    assert open_first(g, s, 3) == -1
    assert (s.more_regions[0], s.region_next[two], s.region_next[one]) == (two + 1, one + 1, 0)
    close_region(s, 0, one)
    assert (s.more_regions[0], s.region_next[two]) == (two + 1, 0)
    assert open_first(g, s, 3) == 300
    close_all(s, 0)
    assert s.more_regions[0] == 0
    assert open_region(g, s, 1, 100, 4096) >= 0
    assert open_region(g, s, 1, 100, 8192) >= 0
    assert open_region(g, s, 1, 1, 12288) == -1


def test_no_more_regions_than_the_record_holds() -> None:
    g, s = opened()
    g.shared_words = 1 << 20
    assert all(open_region(g, s, 0, 1, 4 * n) >= 0 for n in range(REGIONS))
    assert open_region(g, s, 0, 1, 0) == -1
    assert open_first(g, s, 1) == -1
