"""This module computes the time of a load in an idle memory system, as parts of the latencies that a machine file
states.

`l2.latency` and `dram.latency` are an SM's, from issue to use. The shares of the links and of the commands of DRAM
follow from other figures. The rest is the latency of L2 itself, and of the way between L2 and DRAM.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from binalloc.models.machines.model import Machine

SECTOR_BYTES = 32  # a line is fetched in sectors of 32 bytes
FULL_SPEED = Fraction(1)  # a bus that transfers data without pauses
RATE_DENOMINATOR = 10_000  # with MOST_TICKS it bounds the factors by which cycles and ticks are multiplied
MOST_TICKS = 8  # upper limit on command cycles in a core cycle


def fetched_bytes(m: Machine) -> int:
    """Return the bytes that a load of one word fetches from L2. Latencies are stated for such a load."""
    return m.l1.line_bytes if m.l1.caches_global and m.l1.fills_lines else SECTOR_BYTES


def link_cycles(m: Machine) -> int:
    """Return the core cycles of a load and its answer on free links between SM and slice."""
    net = m.interconnect
    there = -(-net.header_bytes // net.request_bytes)
    back = -(-(net.header_bytes + fetched_bytes(m)) // net.response_bytes)
    return there + back + 2 * net.latency


def ticks_per_cycle(m: Machine) -> Fraction:
    """Return the cycles of DRAM's command clock in a core cycle, to within 10^-8."""
    return (Fraction(m.dram.command_mhz) / Fraction(m.clock.core_mhz)).limit_denominator(RATE_DENOMINATOR)


def closed_bank_ticks(m: Machine, slower: Fraction = FULL_SPEED, fetched: int | None = None) -> int:
    """Return the command cycles of an activation, the reads and their data.

    slower: factor on the time that a burst takes on the bus. fetched: bytes that are read, None for `fetched_bytes`.
    """
    bursts = -(-(fetched or fetched_bytes(m)) // m.dram.burst_bytes)
    on_bus = Fraction(m.dram.burst, m.dram.data_rate) * slower
    last = max((bursts - 1) * m.dram.ccdl, floor((bursts - 1) * on_bus))
    return m.dram.rcd + last + m.dram.cl + m.dram.burst_cycles


def closed_bank_cycles(m: Machine, slower: Fraction = FULL_SPEED, fetched: int | None = None) -> int:
    """Return `closed_bank_ticks` in core cycles, rounded up."""
    return ceil(closed_bank_ticks(m, slower, fetched) / ticks_per_cycle(m))


def l2_cycles(m: Machine) -> int:
    """Return the core cycles from a request's turn at its slice until the answer leaves."""
    return m.l2.latency - link_cycles(m)


def dram_cycles(m: Machine, slower: Fraction = FULL_SPEED) -> int:
    """Return the core cycles between L2 and DRAM without the commands', at least one.

    So `dram.latency` is the same at every speed of the bus that leaves room for it.
    """
    return max(1, m.dram.latency - m.l2.latency - closed_bank_cycles(m, slower))
