"""This module takes answers from the memory system: lines of L1 are filled, accesses end, scoreboards are released,
held lines go on."""

from __future__ import annotations

from binalloc.emulator.memory.interconnect import response_size
from binalloc.emulator.memory.l1 import append_waiter, end_access, load_answered, one_line, store_answered
from binalloc.emulator.memory.replacement import BUSY
from binalloc.emulator.memory.requests import drop_request
from binalloc.emulator.memory.tagged import Awaits, no_room
from binalloc.emulator.memory.waiters import drop_waiter
from binalloc.emulator.policies.events import HEARS_LINES
from binalloc.emulator.sm.events import board_done, guard_until, knock
from binalloc.emulator.sm.issue import tell_lines, wake_sm
from binalloc.emulator.sm.log import log_event
from binalloc.emulator.sm.ports import open_path
from binalloc.emulator.sm.profile import profile_access, settle
from binalloc.emulator.state.arrays import Grid
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import NO_BARRIER, SCOREBOARDS
from binalloc.emulator.state.memory_layout import CACHED, CODE_ROW, CONSTANT_ROW, MemoryStat, RequestKind, Tagged
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.parts.log import LogKind
from binalloc.emulator.state.records import Gpu, Sm


@device
def go_on_with_held(g: Gpu, s: Sm, program: Grid) -> None:
    """Send the held lines for which there is room now, after an answer."""
    if s.held == 0:
        return
    a = s.held_access
    n = s.held_next
    while n < s.held and one_line(g, s, a, s.line_policy[n], s.line[n], s.line_words[n], s.line_serial[n]):
        n += 1
    if HEARS_LINES and (s.given_up or s.sought):
        tell_lines(g, s)
    if CHECKING and g.profile:
        settle(s, program, s.access_word[a])
    s.held_next = n
    if n == s.held:
        s.held = 0
        wake_sm(g, s, program)
        if s.access_board[a] != NO_BARRIER and s.access_time[a] > g.cycle:
            guard_until(g, s, s.access_warp[a], s.access_board[a], s.access_time[a])
        open_path(g, s)
        if g.logging:
            log_event(g, s, LogKind.GO_ON, s.access_warp[a], -1, 0)
        line_came(g, s, program, a)


@device
def line_came(g: Gpu, s: Sm, program: Grid, a: int) -> None:
    """Enter that one of the missing lines of access a has come."""
    s.missing[a] -= 1
    if s.missing[a] == 0:
        if CHECKING and g.profile:
            profile_access(g, s, program, a)
        w, board = s.access_warp[a], s.access_board[a]
        if board < SCOREBOARDS and s.board_open[w, board] == 1:
            wake_sm(g, s, program)
        board_done(g, s, program, w, board)
        end_access(s, a)


@device
def store_came(g: Gpu, s: Sm, program: Grid, w: int) -> None:
    """Note that a store or an atomic of warp w has arrived. If it was the last, end the fences that waited for it."""
    s.warp_stores[w] -= 1
    a = s.warp_fence[w]
    if s.warp_stores[w] or a == 0:
        return
    s.warp_fence[w] = 0
    while a:
        following = s.next_access[a - 1]
        line_came(g, s, program, a - 1)
        a = following


@device
def reach_sm(g: Gpu, s: Sm, program: Grid, r: int) -> None:
    """Take the answer to request r, which has arrived."""
    g.memory_stat[MemoryStat.RESPONSE_BYTES] += response_size(g, r)
    kind = g.kind[r]
    link = g.link[r]
    if kind == RequestKind.STORE:
        store_answered(g, s)
        if link:
            store_came(g, s, program, link - 1)
    else:
        if link & (CODE_ROW | CONSTANT_ROW) and kind == RequestKind.LOAD:
            fill_row(g, s, program, 1 if link & CONSTANT_ROW else 0, link & (CACHED - 1))
            drop_request(g, r)
            return
        load_answered(g, s)
        a = link & (CACHED - 1)
        if kind == RequestKind.ATOMIC:
            store_came(g, s, program, s.access_warp[a])
            line_came(g, s, program, a)
        elif link & CACHED:
            fill_way(g, s, program, a, g.words[r])
        else:
            line_came(g, s, program, a)
    if kind != RequestKind.LOAD:
        g.unfinished -= 1
    drop_request(g, r)
    go_on_with_held(g, s, program)
    if s.called:
        wake_sm(g, s, program)


@device
def fill_way(g: Gpu, s: Sm, program: Grid, i: int, words: int) -> None:
    """Enter words of line i of L1 that have come. The accesses that lack none of its words any more go on, in their
    order."""
    s.l1_valid[i] |= words
    s.l1_coming[i] &= ~words
    if s.l1_coming[i] == 0:
        s.l1_age[i] &= BUSY - 1
    n = s.l1_first[i]
    s.l1_first[i] = 0
    while n:
        following = s.next_waiter[n - 1]
        if s.waiter_words[n - 1] & ~s.l1_valid[i]:
            append_waiter(s, i, n)
        else:
            a = s.waiter_access[n - 1]
            drop_waiter(s, n - 1)
            line_came(g, s, program, a)
        n = following


@device
def fill_row(g: Gpu, s: Sm, program: Grid, cache: int, i: int) -> None:
    """Enter the line of row i of the instruction cache or the constant cache, which has come.

    Warps that wait for it have it, and LDCs are done with it. Warps without room in the cache try again.
    """
    s.tagged_out[cache] -= 1
    s.tagged_age[i] &= BUSY - 1
    for w in range(g.warp_limit):
        if s.awaits[w] == i + 1 or s.awaits[w] == no_room(cache):
            wake_sm(g, s, program)
            s.awaits[w] = Awaits.HERE if s.awaits[w] == i + 1 else 0
            knock(g, s, w)
    n = s.tagged_first[i]
    s.tagged_first[i] = 0
    while n:
        following = s.next_waiter[n - 1]
        a = s.waiter_access[n - 1]
        drop_waiter(s, n - 1)
        line_came(g, s, program, a)
        n = following
    if cache == Tagged.CONSTANTS:
        go_on_with_held(g, s, program)
