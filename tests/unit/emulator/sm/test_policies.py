"""Each warp scheduler on kernels whose order of issue is derived by hand; the rules are TIMING.md's, "Schedulers".

The machine has one scheduler that issues one instruction a cycle, so that an order is a list: the warp that issues in
cycle 0, 1, and so on, IDLE where none does. Warps of a block come in cycle 0, a block a cycle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS, chosen_scheduler, pick
from binalloc.emulator.policies.schedulers.two_level import ACTIVE_WARPS, TWO_LEVEL
from binalloc.emulator.state.counters import Stall
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.errors import Refused
from binalloc.isa.instruction import Instr
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.issue_log import IDLE, Heard, logged_events, logged_issues, order
from tests.support.kits.emulator.small import go, module, op

EXIT = op("EXIT", stall=1)


def one_scheduler() -> Machine:
    m = load_machine("gtx680")
    return replace(m, schedulers=replace(m.schedulers, count=1, issue_width=1))


def add(stall: int) -> Instr:
    return op("IADD3", stall=stall, rd=8, ra=255, rb=255, rc=255)


def run(scheduler: str, *code: Instr, **options: Any) -> tuple[list[int], dict[str, int]]:
    """The order of issue, and the stalls that are not zero. Every slot is an issue or one of them."""
    m = module([*code, EXIT], registers=16, local_bytes=4)
    with logged_issues() as log:
        result = go(m, machine=one_scheduler(), scheduler=scheduler, **options)
    stalls = {name: slots for name, slots in result.stats["stalls"].items() if slots}
    assert len(log) + sum(stalls.values()) == result.cycles
    again = go(m, machine=one_scheduler(), scheduler=scheduler, reference=True, **options)
    assert (again.cycles, again.stats) == (result.cycles, result.stats)
    return order(log), stalls


SHORT_SLEEP = (add(1), add(2), add(1))
"""A warp that issues these in cycles c, c+1, c+3 and c+4 (EXIT), if it may."""


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        # In turns: warp 0 in even cycles, so that its sleep costs nothing.
        ("lrr", [0, 1, 0, 1, 0, 1, 0, 1]),
        ("two_level", [0, 1, 0, 1, 0, 1, 0, 1]),
        # Warp 1 comes in cycle 2 while warp 0 sleeps; in 3 warp 0 is back: the older one. In 6 warp 1 sleeps.
        ("oldest", [0, 0, 1, 0, 0, 1, IDLE, 1, 1]),
        # As before, but in 3 it goes on with warp 1, which issued last, until that sleeps in 4.
        ("gto", [0, 0, 1, 1, 0, 0, 1, 1]),
    ],
)
def test_two_warps(scheduler: str, expected: list[int]) -> None:
    stalls = {"stall_count": expected.count(IDLE)} if IDLE in expected else {}
    assert run(scheduler, *SHORT_SLEEP, block=64) == (expected, stalls)


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        # Block 0 ends in cycle 4, block 2 takes its place in 5; block 1 is older then: it issues, and sleeps in 6.
        ("oldest", [0, 0, 1, 0, 0, 1, 0, 1, 1, 0, IDLE, 0, 0]),
        # Block 0 ends in cycle 5, having issued last; block 2 in the same place is another warp: in 6 block 1 goes on.
        ("gto", [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, IDLE, 0, 0]),
    ],
)
def test_a_later_block_in_a_place_of_an_earlier_one_is_younger(scheduler: str, expected: list[int]) -> None:
    assert run(scheduler, *SHORT_SLEEP, grid=3, blocks_per_sm=2)[0] == expected


def span(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


def test_two_level_has_eight_warps_take_turns_until_one_makes_room() -> None:
    """Warps 0 to 7 issue both additions and end in cycles 16 to 23; the end of 0 lets 8 in, that of 1 warp 9."""
    assert ACTIVE_WARPS == 8
    turns = span(0, 7) * 3 + [8, 9] * 3
    assert run("two_level", add(1), add(1), block=320) == (turns, {})


def test_two_level_leaves_slots_to_nobody_while_its_warps_sit_out_a_short_wait() -> None:
    """In 8 to 14 warps 8 and 9 are ready, but pending; in 15 to 22 the others end. Then those two have it to
    themselves: from 25 to 37 both sleep."""
    turns = [*span(0, 7), *[IDLE] * 7, *span(0, 7), 8, 9, *[IDLE] * 13, 8, 9]
    assert run("two_level", add(15), block=320) == (turns, {"pending": 7, "stall_count": 13})
    assert run("lrr", add(15), block=320) == ([*span(0, 9), *[IDLE] * 5, *span(0, 9)], {"stall_count": 5})


def test_two_level_keeps_a_warp_that_waits_for_a_result_whose_time_is_known() -> None:
    """MUFU takes 18 cycles: 8 and 9 are pending from 8 to 17; they issue theirs in 34 and 35 and wait until 52."""
    code = op("MUFU", stall=1, rd=8, rb=255, func=0, wbar=0), op("NOP", stall=1, wait=1)
    turns = [*span(0, 7), *[IDLE] * 10, *span(0, 7) * 2, 8, 9, *[IDLE] * 16, 8, 9, 8, 9]
    assert run("two_level", *code, block=320) == (turns, {"pending": 10, "scoreboard": 16})


def test_two_level_replaces_a_warp_that_waits_for_memory() -> None:
    """Every load misses. In cycle 1 warp 0 begins to wait and 8 enters, in 2 it is 9: all ten have asked by 9."""
    code = op("LDL", stall=1, rd=8, ra=255, width=4, wbar=0), op("NOP", stall=1, wait=1)
    turns, stalls = run("two_level", *code, block=320)
    assert turns[:11] == [*span(0, 9), IDLE]
    assert stalls.keys() == {"scoreboard"}


def test_two_level_replaces_a_warp_at_a_barrier_and_promotes_in_the_order_of_leaving() -> None:
    """Arrivals in 0 to 9 open the barrier for 18; then the eight that left first enter, and 8 and 9 wait for room."""
    turns = [*span(0, 9), *[IDLE] * 8, *span(0, 7) * 2, 8, 9, 8, 9]
    assert run("two_level", op("BAR", stall=1, form=1, imm=0), add(1), block=320) == (turns, {"barrier": 8})
    in_turns = [*span(0, 9), *[IDLE] * 8, *span(0, 9) * 2]
    assert run("lrr", op("BAR", stall=1, form=1, imm=0), add(1), block=320) == (in_turns, {"barrier": 8})


def records(scheduler: str, schedulers: int = 1) -> tuple[Gpu, Sm]:
    g, s = Gpu(), Sm()
    g.policy, g.schedulers = chosen_scheduler(scheduler).number, schedulers
    s.last[0] = s.last[1] = -1
    for w in range(8 * schedulers):
        g.scheduler_of[w], g.bit_of[w] = w % schedulers, 1 << w // schedulers
    return g, s


def test_two_level_promotes_who_has_been_pending_longest_then_the_oldest() -> None:
    g, s = records("two_level", schedulers=2)
    s.active[1] = 0b1111111 << 10
    for bit, since, age in ((0, 5, 1), (1, 4, 9), (2, 4, 3), (3, 4, 7), (4, 1, 8)):
        s.pending_since[bit * 2 + 1], s.age[bit * 2 + 1] = since, age
    assert pick(g, s, 1, 0b01111) == 2  # warp 4 has been pending longer still, but is not eligible
    assert s.active[1] == 0b1111111 << 10 | 1 << 2
    assert pick(g, s, 1, 0b11011) == ~Stall.PENDING
    assert s.active[1] == 0b1111111 << 10 | 1 << 2
    assert s.active[0] == 0


def test_a_warp_that_is_pending_stays_so_since_it_left() -> None:
    """It leaves at a barrier; behind it it waits for memory as well."""
    g, s = records("two_level")
    s.active[0], s.board_open[3, 2] = 0b1100, 1
    for cycle, boards in ((10, 0b1011), (11, 0b0100), (12, 0b0110)):
        g.cycle = cycle
        TWO_LEVEL.hears["waits"](g, s, 3, boards)
        assert (s.active[0], s.pending_since[3]) == ((0b1100, 0) if cycle == 10 else (0b0100, 11))


def test_oldest_goes_by_age_and_each_scheduler_by_its_own_warps() -> None:
    g, s = records("oldest", schedulers=2)
    for bit, age in ((0, 6), (1, 2), (2, 4)):
        s.age[bit * 2 + 1] = age
    assert pick(g, s, 1, 0b111) == 1
    assert pick(g, s, 1, 0b101) == 2
    assert pick(g, s, 1, 0b001) == 0


def test_what_policies_hear() -> None:
    """One warp: a load that misses, a wait for it, a barrier, an end."""
    load, wait = op("LDL", stall=1, rd=8, ra=255, width=4, wbar=2), op("NOP", stall=3, wait=4)
    m = module([load, wait, op("BAR", stall=1, form=1, imm=0), EXIT], registers=16, local_bytes=4)
    for reference in (False, True):
        with logged_events() as log:
            go(m, machine=one_scheduler(), reference=reference)
        came = next(heard.cycle for heard in log if heard.event == "completed")
        assert came > 100
        assert log == [
            Heard(0, 0, "block_begins", 0, ()),
            Heard(0, 0, "started", 0, ()),
            Heard(0, 0, "missed", 0, ()),
            Heard(0, 0, "issued", 0, (0,)),
            Heard(0, 1, "waits", 0, (4,)),
            Heard(0, came, "completed", 0, (2,)),
            Heard(0, came, "resumed", 0, ()),
            Heard(0, came, "issued", 0, (1,)),
            Heard(0, came + 3, "arrived", 0, ()),
            Heard(0, came + 3, "opened", 0, ()),
            Heard(0, came + 3, "issued", 0, (2,)),
            Heard(0, came + 12, "issued", 0, (3,)),  # BAR's latency is 9
            Heard(0, came + 12, "ended", 0, ()),
            Heard(0, came + 12, "block_ends", 0, ()),
        ]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_as_many_warps_as_a_scheduler_can_have(scheduler: str) -> None:
    """All 61 issue; a machine that gives one scheduler more is refused, and told why."""
    m = module([add(2), EXIT], registers=16)
    options: dict[str, Any] = {"grid": 62, "block": 32, "machine": one_scheduler(), "scheduler": scheduler}
    assert go(m, ideal_blocks=61, **options).stats["issue_slots"] == 2 * 62
    with pytest.raises(Refused, match=r"warps per scheduler.*larger than the emulator.*found 62.*at most 61"):
        go(m, ideal_blocks=62, **options)
