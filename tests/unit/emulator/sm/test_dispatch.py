"""Blocks onto SMs: the launch interval, delays by a seed, shared memory that is handed out and given back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.policies.placements.table import place as placed
from binalloc.emulator.policies.regions import enter_region
from binalloc.emulator.runs.options import Observer
from binalloc.emulator.sm.dispatch import start_delay
from binalloc.emulator.state.layout import MOST_SEED, SKEW_CYCLES
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.errors import KernelFault, UsageError
from binalloc.isa.instruction import Instr
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import Dispatch
from tests.support.kits.emulator.small import address, go, module, op, store

ENGINES = ("python", "numba")


def machine(interval: int = 1) -> Machine:
    return replace(load_machine("gtx680"), dispatch=Dispatch(interval))


def starts(**options: Any) -> dict[int, int]:
    """The cycle in which each block of a run came."""
    found: dict[int, int] = {}

    def look(device: LaunchedDevice, cycle: int) -> None:
        for sm in range(device.sms_count):
            active, numbers = (device.engine.get(device.sms, sm, name) for name in ("block_active", "block_id"))
            for slot in np.flatnonzero(active):
                found.setdefault(int(numbers[slot]), cycle)

    observer: Observer = look
    go(module([op("NOP")] * 40 + [op("EXIT")]), observer=observer, **options)
    return found


@pytest.mark.rotates
@pytest.mark.parametrize("interval", [1, 7, 100])
@pytest.mark.parametrize("reference", [False, True])
def test_blocks_of_an_sm_start_at_the_interval_and_all_sms_in_turn(interval: int, reference: bool) -> None:
    found = starts(grid=12, sms=3, machine=machine(interval), reference=reference)
    assert found == {block: block // 3 * interval for block in range(12)}


def test_a_block_comes_as_soon_as_both_its_turn_and_a_slot_have() -> None:
    slow, full = (starts(grid=4, blocks_per_sm=2, machine=machine(interval)) for interval in (1_000, 1))
    assert [slow[b] for b in range(4)] == [0, 1_000, 2_000, 3_000]
    assert full[1] == 1
    assert full[3] == full[2] + 1  # each in the cycle after a slot was free


def test_no_machine_file_differs_from_what_is_assumed() -> None:
    assert load_machine("v100").dispatch.interval == 1


def test_every_seed_delays_blocks_by_hash_and_none_delays_nobody() -> None:
    g = Gpu()
    assert [start_delay(g, b) for b in range(5)] == [0] * 5
    seen = []
    for seed in (0, 1, 2, MOST_SEED - 1):
        g.skew = seed + 1
        delays = [start_delay(g, b) for b in range(5_000)]
        assert 0 <= min(delays) <= max(delays) == SKEW_CYCLES - 1
        counts = np.bincount(delays, minlength=SKEW_CYCLES)
        assert counts.min() > 5_000 / SKEW_CYCLES / 2  # all are about equally frequent
        assert abs(np.corrcoef(delays[1:], delays[:-1])[0, 1]) < 0.05
        seen.append(delays)
    assert len({tuple(d) for d in seen}) == len(seen)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sms", [1, 2])
def test_skewed_runs_agree_in_all_modes_and_change_no_result(engine: str, sms: int) -> None:
    m = module([*address(), op("IADD3", rd=6, ra=0, form=1, imm=7, rc=255, wait=1), *store(6)], params={"x": 8})
    x = {"x": np.zeros(64, np.uint32)}
    runs = [
        go(m, grid=9, block=64, buffers=x, engine=engine, reference=reference, skew=3, sms=sms)
        for reference in (False, True)
    ]
    assert runs[0].stats == runs[1].stats
    plain = go(m, grid=9, block=64, buffers=x, engine=engine, sms=sms)
    assert np.array_equal(plain.buffers["x"], runs[0].buffers["x"])
    assert plain.cycles < runs[0].cycles
    assert runs[0].stats == go(m, grid=9, block=64, buffers=x, skew=3, sms=sms).stats


@pytest.mark.parametrize("seed", [-1, MOST_SEED])
def test_seeds_have_bounds(seed: int) -> None:
    with pytest.raises(UsageError, match="seed"):
        go(module([op("EXIT")]), skew=seed)


# ---------------------------------------------------------------------------------------------------------------------
# Shared memory of an SM.


def place(taken: list[tuple[int, int]], words: int, capacity: int = 100) -> int:
    """Where `words` go beside blocks at these first words and ends; None of them has gone."""
    g, s = Gpu(), Sm()
    g.shared_words = capacity
    for slot, (first, end) in enumerate(taken):
        enter_region(s, slot, slot, first, end - first, 0)
    return placed(g, s, words)


@pytest.mark.parametrize(
    ("taken", "words", "first"),
    [([], 100, 0), ([], 101, -1), ([(0, 10)], 10, 10), ([(10, 20)], 10, 0), ([(10, 20)], 11, 20),
     ([(50, 60), (0, 10), (10, 20)], 30, 20), ([(50, 60), (0, 10), (10, 20)], 31, 60),
     ([(50, 60), (0, 10), (10, 20)], 41, -1), ([(0, 50), (50, 100)], 1, -1), ([(0, 50), (50, 100)], 0, 0)],
)  # fmt: skip
def test_the_lowest_gap_that_is_large_enough(taken: list[tuple[int, int]], words: int, first: int) -> None:
    assert place(taken, words) == first


def test_first_fit_against_a_map_of_words() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        used = np.zeros(64, bool)
        taken = []
        for _ in range(rng.integers(0, 8)):
            words = int(rng.integers(0, 20))
            at = place(taken, words, 64)
            fits = [i for i in range(64 - words + 1) if not used[i : i + words].any()]
            assert at == (fits[0] if fits else -1)
            if at >= 0:
                used[at : at + words] = True
                taken.append((at, at + words))
            if taken and rng.random() < 0.4:
                first, end = taken.pop(int(rng.integers(len(taken))))
                used[first:end] = False


WORD = [*address(), op("IMAD", rd=10, ra=0, form=1, imm=4, rc=255, wait=1)]
"""R10 = the thread's word of shared memory, below 128 bytes."""


def write_and_read(first: int, last: int) -> list[Instr]:
    """The block's number goes into shared memory at `first`, what is at `last` is stored."""
    return [
        *WORD,
        op("S2R", rd=8, sreg=6, wbar=1),
        op("STS", ra=10, rb=8, width=4, moff=first, wait=2, rbar=0),
        op("LDS", rd=6, ra=10, width=4, moff=last, wait=1, wbar=2),
        op("STG", ra=4, rb=6, width=4, rbar=5, wait=4),
        op("EXIT", wait=32),
    ]


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("checks", [{}, {"check": True}, {"race": True}])
def test_blocks_have_shared_memory_of_their_own(engine: str, checks: dict[str, bool]) -> None:
    code = write_and_read(128, 128)
    code[-2:-2] = [op("IADD3", rd=6, ra=6, rb=8, negb=1, rc=255, wait=4)]
    m = module(code, params={"x": 8}, shared_bytes=256)
    runs = [
        go(m, grid=40, buffers={"x": np.ones(32, np.uint32)}, engine=engine, reference=reference, sms=2, **checks)
        for reference in (False, True)
    ]
    assert runs[0].stats == runs[1].stats
    assert not runs[0].buffers["x"].any()  # each found its own number


@pytest.mark.parametrize("engine", ENGINES)
def test_a_new_block_finds_zeros_where_another_was(engine: str) -> None:
    m = module(write_and_read(128, 0), params={"x": 8}, shared_bytes=256)
    x = {"x": np.ones(32, np.uint32)}
    assert not go(m, grid=40, blocks_per_sm=2, buffers=x, engine=engine).buffers["x"].any()
    with pytest.raises(KernelFault, match="uninitialised"):
        go(m, grid=40, blocks_per_sm=2, buffers=x, engine=engine, check=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("checks", [{}, {"check": True}, {"race": True}])
def test_bounds_are_the_blocks_though_others_lie_behind_it(engine: str, checks: dict[str, bool]) -> None:
    for offset in (132, -4):
        m = module(write_and_read(offset, 0), params={"x": 8}, shared_bytes=256)
        with pytest.raises(KernelFault) as caught:
            go(m, grid=8, buffers={"x": np.zeros(32, np.uint32)}, engine=engine, **checks)
        text = str(caught.value)
        assert "shared memory access out of bounds" in text
        assert "below 0x100" in text
        assert ("lane 31" in text) == (offset > 0)


def test_what_an_sm_holds_is_as_the_occupancy_rules_hand_it_out() -> None:
    """On gtx680 in pieces of 256 bytes, on the A100 1 KB of each block is the system's; the array is the SM's."""
    for name, asked, handed in (("gtx680", 260, 512), ("a100", 260, 1024 + 384), ("gpgpusim-sharing", 260, 260)):
        m = module([op("EXIT")], shared_bytes=asked, machine=name)
        seen: list[tuple[int, int]] = []

        def look(device: LaunchedDevice, cycle: int, seen: list[tuple[int, int]] = seen) -> None:
            ends = device.engine.get(device.sms, 0, "shared_end")
            seen.append((int(ends[0]) * 4, device.memories.shared.shape[1] * 4 - 4))

        go(m, grid=3, machine=name, observer=look)
        assert seen[0] == (handed, load_machine(name).sm.shared_per_sm), name
