"""Lines of open rows that are fetched ahead, by hand: which they are, in what order, and when they are fetched.

One page of 2 MB holds all that the kernels load. On this machine (256 bytes in a channel before the next one's turn,
four channels, sixteen banks, rows of 32 lines) lines 0, 1, 8, 9, 16, 17 and so on to 121 of the page are row 0 of a
bank, and lines 2048, 2049, 2056 and so on row 1 of the same bank.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.run import Result
from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.dram_commands import lines_read, logging_devices
from tests.support.kits.emulator.small import address, go, module, op

ROW = [line + side for line in range(0, 128, 8) for side in (0, 1)]
NEXT_ROW = [2048 + line for line in ROW]
LINE_BYTES = 128


def loads(*lines: int, apart: bool = False) -> Module:
    """The warp loads these lines of its buffer, one right after the other, or each when the one before has come."""
    body = [op("LDG", stall=1, rd=6 + i, ra=4, width=4, moff=LINE_BYTES * line, wbar=1, wait=2 if apart and i else 0)
            for i, line in enumerate(lines)]  # fmt: skip
    return module([*address(), *body, op("EXIT", wait=2)], registers=32, params={"x": 8})


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[LaunchedDevice]:
    """The devices of the runs, which log what their DRAM is told."""
    return logging_devices(monkeypatch)


def read(
    code: Module, scheduler: str, devices: list[LaunchedDevice], m: Machine | None = None
) -> tuple[list[int], Result]:
    """The lines that DRAM read, in their order, in both modes; and the run."""
    m = m or load_machine("gem5gpu-batching")
    options: dict[str, Any] = {"machine": m, "sms": 8, "pages": "interleaved:bytes=2097152", "hazards": False}
    data = {"x": np.zeros(1 << 19, np.uint32)}
    results = [go(code, buffers=data, scheduler=scheduler, reference=mode, **options) for mode in (False, True)]
    found = [lines_read(device) for device in devices[-2:]]
    assert found[0] == found[1]
    assert results[0].stats == results[1].stats
    return found[0], results[0]


# The grid ends when the warp has its lines: a chain of prefetches is cut off where it has come to.
WAITS = 6  # times that the kernel waits for a line far away, for longer than all prefetches of a row take


def slow(*lines: int) -> Module:
    """The warp loads these lines, and some of another bank one after the other, so that the run goes on for long."""
    return loads(*lines, *(128 * bank for bank in range(1, 1 + WAITS)), apart=True)


def of_first_banks(lines: list[int], *rows: list[int]) -> list[int]:
    """Those of the lines that belong to these rows."""
    known = {line for row in rows for line in row}
    return [line for line in lines if line in known]


@pytest.mark.parametrize("when", ["idle", "open"])
@pytest.mark.parametrize(
    ("line", "prefetch", "wanted"),
    [
        (0, "0", [0]),
        (0, "5", [0, 1, 8, 9, 16, 17]),
        (0, "row", ROW),
        (24, "3", [24, 25, 32, 33]),
        (25, "row", [*ROW[7:], *ROW[:7]]),  # behind the row's last line comes its first
        (121, "2", [121, 0, 1]),
    ],
)
def test_the_lines_behind_the_one_that_was_loaded(
    line: int, prefetch: str, wanted: list[int], when: str, devices: list[LaunchedDevice]
) -> None:
    lines, result = read(slow(line), f"owl:prefetch={prefetch}:when={when}", devices)
    assert of_first_banks(lines, ROW) == wanted
    elsewhere = result.stats["l2_prefetches"] - len(wanted) + 1
    assert elsewhere == len(lines) - len(wanted) - WAITS
    assert result.stats["l2_fills"] == 1 + WAITS
    assert result.stats["dram_requests"] == len(lines)
    assert result.stats["l2_prefetches_used"] == result.stats["l2_prefetches_evicted"] == 0


AT_ONCE = {
    # line 2048 waits at the bank, so no line of row 0 is fetched ahead; nobody waits when it has been read
    "idle": [0, 2048, 2049, 2056, 2057],
    # the prefetches find their row open, and go before line 2048
    "open": [0, 1, 8, 9, 2048, 2049, 2056, 2057],
}


@pytest.mark.parametrize("when", AT_ONCE)
def test_a_request_that_waits_at_the_bank(when: str, devices: list[LaunchedDevice]) -> None:
    code = loads(0, 2048, *(128 * bank for bank in range(1, 4)))
    lines, result = read(code, f"owl:prefetch=3:when={when}", devices)
    assert of_first_banks(lines, ROW, NEXT_ROW) == AT_ONCE[when]
    assert result.stats["dram_activations"] == 5


def test_lines_that_l2_has_are_passed_over(devices: list[LaunchedDevice]) -> None:
    """Lines 1 and 9 come before the row is left for another one; when it is opened again, they are not fetched."""
    code = loads(1, 9, 2048, 0, 128, 256, 384, apart=True)
    lines, result = read(code, "owl:prefetch=0", devices)
    assert of_first_banks(lines, ROW, NEXT_ROW) == [1, 9, 2048, 0]
    lines, result = read(code, "owl:prefetch=2", devices)
    # line 1: 8, 9. line 9 is in L2. line 2048: 2049, 2056. line 0: 1, 8, 9 are in L2, so 16 and 17
    assert of_first_banks(lines, ROW, NEXT_ROW) == [1, 8, 9, 2048, 2049, 2056, 0, 16, 17]
    assert result.stats["l2_prefetches_used"] == 1
    assert result.stats["l2_hits"] == 1


def test_each_line_is_used_once(devices: list[LaunchedDevice]) -> None:
    """L1 does not hold what is loaded past it, so the second load of line 8 comes to L2, too."""
    body = [op("LDG", stall=1, rd=6 + i, ra=4, width=4, moff=LINE_BYTES * line, wbar=1, wait=2 if i else 0, cache=1)
            for i, line in enumerate((0, 8, 8, 9, 128))]  # fmt: skip
    code = module([*address(), *body, op("EXIT", wait=2)], registers=32, params={"x": 8})
    _, result = read(code, "owl:prefetch=4", devices)
    assert result.stats["l2_prefetches_used"] == 2
    assert result.stats["l2_hits"] == 3
    assert result.stats["l2_misses"] == result.stats["l2_fills"] == 2


def soon_after(first: int, second: int) -> Module:
    """The warp loads a line, and another one that comes to L2 when the first has been read from DRAM, and has not come
    yet."""
    pause = [op("IADD3", rd=10, ra=10, form=1, imm=1, rc=255) for _ in range(4)]
    load, other = (op("LDG", rd=6, ra=4, width=4, moff=LINE_BYTES * line, wbar=1) for line in (first, second))
    return module([*address(), load, *pause, other, op("EXIT", wait=2)], registers=32, params={"x": 8})


@pytest.mark.parametrize("prefetch", [0, 1])
def test_a_line_that_is_under_way_keeps_its_way(prefetch: int, devices: list[LaunchedDevice]) -> None:
    """Lines 0 and 4096 are in one set of two ways. Where line 1 is being prefetched, line 4096 waits for the
    way of line 0."""
    m = load_machine("gem5gpu-batching")
    small = replace(m, l2=replace(m.l2, sets=1, ways=2, bytes=2 * m.l2.slices * LINE_BYTES))
    _, result = read(soon_after(0, 4096), f"owl:prefetch={prefetch}", devices, small)
    assert result.stats["l2_stalled"] == prefetch


def test_a_load_waits_for_a_prefetch_that_is_under_way(devices: list[LaunchedDevice]) -> None:
    """It comes between the end of line 0 at DRAM and the arrival of line 1 in L2: its words are not fetched again."""
    lines, result = read(soon_after(0, 1), "owl:prefetch=1", devices)
    assert lines == [0, 1]
    counted = {name: result.stats[f"l2_{name}"] for name in ("fills", "hits", "misses", "merges", "prefetches_used")}
    assert counted == {"fills": 1, "hits": 0, "misses": 2, "merges": 1, "prefetches_used": 1}


def test_a_store_uses_nothing(devices: list[LaunchedDevice]) -> None:
    code = module(
        [*address(), op("LDG", rd=6, ra=4, width=4, wbar=1), op("STG", ra=4, rb=6, width=4, moff=LINE_BYTES, wait=2),
         op("LDG", rd=7, ra=4, width=4, moff=128 * LINE_BYTES, wbar=1), op("EXIT", wait=2)],
        registers=16, params={"x": 8},
    )  # fmt: skip
    _, result = read(code, "owl:prefetch=1", devices)
    assert result.stats["l2_prefetches"] == 2
    assert result.stats["l2_prefetches_used"] == 0


@pytest.mark.parametrize("when", ["idle", "open"])
def test_without_a_free_mshr_nothing_is_fetched_ahead(when: str, devices: list[LaunchedDevice]) -> None:
    """Lines 0 and 1 are in one slice, whose only MSHR belongs to line 0 until its data has come."""
    m = load_machine("gem5gpu-batching")
    lines, result = read(slow(0), f"owl:when={when}", devices, replace(m, l2=replace(m.l2, mshrs=1)))
    assert of_first_banks(lines, ROW) == [0]
    assert result.stats["l2_prefetches"] == 0


def test_without_places_at_the_channel_nothing_is_fetched_ahead(devices: list[LaunchedDevice]) -> None:
    """Of a queue with three places, the prefetches of a row that was just opened have all three. The fourth line is
    asked for when the first of them has been read."""
    m = load_machine("gem5gpu-batching")
    small = replace(m, dram=replace(m.dram, queue=3))
    lines, result = read(slow(0), "owl:prefetch=4:when=open", devices, small)
    assert of_first_banks(lines, ROW) == [0, 1, 8, 9, 16]
    assert result.stats["queues"]["dram_queue"]["most"] == 3


EVICTIONS = {0: (0, 0, 1), 1: (3, 2, 4)}


@pytest.mark.parametrize("prefetch", EVICTIONS)
def test_lines_that_are_evicted_unused_count(prefetch: int, devices: list[LaunchedDevice]) -> None:
    """Rows 0, 2 and 4 begin in one slice, which has two lines. Without prefetches the third load evicts line 0. With
    them line 4096 evicts line 0, and its prefetch line 1; line 8192 evicts line 4096, and its prefetch line 4097."""
    m = load_machine("gem5gpu-batching")
    small = replace(m, l2=replace(m.l2, sets=1, ways=2, bytes=2 * m.l2.slices * LINE_BYTES))
    _, result = read(loads(0, 4096, 8192, apart=True), f"owl:prefetch={prefetch}", devices, small)
    stats = result.stats
    assert stats["l2_prefetches_used"] == 0
    found = tuple(stats[f"l2_{name}"] for name in ("prefetches", "prefetches_evicted", "evictions"))
    assert found == EVICTIONS[prefetch]


@pytest.mark.parametrize("scheduler", ["owl:prefetch=row:when=idle", "owl:prefetch=row:when=open"])
def test_an_l2_of_textures_alone_fetches_nothing_ahead(scheduler: str) -> None:
    m = load_machine("gtx285")
    assert not m.l2.caches_data
    code = loads(0, 64, 128)
    both = [
        go(code, buffers={"x": np.zeros(1 << 15, np.uint32)}, machine=m, scheduler=name, hazards=False)
        for name in (scheduler, "owl:prefetch=0")
    ]
    assert both[0].stats == both[1].stats
