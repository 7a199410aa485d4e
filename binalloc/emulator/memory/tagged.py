"""The instruction cache and the constant cache of an SM have tags only, as their contents never change.

Both are looked up before an instruction can issue: for the code word that a warp executes next, and for its constant
operand. LDC looks up its lines when it issues, and waits for them as any load does. A miss takes a row and asks L2 for
the line. Where no request may be sent, or every row of the set is on its way, the warp tries again after the next
answer to that cache. The least recently used row is replaced, by cycles: of rows used in one cycle the lowest.
"""

from __future__ import annotations

from binalloc.emulator.memory.interconnect import send
from binalloc.emulator.memory.places import spread
from binalloc.emulator.memory.replacement import BUSY, least_used
from binalloc.emulator.memory.waiters import new_waiter, room_to_wait
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import (
    BANK_SHIFT,
    CODE_ROW,
    CODE_WORD_SHIFT,
    CONSTANT_ROW,
    FIRST_CODE_LINE,
    FIRST_CONSTANT_LINE,
    LINE_BYTES,
    LINE_SHIFT,
    MAX_TAGGED_LINES,
    SECTOR_BYTES,
    RequestKind,
    Tagged,
    TaggedStat,
)
from binalloc.emulator.state.parts.shares import Cause
from binalloc.emulator.state.records import Gpu, Sm


class Awaits(Codes, numbers={"here": -1, "no_code": -2, "no_constants": -3}):
    """A warp that waits for no row has one of these codes in `s.awaits`, in place of a row."""

    HERE: int  #: nothing any more: what it waited for has come
    NO_CODE: int  #: room in the instruction cache
    NO_CONSTANTS: int  #: room in the constant cache


@device(inline=True)
def no_room(cache: int) -> int:
    """Return the code of `Awaits` for a warp that found no room in the cache."""
    return Awaits.NO_CONSTANTS if cache else Awaits.NO_CODE


@device(inline=True)
def code_line(g: Gpu, pc: int) -> int:
    """Return the line of code word `pc`."""
    return (pc << CODE_WORD_SHIFT) >> g.tagged_shift[Tagged.CODE]


@device(inline=True)
def constant_line(g: Gpu, bank: int, offset: int) -> int:
    """Return the line of a byte of a constant bank."""
    return ((bank << BANK_SHIFT) + offset) >> g.tagged_shift[Tagged.CONSTANTS]


@device
def find_row(g: Gpu, s: Sm, cache: int, line: int) -> int:
    """Return the row that holds the line or waits for it, or -1 if there is none."""
    first = first_row(g, cache, line)
    for i in range(first, first + g.tagged_ways[cache]):
        if s.tagged_line[i] == line + 1:
            return i
    return -1


@device
def first_row(g: Gpu, cache: int, line: int) -> int:
    """Return the first row of the line's set. Sets are hashed as in L2."""
    return cache * MAX_TAGGED_LINES + spread(line, g.tagged_sets[cache]) * g.tagged_ways[cache]


@device
def ask_for(g: Gpu, s: Sm, cache: int, line: int, fresh: int) -> int:
    """Request a line that has no row from L2. Return the row that it takes, or -1 if there is no room to ask. fresh: 1
    if nobody has looked for the line yet."""
    if s.tagged_out[cache] >= g.tagged_mshrs[cache]:
        return -1
    i = least_used(s.tagged_age, first_row(g, cache, line), g.tagged_ways[cache])
    if i < 0:
        return -1
    shift = g.tagged_shift[cache]
    s.tagged_line[i] = line + 1
    s.tagged_age[i] = BUSY | (g.cycle + 1)
    s.tagged_fresh[i] = fresh
    s.tagged_out[cache] += 1
    at = line << shift
    words = ((1 << ((1 << shift) >> 2)) - 1) << ((at & (LINE_BYTES - 1)) >> 2)
    sectors = (1 << shift) // SECTOR_BYTES
    s.tagged_stat[TaggedStat.CONSTANT_FILL_SECTORS if cache else TaggedStat.INSTRUCTION_FILL_SECTORS] += sectors
    base = FIRST_CONSTANT_LINE if cache else FIRST_CODE_LINE
    link = (CONSTANT_ROW if cache else CODE_ROW) | i
    cause = Cause.CONSTANTS if cache else Cause.CODE
    send(g, RequestKind.LOAD, s.id, base + (at >> LINE_SHIFT), words, link, cause)
    return i


@device
def run_ahead(g: Gpu, s: Sm, line: int) -> None:
    """Prefetch the lines of code behind `line`, as far as there is room."""
    for following in range(line + 1, min(line + g.code_ahead, g.last_code_line) + 1):
        if find_row(g, s, Tagged.CODE, following) < 0:
            if ask_for(g, s, Tagged.CODE, following, 1) < 0:
                return
            s.tagged_stat[TaggedStat.INSTRUCTION_PREFETCHES] += 1


@device
def first_look(g: Gpu, s: Sm, i: int) -> None:
    """Prefetch the lines behind row i if it was prefetched itself and is looked up for the first time."""
    if s.tagged_fresh[i]:
        s.tagged_fresh[i] = 0
        run_ahead(g, s, s.tagged_line[i] - 1)


@device
def use_row(g: Gpu, s: Sm, cache: int, i: int, counted: int) -> None:
    """Let row i, which is there, serve a look-up. It is counted as a hit unless it has been counted before."""
    s.tagged_age[i] = g.cycle + 1
    s.tagged_stat[TaggedStat.CONSTANT_HITS if cache else TaggedStat.INSTRUCTION_HITS] += 1 - counted
    first_look(g, s, i)


@device
def row_of_warp(g: Gpu, s: Sm, w: int, cache: int, line: int) -> int:
    """Return the row of the line as `find_row` does. A warp's next word is mostly in the row of its last one."""
    if cache == Tagged.CODE and s.tagged_line[s.code_row[w]] == line + 1:
        return s.code_row[w]
    return find_row(g, s, cache, line)


@device
def is_there(g: Gpu, s: Sm, w: int, cache: int, line: int) -> int:
    """Return 1 if a look-up would find the line, else 0. Changes nothing."""
    i = row_of_warp(g, s, w, cache, line)
    return 1 if i >= 0 and s.tagged_age[i] < BUSY else 0


@device
def look_up(g: Gpu, s: Sm, w: int, cache: int, line: int, counted: int) -> int:
    """Look up a line that warp w needs to issue. Return 1 if it is there, else 0 with the awaited row or code in
    `s.awaits`. counted: the warp has looked before, without room to ask."""
    i = row_of_warp(g, s, w, cache, line)
    if i >= 0 and s.tagged_age[i] < BUSY:
        use_row(g, s, cache, i, counted)
        if cache == Tagged.CODE:
            s.code_row[w] = i
        return 1
    s.tagged_stat[TaggedStat.CONSTANT_MISSES if cache else TaggedStat.INSTRUCTION_MISSES] += 1 - counted
    if i >= 0:
        first_look(g, s, i)
    else:
        i = ask_for(g, s, cache, line, 0)
        if i >= 0 and cache == Tagged.CODE:
            run_ahead(g, s, line)
    s.awaits[w] = i + 1 if i >= 0 else no_room(cache)
    return 0


@device
def load_constants(g: Gpu, s: Sm, a: int, line: int) -> int:
    """Load a line for access a, an LDC. Return 1 if it was there or is on its way, 0 if there is no room to ask or to
    wait."""
    i = find_row(g, s, Tagged.CONSTANTS, line)
    if i >= 0 and s.tagged_age[i] < BUSY:
        use_row(g, s, Tagged.CONSTANTS, i, 0)
        s.access_time[a] = max(s.access_time[a], g.cycle + g.const_latency)
        return 1
    if room_to_wait(s) == 0:
        return 0
    if i < 0:
        i = ask_for(g, s, Tagged.CONSTANTS, line, 0)
        if i < 0:
            return 0
    s.tagged_stat[TaggedStat.CONSTANT_MISSES] += 1
    n = new_waiter(s, a)
    s.next_waiter[n] = s.tagged_first[i]
    s.tagged_first[i] = n + 1
    return 1
