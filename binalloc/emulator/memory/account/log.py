"""DRAM's commands are entered into a log here, where one is kept."""

from __future__ import annotations

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import DRAM_LOG_WORDS, MAX_BANKS_OF_DRAM, LogWord
from binalloc.emulator.state.records import Gpu


@device
def note(g: Gpu, log: Words, channel: int, tick: int, command: int, b: int, row: int, r: int) -> None:
    """Enter a command into the log, where one is kept and has room. r: the request for which it is, -1 for none. A
    channel's commands are in the order of their issue; commands of several channels are in no order."""
    if g.dram_log == 0:
        return
    n = g.dram_logged * DRAM_LOG_WORDS
    if n + DRAM_LOG_WORDS > g.dram_log:
        g.dram_lost = g.dram_lost + 1
        return
    log[n + LogWord.CHANNEL] = channel
    log[n + LogWord.TICK] = tick
    log[n + LogWord.COMMAND] = command
    log[n + LogWord.BANK] = b % MAX_BANKS_OF_DRAM
    log[n + LogWord.ROW] = row
    if r >= 0:
        log[n + LogWord.LINE] = g.home[r]
        log[n + LogWord.WORDS] = g.words[r]
        log[n + LogWord.LEFT] = g.bursts[r]
        log[n + LogWord.ASKED] = g.asked[r]
        log[n + LogWord.AGE] = g.age[r]
    g.dram_logged += 1
