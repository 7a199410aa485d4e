"""Blocks that share memory two by two: places, the lock, its waits, RELSSP, and what stops a run."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.pairs import (
    call_kept_out,
    common_first,
    give_if_released,
    leave_pair,
    open_place,
    take_lock,
)
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import run
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.errors import KernelFault, Refused, UsageError
from binalloc.isa.instruction import Instr, Module
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.public import go, kernel, ready
from tests.support.kits.emulator.run_log import logged
from tests.support.kits.emulator.small import module, op
from tests.support.oracles.emulator.owner_first import FIG_4, Runner, Step, owner_first, simulate

GPGPUSIM = load_machine("gpgpusim-sharing")
SHARED = 8192  # bytes of a block here, of the SM's 16,384
RZ = 255


def one_scheduler() -> Machine:
    """The machine of Fig. 4: one scheduler, results of arithmetic after a cycle, of shared memory after five."""
    units = {name: replace(unit, latency=1) for name, unit in GPGPUSIM.units.items()}
    return replace(
        GPGPUSIM, schedulers=replace(GPGPUSIM.schedulers, count=1), units=units,
        shared=replace(GPGPUSIM.shared, latency=5),
    )  # fmt: skip


# -- Fig. 4


@pytest.mark.parametrize(
    ("order", "issues", "finish"),
    [
        ("UON", ([1, 2, 7], [3, 4, 9], [5, 10, 15]), (7, 9, 15)),
        ("OUN", ([3, 4, 9], [1, 2, 7], [5, 8, 13]), (9, 7, 13)),
    ],
)
def test_figure_4(order: str, issues: tuple[list[int], ...], finish: tuple[int, ...]) -> None:
    """The text gives the owner cycles 7 and 8 for its last two instructions in the second order, and N the eighth; by
    the counting of the first order these are 6, 7 and 8."""
    warps = [Runner(FIG_4), Runner(FIG_4, 2), Runner(FIG_4, 1)]
    ranks = {"U": 0, "O": 1, "N": 2}
    simulate(warps, lambda i, _: order.index("UON"[i]) if order else ranks["UON"[i]])
    assert tuple(warp.issued for warp in warps) == issues
    assert tuple(warp.finish for warp in warps) == finish


def code_of(steps: list[Step], at: int = 4096) -> list[Instr]:
    """Loads and moves: each shared access is of a byte behind the private ones."""
    out = []
    for step in steps:
        wait = 1 if step.waits else 0
        if step.latency > 1:
            out.append(op("LDS", rd=6, ra=RZ, moff=at if step.shared else 0, width=4, wbar=0, stall=1, wait=wait))
        else:
            out.append(op("MOV", rd=7, form=1, imm=1, stall=1, wait=wait))
    return [*out, op("EXIT")]


def issues(code: list[Instr], grid: int, scheduler: str, sharing: str, shared: int = SHARED, **options: Any) -> Any:
    """The cycles, counted from 1, in which each block's warp issues; EXIT included."""
    _, rows = logged(
        module(code, shared_bytes=shared), grid=grid, machine=one_scheduler(), sharing=sharing, scheduler=scheduler,
        hazards=False, **options,
    )  # fmt: skip
    found: dict[int, list[int]] = {b: [] for b in range(grid)}
    for row in rows:
        if row.kind == "issue":
            found[row.block].append(row.cycle + 1)
    return [found[b] for b in range(grid)]


@pytest.mark.parametrize("reference", [False, True])
def test_figure_4_emulated(reference: bool) -> None:
    """O is block 0, U block 1, N block 2. With an EXIT for each warp, O's takes cycle 8, before N's load."""
    steps = [*FIG_4, Step()]
    warps = [Runner(steps, 2), Runner(steps, begins=2), Runner(steps, 0, begins=3)]
    want = [warp.issued for warp in simulate(warps, owner_first)]
    assert issues(code_of(list(FIG_4)), 3, "owf", "1:1024", 7168, reference=reference) == want
    assert [times[:3] for times in want] == [[1, 2, 7], [3, 4, 10], [5, 9, 14]]


@pytest.mark.parametrize("seed", range(25))
def test_random_code_as_the_small_scheduler_has_it(seed: int) -> None:
    """Two pairs and two unshared blocks of random instructions, loads among them within and behind the private part."""
    rng = random.Random(seed)
    steps = []
    for k in range(rng.randrange(6, 16)):  # so that no block ends before the last one has come
        load = rng.randrange(3) == 0
        steps.append(Step(5 if load else 1, k > 0 and steps[-1].latency > 1, load and rng.randrange(2) == 0))
    if steps[-1].latency > 1:
        steps.append(Step(waits=True))
    warps = [Runner([*steps, Step()], partner, begins=b + 1) for b, partner in enumerate((4, 5, -1, -1, 0, 1))]
    want = [warp.issued for warp in simulate(warps, owner_first)]
    code = code_of(steps, 2048)
    assert issues(code, 6, "owf", "2:256", 3840) == want
    assert issues(code, 6, "owf", "2:256", 3840, engine="numba") == want


# -- the lock by itself


def pair(resident: int = 3) -> tuple[Gpu, Sm]:
    """An SM with one pair, slots 0 and 2, and an unshared block, of two warps and 1,024 words each, 256 private."""
    g, s = Gpu(), Sm()
    g.pairs, g.lone_blocks, g.private_bytes, g.partner_words = 1, 2, 1024, 288
    g.block_words, g.user_shared, g.slot_base, g.resident_limit, g.warps_per_block = 1056, 4096, 4096, resident, 2
    g.schedulers = 1
    for w in range(6):
        s.block_of[w], s.live[w], g.bit_of[w] = w // 2, 0xFFFFFFFF, 1 << w
    return g, s


def test_places() -> None:
    g, s = pair()
    assert [open_place(g, s, slot) for slot in range(3)] == [0, 1056, 2112]
    assert [s.partner[slot] for slot in range(3)] == [3, 0, 1]
    assert [s.split[slot] for slot in range(3)] == [0, 0, 1024]
    assert [s.shared_end[slot] for slot in range(3)] == [256, 2112, 2400]
    assert [s.own_slots[slot] for slot in range(3)] == [1024, 0, 0]
    assert common_first(g, s, 0) == common_first(g, s, 2) == 256


def test_the_lock_opens_once_all_threads_have_released_or_ended() -> None:
    g, s = pair()
    for slot in (0, 2):
        open_place(g, s, slot)
        s.block_active[slot] = 1
    s.released[1] = 0xFFFF  # before the block has the lock: the bits stay
    g.cycle = 10
    take_lock(g, s, 0)
    s.kept_out[5] = 12
    g.cycle = 20
    s.live[0] = 0
    give_if_released(g, s, 0)
    assert (s.holds[0], s.gave_up[0], s.called) == (1, 0, 0)
    s.released[1] = 0xFFFFFFFF
    give_if_released(g, s, 0)
    assert (s.holds[0], s.gave_up[0], s.knocking[0]) == (0, 1, 1 << 5)
    g.cycle = 25
    leave_pair(g, s, 0)
    assert s.holds[2] == 0  # there was none to pass on
    assert [s.stat[Stat.CYCLES_BEFORE_LOCK + k] for k in range(3)] == [10, 10, 5]


@pytest.mark.parametrize(("active", "gave_up", "passed"), [(1, 0, 1), (0, 0, 0), (1, 1, 0)])
def test_a_block_that_ends_passes_the_lock_on(active: int, gave_up: int, passed: int) -> None:
    g, s = pair()
    for slot in (0, 2):
        open_place(g, s, slot)
    s.block_active[2], s.gave_up[2] = active, gave_up
    take_lock(g, s, 0)
    leave_pair(g, s, 0)
    assert (s.holds[0], s.holds[2]) == (0, passed)
    assert s.stat[Stat.LOCKS_TAKEN] == 1 + passed


def test_only_warps_that_wait_are_called() -> None:
    g, s = pair()
    s.kept_out[4] = 1
    call_kept_out(g, s, 2)
    assert (s.knocking[0], s.called) == (1 << 4, 1)


# -- kernels


def exchange(release: str = "", *, at: int = 4096, own: int = SHARED) -> Module:
    """A block of 64 threads whose threads store their number at `at` + 4 * number, meet, and leave what the other warp
    has stored. release: code behind the last access."""
    return ready(
        kernel(
            f"""
    STS.32 [R4+{at:#x}], R0
    BAR.SYNC 0
    LOP3 R6, R4, 0x80, RZ, 0x3c
    LDS.32 R7, [R6+{at:#x}]
    {release}
    STG.32 [R2], R7
""",
            private=own,
        ),
        GPGPUSIM,
    )  # fmt: skip


def ran(m: Module, grid: int = 4, *, machine: Machine = GPGPUSIM, **options: Any) -> Any:
    return go(m, grid, machine=machine, **options)


TURNED = [*range(32, 64), *range(32)]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("sms", [1, 3])
def test_blocks_take_turns_with_what_they_share(scheduler: str, sms: int) -> None:
    for release in ("", "RELSSP"):
        m = exchange(release, own=9216)
        alone, before = ran(m, 12, scheduler=scheduler, sms=sms)
        found, left = ran(m, 12, scheduler=scheduler, sms=sms, sharing="1:1024", check=True, race=True)
        slow, _ = ran(m, 12, scheduler=scheduler, sms=sms, sharing="1:1024", reference=True)
        assert left.tolist() == before.tolist() == [TURNED] * 12
        assert (found.cycles, found.stats) == (slow.cycles, slow.stats)
        assert found.blocks_per_sm == alone.blocks_per_sm + 1 == 2
        assert found.stats["locks_taken"] == 12
        if scheduler != "tbas":  # each block is a batch, so the partner's warps have no turn while one has the lock
            assert found.stats["stalls"]["shared_lock"] > 0
        assert (found.stats["cycles_behind_lock"] > 0) == bool(release)


def test_what_lies_in_the_private_part_needs_no_lock() -> None:
    found, left = ran(exchange(at=768, own=9216), sharing="1:1024", check=True, race=True)
    assert left.tolist() == [TURNED] * 4
    assert (found.stats["locks_taken"], found.stats["lock_waits"]) == (0, 0)
    last, _ = ran(exchange(at=768, own=9216), sharing="1:1020")  # the last thread's word
    assert last.stats["locks_taken"] == 4


def test_without_pairs_a_release_is_nothing_and_owners_are_the_oldest() -> None:
    m = exchange("RELSSP")
    (oldest, left), (owf, _) = (ran(m, scheduler=name) for name in ("oldest", "owf"))
    assert (oldest.cycles, oldest.stats) == (owf.cycles, owf.stats)
    assert left.tolist() == [TURNED] * 4


@pytest.mark.parametrize(("at", "locks"), [(4096, 4), (1020, 0), (1024, 4)])
def test_generic_accesses_need_the_lock_too(at: int, locks: int) -> None:
    code = f"""
    S2R R10, SR_SHARED_WINDOW
    IADD3 R10, R10, {at:#x}, RZ
    MOV R11, RZ
    ST.32 [R10], R1
    LD.32 R7, [R10]
    ST.32 [R2], R7
"""
    m = ready(kernel(code, private=9216), GPGPUSIM)
    found, left = ran(m, sharing="1:1024", check=True)
    assert left.tolist() == [[b] * 64 for b in range(4)]
    assert found.stats["locks_taken"] == locks


def test_checks_know_where_generic_accesses_of_both_blocks_are() -> None:
    """What a partner shares lies in front of its own place. A generic store writes it, and a generic load may race."""
    head = """
    S2R R10, SR_SHARED_WINDOW
    IADD3 R10, R10, 0x1000, RZ
    MOV R11, RZ
"""
    stored = head + """
    IADD3 R10, R10, R4, RZ
    ST.32 [R10], R0
    LDS.32 R7, [R4+0x1000]
    STG.32 [R2], R7
"""
    _, left = ran(ready(kernel(stored, private=9216), GPGPUSIM), sharing="1:1024", check=True, race=True)
    assert left.tolist() == [list(range(64))] * 4
    for load in ("LD.32 R7, [R10]", "LDS.32 R7, [R6+0x1000]"):
        racing = head + f"""
    LOP3 R6, R4, 0x80, RZ, 0x3c
    IADD3 R10, R10, R6, RZ
    STS.32 [R4+0x1000], R0
    ISETP.EQ.AND P0, PT, R1, RZ, PT
    @P0 EXIT
    {load}
    STG.32 [R2], R7
"""
        text = fault(ready(kernel(racing, private=9216), GPGPUSIM), sharing="1:1024", race=True)
        assert "block 1, warp 0" in text
        assert "shared-memory race; found address 0x1080 was written" in text


@pytest.mark.parametrize(("lanes", "locks"), [(64, 4), (16, 0), (17, 4)])
def test_lanes_in_both_parts_and_a_guard_that_leaves_some_out(lanes: int, locks: int) -> None:
    """Lane t stores at 4 * t + 960: from lane 16 on behind the private part."""
    code = f"""
    ISETP.LT.AND P0, PT, R0, {lanes:#x}, PT
    @P0 STS.32 [R4+0x3c0], R0
    @P0 LDS.32 R7, [R4+0x3c0]
    @P0 STG.32 [R2], R7
"""
    found, left = ran(ready(kernel(code, private=9216), GPGPUSIM), sharing="1:1024", check=True, race=True)
    assert left.tolist() == [[*range(lanes), *[0] * (64 - lanes)]] * 4
    assert found.stats["locks_taken"] == locks


@pytest.mark.parametrize("width", [64, 128])
def test_wide_accesses_lie_in_one_part(width: int) -> None:
    """The private part is cut to a multiple of the widest access: of 1,020 bytes 1,016 or 1,008."""
    words, data = width // 32, 4 * 64 * width // 32
    code = f"""
    IMAD R6, R0, {4 * words}, RZ
    MOV R8, R0
    IADD3 R9, R0, 0x1, RZ
    MOV R10, R9
    MOV R11, R9
    STS.{width} [R6+0x300], R8
    BAR.SYNC 0
    LOP3 R6, R6, {4 * words * 32:#x}, RZ, 0x3c
    LDS.{width} R12, [R6+0x300]
    IADD3 R12, R12, R13, RZ
    STG.32 [R2], R12
"""
    m = ready(kernel(code, private=9216), GPGPUSIM)
    found, left = ran(m, sharing="0.1107", check=True, race=True)
    assert left.tolist() == [[2 * t + 1 for t in TURNED]] * 4
    assert (found.blocks_per_sm, found.stats["locks_taken"]) == (2, 4), data
    with pytest.raises(UsageError, match=f"a multiple of {width // 8}"):
        ran(m, sharing="1:1020")


def test_slots_stay_private_and_lie_behind_the_private_bytes() -> None:
    code = """
    S2R R9, SR_SLOTBASE
    STS.32.SPILL [R9], R0
    STS.32 [R4+0x800], RZ
    STS.32 [R4], RZ
    LDS.32.SPILL R7, [R9]
    STG.32 [R2], R7
"""
    m = ready(kernel(code, private=7680), GPGPUSIM)
    m.function("k").info.slot_bytes = 128
    found, left = ran(m, sharing="1:512", check=True, race=True)
    assert left.tolist() == [list(range(64))] * 4
    assert (found.blocks_per_sm, found.stats["locks_taken"]) == (3, 3)
    with pytest.raises(UsageError, match="256 to 512"):
        ran(m, sharing="1:128")


@pytest.mark.parametrize("reference", [False, True])
def test_no_byte_need_be_private(reference: bool) -> None:
    """A threshold of less than a word leaves none."""
    m = exchange(own=9216)
    for sharing in ("1:0", "0.0001"):
        found, left = ran(m, sharing=sharing, check=True, race=True)
        slow, again = ran(m, sharing=sharing, reference=reference)
        assert left.tolist() == again.tolist() == [TURNED] * 4
        assert found.stats["locks_taken"] == slow.stats["locks_taken"] == 4


@pytest.mark.parametrize("checks", [False, True])
def test_slots_may_be_all_that_is_private(checks: bool) -> None:
    code = """
    S2R R9, SR_SLOTBASE
    IADD3 R10, R0, R1, RZ
    STS.32.SPILL [R9], R10
    STS.32 [R4], R0
    BAR.SYNC 0
    LDS.32 R8, [R4]
    LDS.32.SPILL R7, [R9]
    IADD3 R7, R7, R8, RZ
    STG.32 [R2], R7
"""
    m = ready(kernel(code, private=7424), GPGPUSIM)
    m.function("k").info.slot_bytes = 256
    for sharing in ("1:512", "0.05"):  # the slots are more than a twentieth
        found, left = ran(m, sharing=sharing, check=checks, race=checks)
        assert left.tolist() == [[2 * t + b for t in range(64)] for b in range(4)]
        assert found.blocks_per_sm == 3


# -- what stops a run


def fault(m: Module, **options: Any) -> str:
    with pytest.raises(KernelFault) as stopped:
        ran(m, **options)
    return str(stopped.value)


def test_a_block_ends_where_it_would_without_pairs() -> None:
    """An H100's blocks take more bytes than the kernel asks for, so more may be private than there are."""
    h100 = load_machine("h100")
    narrow = replace(h100, sm=replace(h100.sm, shared_per_sm=2 * 1280 + 1200))
    last = """
    ISETP.EQ.AND P0, PT, R1, 0x2, PT
    @P0 LDS.32 R7, [R4+0x100]
    STG.32 [R2], R7
"""
    text = fault(ready(kernel(last, private=256), narrow), machine=narrow, sharing="1:1100")
    assert "shared memory access out of bounds" in text
    assert "SM 0, block 2" in text


def test_an_access_behind_a_release_is_a_fault() -> None:
    text = fault(exchange("RELSSP\n    LDS.32 R8, [R4+0x1000]", own=9216), sharing="1:1024")
    assert "access to shared memory that the thread has released" in text
    assert "0x0 to 0x3ff, the block's private part" in text
    _, left = ran(exchange("RELSSP\n    LDS.32 R8, [R4]", own=9216), sharing="1:1024")
    assert left.tolist() == [TURNED] * 4


SPIN = """
    STS.32 [R4+0x1000], R0
    ISETP.NE.AND P0, PT, R1, RZ, PT
    @P0 BRA set
again:
    MOV R6, 0x100
    MOV R10, c[0][out]
    MOV R11, c[0][out+4]
    LDG.32.CV R7, [R10+0x100]
    ISETP.EQ.AND P1, PT, R7, RZ, PT
    @P1 BRA again
set:
    STG.32 [R2], R1
"""


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_blocks_that_wait_for_one_another_through_memory(scheduler: str) -> None:
    """Block 0 has what the two share, and spins for a flag that block 1 sets behind an access to it."""
    m = ready(kernel(SPIN, private=9216), GPGPUSIM)
    text = fault(m, grid=2, sharing="1:1024", engine="numba", scheduler=scheduler, max_cycles=None)
    assert "for shared memory that it shares with block 0 of SM 0, which has it and is at" in text
    assert "block 1 waits at k+" in text


@pytest.mark.parametrize(
    ("sharing", "error", "text"),
    [
        *((text, UsageError, "a threshold between 0 and 1") for text in ("0", "1", "x")),
        ("2:1024", UsageError, "1 to 1"), ("1:8196", UsageError, "0 to 7,168"), ("1:a", UsageError, "PAIRS:BYTES"),
        ("0.9", Refused, "at most 0.777"),
    ],
)  # fmt: skip
def test_sharing_that_cannot_be(sharing: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ran(exchange(own=9216), sharing=sharing)


def test_no_block_is_gained_where_others_resources_bind() -> None:
    with pytest.raises(Refused, match=r"found 16 blocks on an SM of .*, limited by blocks;"):
        ran(exchange(at=0, own=512), sharing="0.1")


def test_slots_that_leave_no_pair() -> None:
    m = exchange(at=0, own=6144)
    m.function("k").info.slot_bytes = 128 * 8
    with pytest.raises(Refused, match="the slots leave no room") as refused:
        ran(m, sharing="0.1")
    assert "8 slots a thread, 2,048 bytes" in str(refused.value)
    assert "at most 5 slots" in str(refused.value)


def test_blocks_of_a_cooperative_launch_cannot_share() -> None:
    m = exchange(own=9216)
    words = {"out": np.zeros(64, np.uint32)}
    launch = Launch("k", (1, 1, 1), (64, 1, 1), 0, (Argument("out", "buffer", "u32", (64,)),), cooperative=True)
    with pytest.raises(Refused, match="cooperative launch cannot share memory"):
        run(m, "k", launch, GPGPUSIM, engine="python", buffers=words, sharing="0.1")
