"""The interconnect joins SMs and slices of L2: a link per port and direction, which carries packets in order of
arrival. A port belongs to one SM, or to several neighbours (`chip.sms_per_port`).

A packet takes its link for as many cycles as its bytes need, header included. After that it is on its way for a fixed
time. A slice can also send only so many bytes a cycle. Links never refuse a packet: the number of an SM's outstanding
requests is limited where they are sent (`l1`).
"""

from __future__ import annotations

from binalloc.emulator.memory.calendar import post
from binalloc.emulator.memory.places import find_place
from binalloc.emulator.memory.requests import make_request
from binalloc.emulator.memory.sectors import sector_count
from binalloc.emulator.pages.physical import physical
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import SECTOR_BYTES, MemoryStat, RequestKind, Stage
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import quotient


@device(inline=True)
def packet_cycles(size: int, width: int) -> int:
    """Return the cycles that a packet of `size` bytes takes on a link of `width` bytes a cycle."""
    return quotient(size + width - 1, width)


@device
def data_bytes(words: int) -> int:
    """Return the bytes that a packet with these words of a line carries beside its header: whole sectors."""
    return sector_count(words) * SECTOR_BYTES


@device
def request_size(g: Gpu, r: int) -> int:
    """Return the bytes of the packet that takes request r to its slice. A load's has a header only."""
    return g.header_bytes + (0 if g.kind[r] == RequestKind.LOAD else data_bytes(g.words[r]))


@device
def response_size(g: Gpu, r: int) -> int:
    """Return the bytes of the packet that answers request r. A store's has a header only: it acknowledges."""
    return g.header_bytes + (0 if g.kind[r] == RequestKind.STORE else data_bytes(g.words[r]))


@device(inline=True)
def port_of(g: Gpu, sm: int) -> int:
    """Return the port of an SM: neighbours share one."""
    return quotient(sm, g.sms_per_port)


@device
def busy_cycles(g: Gpu, port: int, size: int, width: int) -> int:
    """Return the cycles for which a packet keeps a link of `width` bytes a cycle from the next one. In a run of some
    SMs a port may have fewer of them than the machine's: then the cycles are those of its share of the width."""
    at_port = min(g.sms_per_port, g.sms - port * g.sms_per_port)
    return packet_cycles(size * g.sms_per_port, width * at_port)


@device
def send(g: Gpu, kind: int, sm: int, line: int, words: int, link: int, cause: int) -> None:
    """Send a request from an SM to the slice of its line. cause: to what it goes back, a `Cause`, in profiled runs."""
    r = make_request(g, kind, sm, line, words, link)
    if CHECKING and g.profile:
        g.cause[r] = cause
    g.home[r] = physical(g, sm, line)
    find_place(g, r)
    if kind != RequestKind.LOAD:
        g.unfinished += 1
    port = port_of(g, sm)
    size = request_size(g, r)
    start = max(g.request_free[port], g.cycle)
    g.request_free[port] = start + busy_cycles(g, port, size, g.request_bytes)
    g.stage[r] = Stage.REACHES_SLICE
    post(g, r, start + packet_cycles(size, g.request_bytes) + g.request_latency)


@device
def leave_slice(g: Gpu, r: int) -> None:
    """Send the answer to request r from its slice to the SM. A store's answer only acknowledges."""
    port = port_of(g, g.source[r])
    k = g.at_slice[r]
    size = response_size(g, r)
    g.memory_stat[MemoryStat.ANSWERS] += 1
    if g.kind[r] != RequestKind.STORE:
        g.memory_stat[MemoryStat.ANSWER_SECTORS] += sector_count(g.words[r])
    start = max(g.slice_out[k], g.cycle)
    g.slice_out[k] = start + packet_cycles(size, g.l2_bytes)
    g.memory_stat[MemoryStat.RESPONSE_WAIT_CYCLES] += max(g.response_free[port] - start, 0)
    start = max(g.response_free[port], start)
    g.response_free[port] = start + busy_cycles(g, port, size, g.response_bytes)
    g.stage[r] = Stage.REACHES_SM
    post(g, r, start + packet_cycles(size, g.response_bytes) + g.response_latency)
