"""What falls due in the memory system: requests that go on, and DRAM's commands."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.emulator.memory.calendar import take
from binalloc.emulator.memory.dram import catch_up, serve_dram
from binalloc.emulator.memory.interconnect import leave_slice
from binalloc.emulator.memory.l2 import fill_line, let_in, reach_slice
from binalloc.emulator.memory.places import channel_of
from binalloc.emulator.sm.answers import reach_sm
from binalloc.emulator.state.arrays import Grid, Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import Stage
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def serve_memory(g: Gpu, sms: Sequence[Sm], program: Grid, log: Words) -> None:
    """The memory system in cycle `g.cycle`, before the SMs."""
    r = take(g)
    while r >= 0:
        following = g.following[r]
        stage = g.stage[r]
        if stage == Stage.REACHES_SLICE:
            catch_up(g, log, channel_of(g, g.at_slice[r]))
            reach_slice(g, r)
        elif stage == Stage.LEAVES_SLICE:
            leave_slice(g, r)
        elif stage == Stage.REACHES_SM:
            reach_sm(g, sms[g.source[r]], program, r)
        else:
            catch_up(g, log, channel_of(g, g.source[r]))
            fill_line(g, r)
        r = following
    while g.dram_due <= g.cycle:
        serve_dram(g, log)
        if g.turned_away:
            let_in(g)
