"""A line is translated here, between L1 and L2: its page gets a place when a line of it is asked for first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.draw import memory_for
from binalloc.emulator.pages.table import place
from binalloc.emulator.pages.tables import enter, offset_of, place_in_table
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import MemoryStat
from binalloc.emulator.state.scan import quotient

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device
def physical(g: Gpu, source: int, line: int) -> int:
    """Return the line whose slice, set, channel, bank and row a request goes to. Two lines never become one.

    source: number of the SM that asks. line: the line that it asks for, an address / 128. Local memory, code and
    constants have lines beyond those of all addresses.
    """
    if g.paged == 0:
        return line
    offset = offset_of(g, line)
    page = offset >> g.page_shift
    at = place_in_table(g, page)
    if g.page_key[at] == 0:
        owner = source + 1 if g.page_owned else 0
        enter(g, at, page, place(g, memory_for(g), source, 0), owner)
    if g.page_owner[at]:
        g.memory_stat[MemoryStat.OWNED_REQUESTS] += 1
        if g.page_owner[at] == source + 1:
            g.memory_stat[MemoryStat.LOCAL_REQUESTS] += 1
    return g.page_line[at] + (offset & ((1 << g.page_shift) - 1))


@device
def physical_for_cpu(g: Gpu, line: int) -> int:
    """Return the line of DRAM that a line of a CPU program is. Its pages are given out as the GPU's, as if the SMs took
    turns to ask for them, and belong to nobody."""
    if g.paged == 0:
        return line
    offset = offset_of(g, line)
    page = offset >> g.page_shift
    at = place_in_table(g, page)
    if g.page_key[at] == 0:
        turn = g.cpu_pages - quotient(g.cpu_pages, g.sms) * g.sms
        g.cpu_pages += 1
        enter(g, at, page, place(g, g.cpu_memory, turn, g.cpu_high), 0)
    return g.page_line[at] + (offset & ((1 << g.page_shift) - 1))
