"""OWL's groups of blocks: the orders of a few blocks, and of the groups of several SMs, were written down by hand from
the rules in TIMING.md before the emulator ran.

The machine has two schedulers, and each block two warps, one for either of them. All figures here are those of
scheduler 0; the other does the same in the same cycles.
"""

from __future__ import annotations

from typing import Any

import pytest

from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.isa.instruction import Module
from tests.support.kits.emulator.load_ports import two_load_ports
from tests.support.kits.emulator.small import go, module, op

ADDS = 3


def program(before: int, stall: int, after: int = 0) -> Module:
    """Each warp adds `before` times with that stall count, loads a line of its own from DRAM, waits for it, and adds
    `after` times."""
    add = op("IADD3", stall=stall, rd=6, ra=6, form=1, imm=1, rc=255)
    load = op("LDL", stall=1, rd=4, ra=255, width=4, wbar=0)
    use = op("IADD3", stall=stall, rd=5, ra=4, form=1, imm=1, rc=255, wait=1)
    return module([add] * before + [load, use] + [add] * after + [op("EXIT")], registers=8, local_bytes=64)


def issues(code: Module, scheduler: str, *, grid: int = 4, sms: int = 1, **options: Any) -> list[list[int]]:
    """What scheduler 0 of each SM issues: rows of SM, cycle, code word, block."""
    found: list[list[int]] = []

    def receive(batch: Batch) -> None:
        for row in batch.of(LogKind.ISSUE).rows.tolist():
            if row[LogColumn.WARP] % 2 == 0:
                found.append([row[i] for i in (LogColumn.SM, LogColumn.CYCLE, LogColumn.PC, LogColumn.BLOCK)])

    go(code, grid=grid, block=64, machine=two_load_ports(), scheduler=scheduler, sms=sms, hazards=False,
       log=IssueLog([Listener(receive)]), **options)  # fmt: skip
    return found


def up_to_loads(code: Module, scheduler: str) -> list[tuple[int, int]]:
    """Cycle and block of all issues up to the loads."""
    loads = next(i for i, instr in enumerate(code.functions[0].instrs) if instr.op.name == "LDL")
    return [(cycle, block) for _, cycle, pc, block in issues(code, scheduler) if pc <= loads]


# A warp may issue every second cycle, so two warps leave a scheduler no slot. Blocks come one a cycle.
FULL = [0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3]


@pytest.mark.parametrize("others", ["fill", "wait"])
@pytest.mark.parametrize("order", ["first", "round"])
def test_one_group_has_all_slots_until_its_warps_wait_for_memory(order: str, others: str) -> None:
    found = up_to_loads(program(ADDS, 2), f"owl:group=2:prefetch=0:next={order}:others={others}")
    assert found == list(enumerate(FULL))


def test_without_groups_all_blocks_take_turns() -> None:
    found = up_to_loads(program(ADDS, 2), "lrr")
    assert [block for _, block in found] == [0, 1, 2, 3] * (ADDS + 1)


HALF = {
    # a warp may issue every fourth cycle, so a group leaves half of the slots, which the other one takes
    "fill": [(cycle, cycle % 4) for cycle in range(4 * (ADDS + 1))],
    # nobody takes them; in cycle 14 both warps of the first group wait for memory
    "wait": [(0, 0), (1, 1), (4, 0), (5, 1), (8, 0), (9, 1), (12, 0), (13, 1),
             (14, 2), (15, 3), (18, 2), (19, 3), (22, 2), (23, 3), (26, 2), (27, 3)],
}  # fmt: skip


@pytest.mark.parametrize("others", HALF)
def test_slots_that_a_group_leaves(others: str) -> None:
    assert up_to_loads(program(ADDS, 4), f"owl:group=2:prefetch=0:others={others}") == HALF[others]


@pytest.mark.parametrize(
    ("group", "blocks"),
    [(1, 1), (2, 2), (3, 3), (4, 4), (8, 4)],  # of each scheduler, of whose warps a block has one
)
def test_a_group_has_as_many_blocks_as_have_enough_warps(group: int, blocks: int) -> None:
    """Where all can issue, the first so many blocks have the slots between them."""
    found = up_to_loads(program(40, 1), f"owl:group={group}:prefetch=0")
    assert {block for cycle, block in found if 10 <= cycle < 10 + blocks} == set(range(blocks))
    assert {block for cycle, block in found if 10 <= cycle < 40} == set(range(blocks))


LONG, SHORT = 300, 20  # cycles of a block's warp: two are longer than a load takes
LANDMARKS = {
    # the first group goes on as soon as it can, in the middle of the second one's additions
    "first": ["load 0", "load 1", "end 0", "end 1", "load 2", "load 3", "end 2", "end 3"],
    # the second group goes on until it waits
    "round": ["load 0", "load 1", "load 2", "load 3", "end 0", "end 1", "end 2", "end 3"],
}


@pytest.mark.parametrize("order", LANDMARKS)
def test_the_first_group_comes_back(order: str) -> None:
    code = program(LONG, 2, SHORT)
    names = {i: {"LDL": "load", "EXIT": "end"}.get(each.op.name) for i, each in enumerate(code.functions[0].instrs)}
    found = issues(code, f"owl:group=2:prefetch=0:next={order}")
    assert [f"{names[pc]} {block}" for _, _, pc, block in found if names[pc]] == LANDMARKS[order]


# 12 blocks on three SMs: block b is in slot b // 3 of SM b % 3. Each block is a group.
STARTS = {
    "offset": [[0, 3, 6, 9], [4, 7, 10, 1], [8, 11, 2, 5]],
    "same": [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]],
}


@pytest.mark.parametrize("start", STARTS)
def test_each_sm_begins_with_another_group(start: str) -> None:
    code = program(SHORT, 1)
    found = issues(code, f"owl:group=1:prefetch=0:start={start}", grid=12, sms=3, blocks_per_sm=4)
    assert [[block for sm, _, pc, block in found if sm == i and pc == SHORT] for i in range(3)] == STARTS[start]


def test_blocks_that_follow_take_the_place_in_their_group() -> None:
    """A later block is in the group of the slot that it gets: with one slot a group, slot after slot."""
    code = program(SHORT, 1)
    found = issues(code, "owl:group=1:prefetch=0:start=same", grid=6, blocks_per_sm=2)
    loads = [block for _, _, pc, block in found if pc == SHORT]
    assert loads == [0, 1, 2, 3, 4, 5]
    ends = [block for _, _, pc, block in found if pc == len(code.functions[0].instrs) - 1]
    assert sorted(ends) == loads
