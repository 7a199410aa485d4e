"""Any number of SMs of any machine: blocks go breadth-first, the share of what SMs share is theirs, links carry no more
than they can, and what one level asks for the next one gives."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from binalloc.emulator.host.memory.memory_figures import memory_figures
from binalloc.emulator.runs.run import Result
from binalloc.emulator.state.memory_layout import DATA_FRACTION
from binalloc.errors import UsageError
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.small import go

WHERE = """
.kernel k
.registers 16
.param out 8
    S2R R0, SR_CTAID.X
    S2R R1, SR_SMID
    MOV R2, 4
    IMAD.WIDE R4, R0, R2, c[0][out]
    MOV R13, 30
rest: IADD3 R13, R13, -1, RZ
    ISETP.GT.AND P0, PT, R13, 0, PT
    @P0 BRA rest, uniform
    STG [R4], R1
    EXIT
.end
"""
COPY = """
.kernel k
.registers 16
.param x 8
.param y 8
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    SHF.L.U32 R1, R1, 6, RZ
    IADD3 R0, R0, R1, RZ
    MOV R2, 16
    IMAD.WIDE R4, R0, R2, c[0][x]
    LDG.128 R8, [R4]
    IMAD.WIDE R4, R0, R2, c[0][y]
    STG.128 [R4], R8
    EXIT
.end
"""


@pytest.mark.parametrize("name", list_machines())
def test_the_first_blocks_go_one_to_each_sm_in_turn(name: str) -> None:
    m = load_machine(name)
    module = schedule(assemble(WHERE, "k"), m)
    sms = random.Random(name).randint(2, min(m.chip.sms, 6))
    launch_blocks = 3 * sms
    out = go(
        module, grid=launch_blocks, buffers={"out": np.zeros(launch_blocks, np.uint32)}, machine=m, sms=sms
    ).buffers["out"]
    assert out.tolist() == [block % sms for block in range(launch_blocks)]


@pytest.mark.parametrize("name", list_machines())
def test_more_sms_than_the_chip_has_are_refused(name: str) -> None:
    m = load_machine(name)
    module = schedule(assemble(WHERE, "k"), m)
    for sms in (0, -1, m.chip.sms + 1):
        with pytest.raises(UsageError, match="number of SMs") as caught:
            go(module, buffers={"out": np.zeros(1, np.uint32)}, machine=m, sms=sms)
        assert caught.value.expected == f"1 to {m.chip.sms}"


@pytest.mark.parametrize("name", list_machines())
def test_every_number_of_sms_has_its_share(name: str) -> None:
    """Bandwidth to the bit, L2 to a set of each slice; never more of anything than the chip has."""
    m = load_machine(name)
    for sms in range(1, m.chip.sms + 1):
        figures = memory_figures(m, sms)
        share = Fraction(sms, m.chip.sms)
        channels, slices = figures["dram_channels"], figures["slices"]
        assert 1 <= channels <= m.dram.channels
        assert slices == channels * (m.l2.slices // m.dram.channels)
        on_bus = Fraction(figures["t_data"][0], 1 << DATA_FRACTION)
        assert on_bus >= Fraction(m.dram.burst, m.dram.data_rate)
        bandwidth = channels / on_bus
        assert abs(bandwidth / (m.dram.channels * share / Fraction(m.dram.burst, m.dram.data_rate)) - 1) < 1e-4
        lines = slices * figures["l2_sets"] * m.l2.ways
        assert abs(lines - share * m.l2.bytes / m.l2.line_bytes) <= max(slices, 1) * m.l2.ways
    assert figures["dram_channels"] == m.dram.channels
    assert figures["l2_sets"] == m.l2.sets


def conserved(m: Machine, result: Result, sms: int) -> None:
    """The laws of one run of COPY."""
    stats, cycles = result.stats, result.cycles
    net = m.interconnect
    figures = memory_figures(m, sms)
    last = (net.header_bytes + 128) * sms if m.chip.sms_per_port > 1 else 0  # it arrives as on a whole link
    assert stats["request_bytes"] <= sms * m.request_bytes_per_sm * cycles + last
    assert stats["response_bytes"] <= sms * m.response_bytes_per_sm * cycles + last
    assert stats["response_bytes"] <= figures["slices"] * m.l2.port_bytes * cycles
    assert stats["dram_bytes"] <= m.bytes_per_cycle_per_sm * sms * cycles + m.dram.burst_bytes * m.dram.channels
    assert stats["dram_bytes"] == m.dram.burst_bytes * (stats["dram_reads"] + stats["dram_writes"])
    loads, stores = stats["l2_hits"] + stats["l2_misses"], stats["l2_stores"]
    assert stats["request_bytes"] == net.header_bytes * (loads + stores) + 32 * stats["global_store_sectors"]
    per_burst = max(1, m.dram.burst_bytes // 32)
    assert stats["dram_reads"] * per_burst == stats["l2_fill_sectors"] == stats["global_load_sectors"]
    assert stats["response_bytes"] == net.header_bytes * (loads + stores) + 32 * stats["global_load_sectors"]


@pytest.mark.parametrize("name", list_machines())
def test_what_is_asked_for_is_given_and_links_carry_no_more_than_they_can(name: str) -> None:
    m = load_machine(name)
    module = schedule(assemble(COPY, "k"), m)
    rng = random.Random(name)
    for sms in sorted({1, rng.randint(2, 5), min(m.chip.sms, rng.randint(6, 12))}):
        blocks = rng.randint(1, 2 * sms)
        x = np.arange(256 * blocks, dtype=np.uint32)
        result = go(module, grid=blocks, block=64, buffers={"x": x, "y": np.zeros_like(x)}, machine=m, sms=sms)
        assert np.array_equal(result.buffers["y"], x)
        conserved(m, result, sms)
