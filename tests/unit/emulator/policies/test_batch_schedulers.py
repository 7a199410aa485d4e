"""Fig. 9 of the thread batching paper: four batches of one block of two warps each, on one SM with two schedulers and
two load ports. The orders were written down by hand, from the rules in TIMING.md, before the emulator ran.

Each warp loads first, or computes for longer than a load takes before each of its loads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.isa.instruction import Module
from tests.support.kits.emulator.load_ports import two_load_ports
from tests.support.kits.emulator.small import go, module, op

BATCHES = 4
PHASE = 60  # instructions with a stall of 15 cycles each: 900 cycles, longer than a load from DRAM
LOADS = 3


def loads_at_once() -> Module:
    """The first instruction is a load from local memory, the second needs it."""
    use = op("IADD3", rd=5, ra=4, form=1, imm=1, rc=255, wait=1)
    code = [op("LDL", stall=1, rd=4, ra=0, width=4, wbar=0), use, op("EXIT")]
    return module(code, registers=8, local_bytes=64)


def loads_now_and_then() -> Module:
    """Before each load much is computed, and after it its value is used."""
    code = []
    for i in range(LOADS):
        code += [op("IADD3", rd=6, ra=6, form=1, imm=1, rc=255) for _ in range(PHASE)]
        code += [op("LDL", stall=1, rd=4, ra=0, width=4, moff=1024 * i, wbar=0)]
        code += [op("IADD3", rd=5, ra=4, form=1, imm=1, rc=255, wait=1)]
    return module([*code, op("EXIT")], registers=8, local_bytes=4096)


def loads(code: Module, scheduler: str) -> list[tuple[int, int]]:
    """The loads in their order: cycle and batch."""
    from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener

    found: list[tuple[int, int]] = []
    words = {at for at, instr in enumerate(code.functions[0].instrs) if instr.op.name == "LDL"}

    def receive(batch: Batch) -> None:
        for row in batch.of(LogKind.ISSUE).rows.tolist():
            if row[LogColumn.PC] - code.functions[0].address in words:
                found.append((row[LogColumn.CYCLE], row[LogColumn.BLOCK]))

    options: dict[str, Any] = {"machine": two_load_ports(), "scheduler": scheduler, "hazards": False}
    go(code, grid=BATCHES, block=64, log=IssueLog([Listener(receive)]), **options)
    return found


def order(code: Module, scheduler: str) -> list[int]:
    """The batches of the loads in their order, of which each has two, one for each warp."""
    batches = [batch for _, batch in loads(code, scheduler)]
    assert batches[::2] == batches[1::2]
    return batches[::2]


@pytest.mark.parametrize("scheduler", ["tbas:enough=2:next=successor", "tbas:enough=all:next=successor"])
def test_successor_first_issues_all_first_loads_in_four_cycles(scheduler: str) -> None:
    found = loads(loads_at_once(), scheduler)
    first = found[0][0]
    assert [(cycle - first, batch) for cycle, batch in found] == [
        (0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 2), (3, 3), (3, 3),
    ]  # fmt: skip


HAND: dict[str, list[int]] = {
    # 9(c): any batch with enough may come next; the lowest of the oldest is as 9(e)
    "tbas:enough=half": [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3],
    # 9(d): the next batch, whether or not an older one could go on
    "tbas:enough=2:next=successor": [0, 1, 2, 3] * LOADS,
    # 9(e): back to (0,0) as soon as that has enough
    "tbas:enough=2": [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3],
}


@pytest.mark.parametrize("scheduler", HAND)
def test_the_orders_written_down_by_hand(scheduler: str) -> None:
    assert order(loads_now_and_then(), scheduler) == HAND[scheduler]


def test_with_ccws_the_batches_go_side_by_side() -> None:
    """Fig. 9(b): the first loads are those of all batches in turn, and each phase is over before the next one's loads.
    Answers come in the order in which rows serve them, so later phases have another order."""
    batches = [batch for _, batch in loads(loads_now_and_then(), "ccws")]
    assert batches[: 2 * BATCHES] == [0, 0, 1, 1, 2, 2, 3, 3]
    for i in range(LOADS):
        assert sorted(batches[2 * BATCHES * i : 2 * BATCHES * (i + 1)]) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_one_batch_runs_at_a_time() -> None:
    """With CCWS the first loads come together, with TBAS a batch's come when another has computed."""
    code, phase = loads_now_and_then(), 15 * PHASE
    together = [cycle for cycle, _ in loads(code, "ccws")][: 2 * BATCHES]
    assert together[-1] - together[0] < 4 * BATCHES
    apart = [cycle for cycle, _ in loads(code, "tbas:enough=2:next=successor")][: 2 * BATCHES : 2]
    assert all(later - earlier >= phase for earlier, later in pairwise(apart))


def test_a_batch_of_several_blocks_is_one() -> None:
    """Batches of two blocks: the loads of blocks 0 and 1 come before those of blocks 2 and 3."""
    code = loads_now_and_then()
    found: dict[str, list[int]] = {}
    for batches in ("stride:2", "mod:2"):
        from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener

        seen: list[int] = []

        def receive(batch: Batch, seen: list[int] = seen) -> None:
            rows = batch.of(LogKind.ISSUE).rows.tolist()
            seen += [row[LogColumn.BLOCK] for row in rows if row[LogColumn.PC] == PHASE]

        go(code, grid=BATCHES, block=64, machine=two_load_ports(), scheduler="tbas:enough=1", batches=batches,
           hazards=False, log=IssueLog([Listener(receive)]))  # fmt: skip
        found[batches] = seen
    assert set(found["stride:2"][:4]) == {0, 1}
    assert set(found["mod:2"][:4]) == {0, 2}
