"""A run in intervals: together they are the run, each accounts for its own cycles, and modes and engines agree on every
one, for random kernels, machines, schedulers, numbers of SMs and lengths of intervals."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.figures.series import MOST_INTERVALS
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result
from binalloc.emulator.state.memory_layout import Queue
from binalloc.errors import LimitHit
from binalloc.models.machines.reader import load_machine
from tests.property.emulator.test_schedulers_agree import MACHINES, counted, run
from tests.support.kits.emulator.small import go, module, op
from tests.support.kits.suite import rotation

STANDING = ("queues", "places", "most")


def sums(values: dict[str, Any], at: str = "") -> Counter[str]:
    """Every counter by its path: what grows from cycle to cycle."""
    out: Counter[str] = Counter()
    for name, value in values.items():
        if isinstance(value, dict):
            out.update(sums(value, f"{at}{name}."))
        elif isinstance(value, int) and name != "start" and not (at and name in STANDING):
            out[at + name] = value
    return out


def require_whole(result: Result, every: int, machine: str) -> None:
    """The intervals follow one another, add up to the run, and account for every slot of their cycles."""
    m = load_machine(machine)
    total: Counter[str] = Counter()
    start = 0
    for interval in result.series:
        assert interval["start"] == start
        assert interval["cycles"] == every or interval is result.series[-1]
        start += interval["cycles"]
        slots = interval["cycles"] * m.schedulers.count * m.schedulers.issue_width * result.sms
        assert interval["issue_slots"] + sum(interval["stalls"].values()) == slots
        assert 0 <= interval["warp_cycles"] <= interval["cycles"] * m.sm.warps_per_sm * result.sms
        for queue in interval["queues"].values():
            assert 0 <= queue["average"] <= queue["most"]
            assert 0 <= queue["full"] <= 1
        links = m.interconnect
        for name, width in (("request", links.request_bytes), ("response", links.response_bytes)):
            longest = links.header_bytes + 128  # a packet counts when all of it has come
            assert interval[f"{name}_bytes"] <= result.sms * (width * interval["cycles"] + longest)
        total.update(sums(interval))
    assert start == result.cycles
    assert +total == +sums(result.stats)


@pytest.mark.rotates(parts=rotation.EIGHTH)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_the_modes_agree(machine: str, scheduler: str) -> None:
    for seed in range(6):
        every = random.Random(f"every {seed}").choice((1, 13, 100, 1000, 1 << 20))
        fast = run(seed, machine, scheduler, engine="numba", every=every)
        require_whole(fast, every, machine)
        assert fast.series == run(seed, machine, scheduler, engine="numba", every=every, reference=True).series
        assert counted(fast) == counted(run(seed, machine, scheduler, engine="numba")), seed


@pytest.mark.parametrize("machine", MACHINES)
def test_the_engines_agree(machine: str) -> None:
    for seed in range(6, 10):
        every = random.Random(f"every {seed}").choice((1, 13, 100, 1000))
        plain = run(seed, machine, "gto", small=True, engine="python", every=every)
        require_whole(plain, every, machine)
        assert plain.series == run(seed, machine, "gto", small=True, engine="numba", every=every).series, seed
        slow = run(seed, machine, "gto", small=True, engine="python", every=every, reference=True)
        assert plain.series == slow.series


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("seed", range(3))
def test_queues_hold_what_is_seen_in_them_at_the_end_of_every_cycle(machine: str, seed: int) -> None:
    """Looked at after each cycle with events; in between nothing comes and nothing goes."""
    seen: Counter[str] = Counter()
    full: Counter[str] = Counter()
    before: list[tuple[int, dict[str, list[int]]]] = []

    def look(device: LaunchedDevice, cycle: int) -> None:
        note(device, cycle)
        held = {name: [device.engine.get(device.sms, i, name) for i in range(device.sms_count)]
                for name in ("loads_out", "stores_out")}  # fmt: skip
        slices, channels = device.get("slices"), device.get("dram_channels")
        now = {
            "l1_mshrs": held["loads_out"],
            "store_places": held["stores_out"],
            "l2_mshrs": device.engine.get(device.g, 0, "slice_pending")[:slices].tolist(),
            "dram_queue": device.engine.get(device.g, 0, "channel_waiting")[:channels].tolist(),
        }
        before[:] = [(cycle, now)]

    def note(device: LaunchedDevice, cycle: int) -> None:
        places = ("l1_mshrs", "store_places", "l2_mshrs")
        room = dict(zip(Queue.names, (device.get(name) for name in places), strict=False))
        room["dram_queue"] = int(device.engine.get(device.g, 0, "dram_depth")[0])
        for since, held in before:
            for name, queues in held.items():
                seen[name] += (cycle - since) * sum(queues)
                full[name] += (cycle - since) * sum(n >= room[name] for n in queues)

    devices: list[LaunchedDevice] = []

    def observe(device: LaunchedDevice, cycle: int) -> None:
        devices[:] = [device]
        look(device, cycle)

    result = run(seed, machine, "lrr", small=True, engine="python", observer=observe)
    note(devices[0], result.cycles)
    found = result.stats["queues"]
    assert {name: queue["entry_cycles"] for name, queue in found.items()} == {name: seen[name] for name in found}
    assert {name: queue["full_cycles"] for name, queue in found.items()} == {name: full[name] for name in found}
    assert sum(seen.values()) > 0


def test_an_interval_of_every_cycle_with_and_without_events() -> None:
    """One warp that issues in cycles 0, 5 and 8, see `test_profile`."""
    code = module([op("MOV", stall=5, rd=6, rb=0), op("MOV", stall=3, rd=7, rb=0), op("EXIT")])
    for reference in (False, True):
        series = go(code, every=1, reference=reference).series
        assert [interval["warp_instructions"] for interval in series] == [1, 0, 0, 0, 0, 1, 0, 0, 1]
        assert [interval["stalls"]["stall_count"] for interval in series] == [0, 2, 2, 2, 2, 0, 2, 2, 0]
        assert [interval["start"] for interval in series] == list(range(9))
        two = go(code, every=3, reference=reference).series
        assert [interval["stalls"]["stall_count"] for interval in two] == [4, 4, 4]
        assert [interval["cycles"] for interval in go(code, every=4, reference=reference).series] == [4, 4, 1]


def test_what_is_left_after_the_most_intervals_is_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine cycles: eight intervals and no rest, eight and a rest as long as they are, four and a longer one."""
    assert MOST_INTERVALS == 10_000
    code = module([op("MOV", stall=5, rd=6, rb=0), op("MOV", stall=3, rd=7, rb=0), op("EXIT")])
    for most, every, lengths, full_at in (
        (5, 2, [2, 2, 2, 2, 1], None), (9, 1, [1] * 9, None), (8, 1, [1] * 9, 8), (4, 2, [2, 2, 2, 2, 1], 8),
        (4, 1, [1, 1, 1, 1, 5], 4), (1, 1, [1, 8], 1),
    ):  # fmt: skip
        monkeypatch.setattr("binalloc.emulator.host.figures.series.MOST_INTERVALS", most)
        for reference in (False, True):
            found = go(code, every=every, reference=reference)
            assert [interval["cycles"] for interval in found.series] == lengths
            assert found.series_full_at == full_at
            assert [interval["start"] for interval in found.series] == [sum(lengths[:i]) for i in range(len(lengths))]
            assert sum(interval["warp_instructions"] for interval in found.series) == 3


@pytest.mark.parametrize("reference", [False, True])
def test_a_stopped_run_has_its_intervals(reference: bool) -> None:
    code = module([op("BRA", stall=1, target=-1)])
    for limit, lengths in ((100, [40, 40, 20]), (80, [40, 40]), (41, [40, 1]), (1, [1])):
        with pytest.raises(LimitHit) as caught:
            go(code, every=40, max_cycles=limit, reference=reference)
        partial = caught.value.partial
        assert isinstance(partial, Result)
        assert [interval["cycles"] for interval in partial.series] == lengths
        assert sum(interval["warp_instructions"] for interval in partial.series) == partial.stats["warp_instructions"]


def test_a_limit_is_a_limit_whether_samples_are_taken_or_not() -> None:
    code = module([op("BRA", stall=1, target=-1)])
    for every in (None, 7, 100, 1000):
        with pytest.raises(LimitHit, match="cycle limit"):
            go(code, every=every, max_cycles=100)
