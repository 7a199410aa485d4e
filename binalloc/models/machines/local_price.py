"""This module prices an access to spilled local memory on a machine, in accesses to a shared-memory slot.

Needs a machine. A slot answers after the latency of shared memory. Local memory answers after the latency of L1 where
the line is still there, otherwise after that of L2, or of DRAM where L2 holds no data. How often each happens depends
on the words that all resident threads spill together. The price assumes SPILLED words per thread on an SM full of
threads. So it is one figure for a machine, and costs of all budgets can be compared. (The papers give no such price:
the unified paper's Table 2 has the latencies.)
"""

from __future__ import annotations

from binalloc.isa.interface.places import WORD
from binalloc.models.machines.model import Machine

SPILLED = 8
"""Words per thread in local memory for which hits in L1 are estimated. Chosen by hand; with more of them L1 holds a
smaller share, and the price rises."""


def local_price(machine: Machine) -> float:
    """Return the price as a whole number, since the estimate is no finer; at least 1."""
    l1, far = machine.l1, machine.l2.latency if machine.l2.caches_data else machine.dram.latency
    wanted = machine.sm.threads_per_sm * SPILLED * WORD
    hits = min(1.0, l1.bytes / wanted) if l1.caches_local else 0.0
    cycles = hits * l1.latency + (1.0 - hits) * far
    return max(1.0, float(round(cycles / machine.shared.latency)))
