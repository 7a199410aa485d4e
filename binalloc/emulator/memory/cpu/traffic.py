"""CPU programs ask the memory beside the GPU: chains of misses, see `models.dram.traffic`.

A chain's request is always somewhere: in the calendar until the next miss is due, in the list of a channel without a
place for it, at a bank, or in the calendar until its data is back. A miss goes from the CPU's own caches to the
channel, and does not pass the GPU's links and L2.
"""

from __future__ import annotations

from binalloc.emulator.channels.memories import memory_of
from binalloc.emulator.memory.calendar import post
from binalloc.emulator.memory.dram import BANK_BITS, catch_up, enqueue, has_room
from binalloc.emulator.memory.places import channel_of, find_place, remainder, row_of
from binalloc.emulator.memory.requests import make_request
from binalloc.emulator.memory.sectors import bursts_of
from binalloc.emulator.pages.physical import physical_for_cpu
from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import (
    CPU_FRACTION,
    CPU_SHARE,
    FIRST_CPU_LINE,
    MAX_BANKS_OF_DRAM,
    NEVER,
    RequestKind,
    Stage,
)
from binalloc.emulator.state.parts.shares import Cause
from binalloc.emulator.state.records import Gpu

_MODULUS, _MULTIPLIER = (1 << 31) - 1, 48271
"""Park and Miller's generator, with its better multiplier (1993): products stay within 64 bits."""
_DROPPED = 31 - CPU_SHARE  # low bits of a random number that shares do not need
_HALF = 16  # words of a CPU's line, two of which make one of the GPU's


@device
def start_chains(g: Gpu) -> None:
    """Let each chain have its first miss when it is due."""
    g.cpu_started = 1
    for c in range(g.cpu_chains):
        r = make_request(g, RequestKind.CPU_LOAD, c, 0, 0, 0)
        g.stage[r] = Stage.CPU_MISSES
        g.cause[r] = Cause.CPU
        post(g, r, max(g.cpu_begins[c], g.cycle + 1))


@device
def next_random(g: Gpu, p: int) -> int:
    """Return the next random number of program p, from 1 to 2^31 - 2."""
    g.cpu_drawn[p] = remainder(g.cpu_drawn[p] * _MULTIPLIER, _MODULUS)
    return g.cpu_drawn[p]


@device
def next_line(g: Gpu, p: int) -> int:
    """Return the line of program p's next miss."""
    if next_random(g, p) >> _DROPPED < g.cpu_locality[p]:
        line = g.cpu_last[p] + 1
        if line == g.cpu_lines[p]:
            line = 0
    else:
        line = remainder(next_random(g, p), g.cpu_lines[p])
    g.cpu_last[p] = line
    return line


@device
def miss(g: Gpu, log: Words, r: int) -> None:
    """Let the chain of request r miss its next line: the request goes to a channel, or waits for a place there."""
    c = g.source[r]
    p = g.cpu_of_chain[c]
    line = next_line(g, p)
    g.stamp += 1
    g.age[r] = g.stamp
    g.words[r] = ((1 << _HALF) - 1) << ((line & 1) * _HALF)
    g.line[r] = FIRST_CPU_LINE + g.cpu_base[p] + (line >> 1)
    g.home[r] = physical_for_cpu(g, g.line[r])
    find_place(g, r)
    g.stage[r] = Stage.CPU_HAS_DATA
    g.cpu_since[c] = g.cycle
    g.cpu_asked[p] += 1
    channel = channel_of(g, g.at_slice[r])
    catch_up(g, log, channel)
    if g.cpu_head[channel] == 0 and has_room(g, channel, 1):
        go_to_bank(g, r, channel)
        return
    g.cpu_waiting += 1
    g.following[r] = -1
    if g.cpu_head[channel]:
        g.following[g.cpu_tail[channel]] = r
    else:
        g.cpu_head[channel] = r + 1
    g.cpu_tail[channel] = r


@device
def go_to_bank(g: Gpu, r: int, channel: int) -> None:
    """Let request r wait at its bank of a channel with room for it."""
    row = row_of(g, g.at_slice[r], g.home[r])
    m = memory_of(g, channel)
    enqueue(g, r, channel, row & (MAX_BANKS_OF_DRAM - 1), row >> BANK_BITS, bursts_of(g, m, g.words[r]))


@device
def let_cpu_in(g: Gpu, channel: int, before: int) -> None:
    """Let requests older than age `before` take places at the channel. Where CPU programs come first all may."""
    while g.cpu_head[channel] and has_room(g, channel, 1):
        r = g.cpu_head[channel] - 1
        if g.age[r] > before and g.cpu_first == 0:
            return
        following = g.following[r]
        g.cpu_waiting -= 1
        g.cpu_head[channel] = following + 1
        go_to_bank(g, r, channel)


@device
def let_all_in(g: Gpu, channel: int) -> None:
    """Let all requests take places at the channel that it has."""
    let_cpu_in(g, channel, NEVER)


@device
def compute(g: Gpu, r: int) -> None:
    """Let the chain of request r compute: its miss has ended in this cycle."""
    c = g.source[r]
    p = g.cpu_of_chain[c]
    g.cpu_misses[p] += 1
    g.cpu_delay[p] += g.cycle - g.cpu_path[p] - g.cpu_since[c]
    time = g.cpu_think[p] + g.cpu_rest[c]
    g.cpu_rest[c] = time & ((1 << CPU_FRACTION) - 1)
    g.stage[r] = Stage.CPU_MISSES
    post(g, r, g.cycle + max(time >> CPU_FRACTION, 1))
