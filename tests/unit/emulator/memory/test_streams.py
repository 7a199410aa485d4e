"""Streams of loads, stores and copies: how much of each link's peak they reach, on every machine."""

from __future__ import annotations

import pytest

from binalloc.emulator.host.memory.memory_figures import memory_figures
from binalloc.emulator.runs.run import Result
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.micro import measure

MUCH_OF_ONE = 768 << 10  # bytes of L2 for each SM, of which 3 MB are only four times as much
STREAMS = ("stream_load", "stream_store", "stream_copy")


def use_of_links(m: Machine, result: Result, sms: int) -> dict[str, float]:
    """What each link carried, over what it could in the cycles of the run."""
    stats, cycles = result.stats, result.cycles
    slices = memory_figures(m, sms)["slices"]
    return {
        "dram": stats["dram_bytes"] / (m.bytes_per_cycle_per_sm * sms * cycles),
        "requests": stats["request_bytes"] / (m.request_bytes_per_sm * sms * cycles),
        "responses": stats["response_bytes"] / (m.response_bytes_per_sm * sms * cycles),
        "slices": stats["response_bytes"] / (m.l2.port_bytes * slices * cycles),
    }


@pytest.mark.rotates
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", list_machines())
def test_a_stream_on_one_sm_reaches_three_quarters_of_its_share(name: str, stream: str) -> None:
    """3 MB; 24 MB where an SM's share of L2 would keep much of that for itself."""
    m = load_machine(name)
    size = "chip" if m.l2.bytes > MUCH_OF_ONE * m.chip.sms else "full"
    used = use_of_links(m, measure(stream, name, size, engine="numba"), 1)
    require_much(m, used)


def require_much(m: Machine, used: dict[str, float]) -> None:
    """A stream reaches three quarters of DRAM's peak. Where several SMs share a port, which has less, it reaches three
    fifths of one of them: the loads of a copy queue behind its stores, and the way back is idle for so long."""
    if m.chip.sms_per_port > 1:
        assert max(used.values()) >= 0.6, used
    else:
        assert used["dram"] >= 0.75, used
    assert max(used.values()) <= 1, used


QUICK = ("gem5gpu-batching", "gtx285", "gtx680")
CHIPS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in list_machines()]
MUCH = 8 << 20  # bytes of L2, of which 24 MB are only three times as much


@pytest.mark.rotates
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", CHIPS)
def test_a_stream_on_the_whole_chip_reaches_three_quarters_of_the_peak(name: str, stream: str) -> None:
    """24 MB; 192 MB where L2 would hold that."""
    m = load_machine(name)
    size = "large" if m.l2.bytes > MUCH else "chip"
    used = use_of_links(m, measure(stream, name, size, engine="numba", sms=m.chip.sms), m.chip.sms)
    require_much(m, used)


@pytest.mark.parametrize("name", ["a100", "h100", "v100"])
def test_a_share_of_a_channel_in_fractions_of_a_tick_is_used_whole(name: str) -> None:
    """One of these SMs has a channel where a burst takes 2.7, 3.3 or 2.5 ticks: rounded up, a tenth to a sixth of the
    bandwidth would be lost."""
    m = load_machine(name)
    used = use_of_links(m, measure("stream_load", name, "full", engine="numba"), 1)
    assert 0.95 <= used["dram"] <= 1
