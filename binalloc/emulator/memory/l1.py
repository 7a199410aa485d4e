"""An SM's L1 takes the lines of an access one after the other; some bypass it. Outstanding requests are counted here.

An access is made at issue: each of its lines is found in L1, joins a line on its way, or is sent for. Where a line
finds no room (no load or store may be sent, no way of its set is free, no waiter), it is *held* with those behind it.
The SM then takes no other access to memory until they have gone on in a later cycle. A held line has changed nothing
yet, so an access can be refused at any line. It is done when its last line has come.
"""

from __future__ import annotations

from binalloc.emulator.memory.account.shares import cause_of
from binalloc.emulator.memory.interconnect import send
from binalloc.emulator.memory.places import is_spill, spread
from binalloc.emulator.memory.queues import entered, left
from binalloc.emulator.memory.replacement import BUSY, least_used
from binalloc.emulator.memory.sectors import sector_count, whole_sectors
from binalloc.emulator.memory.tagged import load_constants
from binalloc.emulator.memory.waiters import new_waiter, room_to_wait
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import NO_BARRIER, StackColumn
from binalloc.emulator.state.memory_layout import CACHED, SERIAL_SHIFT, TEXEL, LinePolicy, Queue, RequestKind
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.records import Gpu, Sm


@device
def load_leaves(g: Gpu, s: Sm) -> None:
    """Take one of the SM's MSHRs for a load or an atomic."""
    s.loads_out += 1
    entered(s, Queue.L1_MSHRS, g.cycle, s.loads_out, g.l1_mshrs)


@device
def load_answered(g: Gpu, s: Sm) -> None:
    """Free the MSHR of a load or an atomic."""
    s.loads_out -= 1
    left(s, Queue.L1_MSHRS, g.cycle, s.loads_out, g.l1_mshrs)


@device
def store_leaves(g: Gpu, s: Sm) -> None:
    """Take one of the SM's store places for a store or a write-back."""
    s.stores_out += 1
    entered(s, Queue.STORE_PLACES, g.cycle, s.stores_out, g.store_places)


@device
def store_answered(g: Gpu, s: Sm) -> None:
    """Free the place of a store or a write-back."""
    s.stores_out -= 1
    left(s, Queue.STORE_PLACES, g.cycle, s.stores_out, g.store_places)


@device
def first_way(g: Gpu, line: int) -> int:
    """Return the index of the first way of the line's set. Sets are hashed as in L2."""
    return spread(line, g.l1_sets) * g.l1_ways


@device
def find_way(g: Gpu, s: Sm, first: int, line: int) -> int:
    """Return the index of the line in the set that begins at way `first`, or -1 if it is not there."""
    for i in range(first, first + g.l1_ways):
        if s.l1_line[i] == line + 1:
            return i
    return -1


@device
def touch(s: Sm, i: int) -> None:
    """Make line i the most recently used."""
    s.stamp += 1
    s.l1_age[i] = s.stamp | (BUSY if s.l1_coming[i] else 0)


@device
def drop_line(s: Sm, i: int) -> None:
    """Invalidate line i, of which nothing is on its way, because L2 has newer words."""
    s.l1_line[i] = 0
    s.l1_age[i] = 0


@device(inline=True)
def own(g: Gpu, s: Sm, i: int, w: int) -> None:
    """Note that warp w has asked for line i."""
    if g.notes_evictions:
        s.l1_owner[i] = w


@device
def note_eviction(s: Sm, i: int) -> None:
    """Note that L1 evicts line i. Listeners hear of it when the instruction is over."""
    s.given_line[s.given_up] = s.l1_line[i] - 1
    s.given_owner[s.given_up] = s.l1_owner[i]
    s.given_up += 1


@device
def note_sought(s: Sm, w: int, line: int, stored: int) -> None:
    """Note that warp w's load has not found a line in L1, or that it has stored to the line. Listeners hear of it when
    the instruction is over."""
    s.sought_line[s.sought] = line
    s.sought_warp[s.sought] = w
    s.sought_stored[s.sought] = stored
    s.sought += 1


@device
def take_way(g: Gpu, s: Sm, i: int, line: int) -> None:
    """Let way i hold `line` from now on. Words of the old line that L2 lacks are sent there."""
    if s.l1_line[i]:
        s.stat[Stat.L1_EVICTIONS] += 1
        if g.notes_evictions:
            note_eviction(s, i)
        if s.l1_dirty[i]:
            store_leaves(g, s)
            s.stat[Stat.LOCAL_WRITEBACK_SECTORS] += sector_count(s.l1_dirty[i])
            send(g, RequestKind.STORE, s.id, s.l1_line[i] - 1, s.l1_dirty[i], 0, s.l1_cause[i])
    s.l1_line[i] = line + 1
    s.l1_valid[i] = 0
    s.l1_dirty[i] = 0


@device
def load_past(g: Gpu, s: Sm, a: int, policy: int, line: int, words: int) -> int:
    """Load `words` of a line for access a past L1. Return 0 if there is no room to ask."""
    if s.loads_out >= g.l1_mshrs:
        return 0
    s.missing[a] += 1
    ask(g, s, a, policy, line, words, a)
    return 1


@device
def ask(g: Gpu, s: Sm, a: int, policy: int, line: int, words: int, link: int) -> None:
    """Request words of a line from L2 for access a."""
    load_leaves(g, s)
    kind = Stat.GLOBAL_FILL_SECTORS
    if policy == LinePolicy.LOCAL_LOAD or policy == LinePolicy.LOCAL_LOAD_PAST:
        kind = Stat.LOCAL_FILL_SECTORS
    elif policy == LinePolicy.TEXTURE:
        kind = Stat.TEXTURE_FILL_SECTORS
        link |= TEXEL
    s.stat[kind] += sector_count(words)
    send(g, RequestKind.LOAD, s.id, line, words, link, cause_of(g, s, a))


@device
def load_line(g: Gpu, s: Sm, a: int, policy: int, line: int, words: int) -> int:
    """Load `words` of a line for access a through L1. Return 1 if it was there or is on its way, 0 if there is no room
    to ask."""
    first = first_way(g, line)
    i = find_way(g, s, first, line)
    lacking = words if i < 0 else words & ~s.l1_valid[i]
    if lacking == 0:
        touch(s, i)
        own(g, s, i, s.access_warp[a])
        count_load(g, s, policy, line, 1)
        s.access_time[a] = max(s.access_time[a], g.cycle + g.l1_latency)
        return 1
    wanted = g.l1_fill_words if g.l1_fill_words else whole_sectors(lacking)
    wanted &= ~(0 if i < 0 else s.l1_coming[i] | s.l1_valid[i])
    if (wanted and s.loads_out >= g.l1_mshrs) or room_to_wait(s) == 0:
        return 0
    if i < 0:
        i = least_used(s.l1_age, first, g.l1_ways)
        if i < 0 or (s.l1_dirty[i] and s.stores_out >= g.store_places):
            return 0
        take_way(g, s, i, line)
        if g.notes_sought:
            note_sought(s, s.access_warp[a], line, 0)
    count_load(g, s, policy, line, 0)
    if wanted:
        s.l1_coming[i] |= wanted
        ask(g, s, a, policy, line, wanted, CACHED | i)
    else:
        s.stat[Stat.L1_MERGES] += 1
    touch(s, i)
    own(g, s, i, s.access_warp[a])
    join(s, a, i, lacking)
    return 1


@device
def join(s: Sm, a: int, i: int, lacking: int) -> None:
    """Let access a wait for words of line i."""
    n = new_waiter(s, a)
    s.waiter_words[n] = lacking
    append_waiter(s, i, n + 1)


@device
def append_waiter(s: Sm, i: int, n: int) -> None:
    """Append waiter n - 1 to the list of line i."""
    s.next_waiter[n - 1] = 0
    if s.l1_first[i]:
        s.next_waiter[s.l1_last[i] - 1] = n
    else:
        s.l1_first[i] = n
    s.l1_last[i] = n


@device
def store_line(g: Gpu, s: Sm, a: int, policy: int, line: int, words: int) -> int:
    """Store `words` of a line for access a. Return 0 if there is no room. Local lines stay in an L1 that holds local
    memory, and go to L2 when they are replaced. All others go to L2 at once, and L1 drops the line or keeps it up to
    date."""
    w = s.access_warp[a]
    local = policy == LinePolicy.LOCAL_STORE
    if local and g.l1_local:
        first = first_way(g, line)
        i = find_way(g, s, first, line)
        if i < 0:
            i = least_used(s.l1_age, first, g.l1_ways)
            if i < 0 or (s.l1_dirty[i] and s.stores_out >= g.store_places):
                return 0
            take_way(g, s, i, line)
            count_local(g, s, line, 0)
        else:
            count_local(g, s, line, 1)
        touch(s, i)
        own(g, s, i, w)
        s.l1_valid[i] |= words
        s.l1_dirty[i] |= words
        if CHECKING and g.profile:
            s.l1_cause[i] = cause_of(g, s, a)
        return 1
    if s.stores_out >= g.store_places:
        return 0
    if g.notes_sought:
        note_sought(s, w, line, 1)
    if g.l1_global:
        i = find_way(g, s, first_way(g, line), line)
        if i >= 0 and g.l1_updates and policy != LinePolicy.STORE_PAST:
            s.l1_valid[i] |= words
        elif i >= 0 and s.l1_coming[i] == 0:
            drop_line(s, i)
    store_leaves(g, s)
    s.warp_stores[w] += 1
    if local:
        s.stat[Stat.LOCAL_WRITEBACK_SECTORS] += sector_count(words)
    send(g, RequestKind.STORE, s.id, line, words, w + 1, cause_of(g, s, a))
    return 1


@device
def atomic_line(g: Gpu, s: Sm, a: int, line: int, words: int, serial: int) -> int:
    """Have L2 do access a's atomic operations on a line. Return 0 if there is no room. serial: the largest number of
    lanes that have one address."""
    if s.loads_out >= g.l1_mshrs:
        return 0
    if g.l1_global:
        i = find_way(g, s, first_way(g, line), line)
        if i >= 0 and s.l1_coming[i] == 0:
            drop_line(s, i)
    load_leaves(g, s)
    s.missing[a] += 1
    s.warp_stores[s.access_warp[a]] += 1
    send(g, RequestKind.ATOMIC, s.id, line, words, a | serial << SERIAL_SHIFT, cause_of(g, s, a))
    return 1


@device
def one_line(g: Gpu, s: Sm, a: int, policy: int, line: int, words: int, serial: int) -> int:
    """Handle one line of access a by its policy. Return 0 if it must be held."""
    if policy == LinePolicy.ATOMIC:
        return atomic_line(g, s, a, line, words, serial)
    if policy == LinePolicy.STORE or policy == LinePolicy.LOCAL_STORE or policy == LinePolicy.STORE_PAST:
        return store_line(g, s, a, policy, line, words)
    if policy == LinePolicy.LOAD_PAST or policy == LinePolicy.LOCAL_LOAD_PAST:
        return load_past(g, s, a, policy, line, words)
    if policy == LinePolicy.CONSTANT:
        return load_constants(g, s, a, line)
    return load_line(g, s, a, policy, line, words)


@device
def count_local(g: Gpu, s: Sm, line: int, hit: int) -> None:
    """Count one line of local memory that has been looked for in L1, as the program's own or as one of spilled
    values."""
    s.stat[Stat.L1_LOCAL_HITS if hit else Stat.L1_LOCAL_MISSES] += 1
    if is_spill(g, line):
        s.stat[Stat.L1_SPILL_HITS if hit else Stat.L1_SPILL_MISSES] += 1


@device
def count_load(g: Gpu, s: Sm, policy: int, line: int, hit: int) -> None:
    """Count one line that a load has looked for in L1."""
    if policy == LinePolicy.LOCAL_LOAD:
        count_local(g, s, line, hit)
    elif policy == LinePolicy.TEXTURE:
        s.stat[Stat.L1_TEXTURE_HITS if hit else Stat.L1_TEXTURE_MISSES] += 1
    else:
        s.stat[Stat.L1_GLOBAL_HITS if hit else Stat.L1_GLOBAL_MISSES] += 1


@device
def begin_access(g: Gpu, s: Sm, w: int) -> int:
    """Return a new access of warp w, without lines. It counts itself as missing, so that it cannot end before the last
    of its lines has been looked up."""
    a = s.free_access - 1
    if a >= 0:
        s.free_access = s.next_access[a]
    else:
        a = s.accesses
        s.accesses += 1
    s.missing[a] = 1
    s.access_warp[a] = w
    s.access_board[a] = NO_BARRIER
    s.access_time[a] = 0
    if CHECKING and g.profile:
        s.access_word[a] = s.stack[w, s.sp[w], StackColumn.PC]
    return a


@device
def make_access(g: Gpu, s: Sm, w: int) -> None:
    """Begin the access of warp w's running instruction to its lines: `s.line`, `s.line_words`, and so on.

    Leaves in `s.access` the access if lines of it are still missing, else -1. Leaves in `s.done_at` the cycle from
    which the lines found in L1 can be used.
    """
    a = begin_access(g, s, w)
    n = 0
    while n < s.lines and one_line(g, s, a, s.line_policy[n], s.line[n], s.line_words[n], s.line_serial[n]):
        n += 1
    s.done_at = max(s.done_at, s.access_time[a])
    if n < s.lines:
        s.held = s.lines
        s.held_next = n
        s.held_access = a
        s.access = a
        return
    s.missing[a] -= 1
    s.access = a
    if s.missing[a] == 0:
        end_access(s, a)
        s.access = -1


@device
def wait_for_stores(g: Gpu, s: Sm, w: int, board: int) -> None:
    """Begin a fence of warp w, as an access that is done when the warp's stores and atomics have been answered. It
    joins one that waits already for the same scoreboard."""
    if s.warp_stores[w] == 0:
        return
    a = s.warp_fence[w]
    while a:
        if s.access_board[a - 1] == board:
            return
        a = s.next_access[a - 1]
    s.access = begin_access(g, s, w)
    s.next_access[s.access] = s.warp_fence[w]
    s.warp_fence[w] = s.access + 1


@device
def end_access(s: Sm, a: int) -> None:
    """Free the access, which is done."""
    s.next_access[a] = s.free_access
    s.free_access = a + 1
