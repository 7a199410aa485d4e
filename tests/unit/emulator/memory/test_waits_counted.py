"""Delays of DRAM, waits for links, and resident batches, where they are known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import go, module, op


def loading(loads: int, apart: int) -> Any:
    """Each thread loads once from each of `loads` places that are `apart` bytes apart."""
    head = [
        op("S2R", rd=0, sreg=0, wbar=0), op("MOV", rd=2, form=2, cbank=0, coff=0),
        op("MOV", rd=3, form=2, cbank=0, coff=4), op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2, wait=1),
    ]  # fmt: skip
    body = [op("LDG", rd=6 + i, ra=4, width=4, moff=apart * i, wbar=1) for i in range(loads)]
    return module([*head, *body, op("EXIT", wait=2)], registers=32, params={"x": 8})


@pytest.mark.parametrize("name", ["gem5gpu-batching", "v100"])
def test_a_load_alone_waits_as_long_as_its_commands_take(name: str) -> None:
    m = load_machine(name)
    stats = go(loading(1, 128), buffers={"x": np.zeros(32, np.uint32)}, machine=m, sms=m.chip.sms, hazards=False).stats
    dram = m.dram
    requests = stats["dram_requests"]
    bursts = -(-128 // dram.burst_bytes)
    ticks = dram.rcd + (bursts - 1) * dram.ccdl + dram.cl + dram.burst_cycles
    cycles = ticks * m.clock.core_mhz / dram.command_mhz
    assert requests == 1
    assert stats["dram_write_requests"] == stats["dram_write_delay"] == 0
    assert stats["dram_write_delay_each"] is None
    assert abs(stats["dram_read_delay_each"] - cycles) <= 2
    assert stats["response_wait_cycles"] == 0


def test_answers_wait_for_a_link_that_is_busy() -> None:
    m = load_machine("gem5gpu-batching")
    data = np.zeros(32 * 32, np.uint32)
    stats = go(loading(20, 128), grid=4, buffers={"x": data}, machine=m, sms=8, blocks_per_sm=1, hazards=False).stats
    assert stats["response_wait_cycles"] > 0


@pytest.mark.parametrize(("batches", "most"), [("stride:1", 4), ("stride:2", 2), ("stride:4", 1), ("mod:2", 2)])
def test_batches_are_resident_as_long_as_one_of_their_blocks(batches: str, most: int) -> None:
    code = module([*(op("IADD3", rd=0, ra=0, form=1, imm=1, rc=255) for _ in range(99)), op("EXIT")], registers=8)
    one, other = (
        go(code, grid=4, block=64, batches=batches, hazards=False, reference=reference) for reference in (False, True)
    )
    assert one.stats == other.stats
    assert most - 0.1 < one.stats["batches_resident"] <= most
    assert one.stats["batch_cycles"] <= most * one.cycles
