"""Traces show who holds what of the shared memory that blocks get as they run, and who waits for it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.support.kits.emulator.public import GT200, kernel, ready, section
from tests.support.kits.emulator.traces import Slice, Traced, traced

TRACK = "shared memory of block slot"


def shown(body: str, grid: int = 6, private: int = 0, sms: int = 1) -> Traced:
    out = {"out": np.zeros(64 * grid, np.uint32)}
    return traced(ready(kernel(body, private=private)), grid=grid, block=64, buffers=out, machine=GT200, sms=sms)


def memory(trace: Traced) -> list[Slice]:
    return [slice_ for key, slices in trace.tracks().items() if key[1].startswith(TRACK) for slice_ in slices]


@pytest.mark.parametrize("sms", [1, 2])
def test_holders_and_waits_are_drawn_as_long_as_they_last(sms: int) -> None:
    trace = shown(section("0x1000"), 12, 512, sms)
    held = [s for s in memory(trace) if "holds" in s[2]]
    waits = [s for s in memory(trace) if "waits" in s[2]]
    stats = trace.result.stats
    assert (len(held), len(waits)) == (stats["shared_allocations"], stats["shared_waits"])
    assert sum(end - start for start, end, _, _ in waits) == stats["shared_wait_cycles"]
    assert {s[3]["bytes"] for s in held} == {0x1000}
    for key, slices in trace.tracks().items():
        if key[1].startswith("warp slot"):
            ended = [s for s in slices if s[2] == "wait: shared memory"]
            assert all(s[3]["in"] == "k+7" for s in ended)
    for sm in range(sms):  # no byte has two holders at once
        mine = [s for key, slices in trace.tracks().items() if key[0] == f"SM {sm}" and TRACK in key[1] for s in slices]
        mine = sorted(s for s in mine if "holds" in s[2])
        for address in {s[3]["address"] for s in mine}:
            times = [(s[0], s[1]) for s in mine if s[3]["address"] == address]
            assert all(a[1] <= b[0] for a, b in pairwise(times))


def test_a_holder_that_ends_holds_until_then() -> None:
    trace = shown("    BAR.ALLOC R5, 0x4000\n    STG.32 [R2], R5\n", 3)
    held = sorted(s for s in memory(trace) if "holds" in s[2])
    assert [s[2] for s in held] == ["block 0 holds 0x0", "block 1 holds 0x0", "block 2 holds 0x0"]
    blocks = {s[2]: s[1] for key, slices in trace.tracks().items() if "block slot" in key[1] for s in slices}
    assert [s[1] for s in held] == [blocks[f"block {b}"] for b in range(3)]
