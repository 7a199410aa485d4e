"""A program with an instruction of every kind, and what a run of it counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from binalloc.isa.instruction import Module
from tests.support.kits.emulator.small import address, go, module, op


def one_of_each() -> Module:
    code = [
        *address(),
        op("LDG", stall=2, rd=6, ra=4, width=4, wbar=1),
        op("STS", stall=2, ra=255, rb=0, width=4, rbar=2),
        op("BAR", stall=2, wait=4, form=1, imm=0),
        op("ISETP", stall=10, pd0=0, ra=0, form=1, imm=40, icmp=1),
        op("BRA", stall=1, guard=(0, False), target=3, diverges=1, reconv=4),
        op("FFMA", stall=0, rd=9, ra=6, rb=6, rc=6, wait=2),
        op("IADD3", stall=10, rd=10, ra=0, rb=0, rc=0),
        op("BRA", stall=1, target=1),
        op("MUFU", stall=1, rd=9, rb=0, func=0, wbar=3),
        op("STL", stall=1, ra=255, rb=0, width=4, rbar=2),
        op("LDL", stall=1, rd=11, ra=255, width=4, wbar=4),
        op("IADD3", stall=10, rd=12, ra=11, rb=9, rc=255, wait=0x18),
        op("STG", stall=1, ra=4, rb=12, width=4, rbar=2),
        op("EXIT", wait=4),
    ]
    return module(code, params={"x": 8}, shared_bytes=128, local_bytes=4)


def counters(m: Module, machine: str = "gtx680", **options: Any) -> Any:
    for fn in m.functions:
        fn.info.machine = machine
    result = go(m, grid=7, block=96, buffers={"x": np.arange(96, dtype=np.uint32)}, machine=machine, **options)
    return result.cycles, result.stats, result.buffers["x"].tolist(), {k: v.tolist() for k, v in result.counts.items()}
