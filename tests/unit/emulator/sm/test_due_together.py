"""Results that fall due in one cycle: one whose time was known, and one that memory gives."""

from __future__ import annotations

from dataclasses import replace

from binalloc.isa.instruction import Module
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.issue_log import logged_events
from tests.support.kits.emulator.small import go, module, op

GTX = load_machine("gtx680")
ONE = replace(GTX, schedulers=replace(GTX.schedulers, count=1, issue_width=1))


def program(due: int) -> Module:
    """Warp 0 loads in cycle 0 and ends soon; its scoreboard 0 also counts a result that is there in cycle `due`."""
    left = due - GTX.units.sfu.latency - 1
    sleep = [op("NOP", stall=min(15, left - at)) for at in range(0, left, 15)]
    load = op("LDL", stall=1, rd=8, ra=255, width=4, wbar=0)
    return module([load, *sleep, op("MUFU", stall=1, rd=9, rb=255, func=0, wbar=0), op("EXIT", stall=1)], local_bytes=4)


def test_a_warp_that_ended_goes_once() -> None:
    """Counted twice it would take its block with it, whose other warp still waits for memory."""
    with logged_events() as log:
        go(program(100), machine=ONE, block=64)
    came = {heard.warp: heard.cycle for heard in log if heard.event == "completed"}
    assert came[0] < came[1]
    for due in range(came[0] - 3, came[0] + 3):
        fast = go(program(due), machine=ONE, block=64)
        assert fast.cycles >= came[1]
        assert fast.stats == go(program(due), machine=ONE, block=64, reference=True).stats
