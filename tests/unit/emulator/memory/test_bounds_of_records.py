"""What is under way at once never outgrows the records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.host.memory.memory_figures import most_requests
from binalloc.emulator.state.memory_layout import MAX_REQUESTS
from binalloc.errors import Refused
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.small import go

LINES, LOADS = 8, 26
MANY = (
    """
.kernel k
.registers 40
.param x 8
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    SHF.L.U32 R1, R1, 9, RZ
    IADD3 R0, R0, R1, RZ
    SHF.R.U32 R0, R0, 5, RZ                 // the warp
    MOV R2, 1024
    IMAD.WIDE R4, R0, R2, c[0][x]
    S2R R3, SR_LANEID
    MOV R2, 4
    IMAD.WIDE R4, R3, R2, R4
"""
    + "".join(f"LDG R{6 + i}, [R4+{128 * i}]\n" for i in range(LINES))
    + "".join(f"LDG R{6 + LINES + i}, [R4+{128 * (LINES - 1)}]\n" for i in range(LOADS))
    + "MOV R3, R39\nEXIT\n.end\n"
)
"""Every warp asks for eight lines and then, again and again, for the last of them, which is long in coming."""


def test_loads_of_lines_on_their_way_may_be_many_more_than_lines() -> None:
    m = load_machine("v100")
    words = np.zeros(48 * 256, np.uint32)
    result = go(schedule(assemble(MANY, "k"), m), block=512, grid=3, buffers={"x": words}, machine=m)
    assert result.stats["l1_global_hits"] + result.stats["l1_global_misses"] == 48 * (LINES + LOADS)
    assert result.stats["l2_misses"] == 48 * LINES


@pytest.mark.parametrize("name", list_machines())
def test_the_records_hold_what_every_machine_may_have_under_way(name: str) -> None:
    m = load_machine(name)
    assert most_requests(m, m.chip.sms) <= MAX_REQUESTS


def test_a_machine_that_may_have_more_under_way_is_refused() -> None:
    m = load_machine("b200")
    large = replace(m, l1=replace(m.l1, mshrs=1024))
    text = ".kernel k\nEXIT\n.end\n"
    module = schedule(assemble(text, "k"), m)
    with pytest.raises(Refused, match="requests to memory"):
        go(module, machine=large, sms=m.chip.sms)
    assert go(module, machine=large, sms=4).cycles > 0
