"""What a load takes in a memory system that does nothing else: the parts of the latencies that a machine file states.

`l2.latency` and `dram.latency` are an SM's, from issue to use. What the links and the commands of DRAM take of them
follows from other figures; the rest is the latency of L2 itself, and what lies between L2 and DRAM.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from binalloc.models.machines.model import Machine

SECTOR_BYTES = 32
FULL_SPEED = Fraction(1)
RATE_DENOMINATOR = 10_000  # with MOST_TICKS bounds what cycles and ticks are multiplied by
MOST_TICKS = 8  # in a core cycle


def fetched_bytes(m: Machine) -> int:
    """Bytes that a load of one word fetches from L2, which is the load that latencies are stated for."""
    return m.l1.line_bytes if m.l1.caches_global and m.l1.fills_lines else SECTOR_BYTES


def link_cycles(m: Machine) -> int:
    """Core cycles between SM and slice of a load and its answer, on free links."""
    net = m.interconnect
    there = -(-net.header_bytes // net.request_bytes)
    back = -(-(net.header_bytes + fetched_bytes(m)) // net.response_bytes)
    return there + back + 2 * net.latency


def ticks_per_cycle(m: Machine) -> Fraction:
    """Cycles of DRAM's command clock in one of the core's, to within 10^-8."""
    return (Fraction(m.dram.command_mhz) / Fraction(m.clock.core_mhz)).limit_denominator(RATE_DENOMINATOR)


def closed_bank_ticks(m: Machine, slower: Fraction = FULL_SPEED) -> int:
    """Command cycles of an activation, the reads and their data; a burst takes the bus `slower` times as long as it
    might."""
    bursts = -(-fetched_bytes(m) // m.dram.burst_bytes)
    on_bus = Fraction(m.dram.burst, m.dram.data_rate) * slower
    last = max((bursts - 1) * m.dram.ccdl, floor((bursts - 1) * on_bus))
    return m.dram.rcd + last + m.dram.cl + m.dram.burst_cycles


def closed_bank_cycles(m: Machine, slower: Fraction = FULL_SPEED) -> int:
    """`closed_bank_ticks` in core cycles, rounded up."""
    return ceil(closed_bank_ticks(m, slower) / ticks_per_cycle(m))


def l2_cycles(m: Machine) -> int:
    """Core cycles from a request's turn at its slice until the answer leaves."""
    return m.l2.latency - link_cycles(m)


def dram_cycles(m: Machine, slower: Fraction = FULL_SPEED) -> int:
    """Core cycles between L2 and DRAM beside the commands', at least one: so many that `dram.latency` is the same at
    every speed of the bus that leaves room for it."""
    return max(1, m.dram.latency - m.l2.latency - closed_bank_cycles(m, slower))
