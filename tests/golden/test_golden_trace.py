"""The trace of a small run, byte for byte: two blocks of two warps that load, diverge, meet at a barrier, issue pairs.

After an intended change: python -m tests.golden.test_golden_trace
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from binalloc.emulator.traces.trace import TraceOptions
from tests.support.kits.emulator.small import address, module, op
from tests.support.kits.emulator.traces import traced

GOLDEN = Path(__file__).with_name("trace.json")
CODE = [
    *address(), op("LDG", rd=6, ra=4, width=4, wbar=1, stall=1), op("ISETP", pd0=0, ra=0, form=1, imm=8, icmp=1),
    op("BRA", guard=(0, False), target=1, diverges=1, reconv=1, stall=1), op("IADD3", rd=6, ra=6, rb=0, rc=255, wait=2),
    op("IADD3", rd=7, ra=0, rb=0, rc=255, stall=0), op("FADD", rd=8, ra=8, rb=8, stall=9),
    op("IMAD", rd=9, ra=0, form=1, imm=4, rc=255), op("STS", ra=9, rb=6, width=4, rbar=2),
    op("BAR", form=1, imm=0, wait=4), op("STG", ra=4, rb=6, width=4, rbar=5), op("EXIT", wait=32),
]  # fmt: skip


def small(engine: str) -> bytes:
    """The trace, with counters every 50 cycles."""
    made = module(CODE, params={"x": 8}, shared_bytes=256)
    buffers = {"x": np.arange(64, dtype=np.uint32)}
    return traced(made, TraceOptions(interval=50), buffers=buffers, grid=2, block=64, engine=engine).data


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_the_trace_is_as_it_was(engine: str) -> None:
    assert small(engine) == GOLDEN.read_bytes()


if __name__ == "__main__":
    GOLDEN.write_bytes(small("python"))
