"""What a load takes in a memory system that does nothing else: the parts of the latencies that a machine file states.

`l2.latency` and `dram.latency` are an SM's, from issue to use. What the links and the commands of DRAM take of them
follows from other figures; the rest is the latency of L2 itself, and what lies between L2 and DRAM.
"""

from __future__ import annotations

from fractions import Fraction

from binalloc.models.machines.model import Machine

SECTOR_BYTES = 32


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
    """Cycles of DRAM's command clock in one of the core's."""
    return Fraction(m.dram.command_mhz).limit_denominator(1000) / Fraction(m.clock.core_mhz).limit_denominator(1000)


def closed_bank_ticks(m: Machine) -> int:
    """Command cycles of an activation, the reads and their data."""
    bursts = -(-fetched_bytes(m) // m.dram.burst_bytes)
    return m.dram.rcd + m.dram.cl + m.dram.burst_cycles + (bursts - 1) * max(m.dram.ccd, m.dram.ccdl)


def closed_bank_cycles(m: Machine) -> int:
    """`closed_bank_ticks` in core cycles, rounded up."""
    rate = ticks_per_cycle(m)
    return -(-closed_bank_ticks(m) * rate.denominator // rate.numerator)


def l2_cycles(m: Machine) -> int:
    """Core cycles from a request's turn at its slice until the answer leaves."""
    return m.l2.latency - link_cycles(m)


def dram_cycles(m: Machine) -> int:
    """Core cycles between L2 and DRAM beside the commands'."""
    return m.dram.latency - m.l2.latency - closed_bank_cycles(m)
