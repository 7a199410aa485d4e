"""Warp schedulers: which of the warps that could issue does. One small function per policy, and the registry.

A policy sees the scheduler's eligible warps as a bit mask (bit i = warp slot i * schedulers + scheduler) and returns a
bit index; what it remembers lives in `s.last`. A new policy is one function and one line in `pick`.
"""

from __future__ import annotations

from typing import Any

from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import lowest_bit

POLICIES = ("lrr",)


@device
def loose_round_robin(g: Any, s: Any, sch: int, eligible: int) -> int:
    """The next eligible warp after the one that issued last."""
    above = eligible & -(2 << s.last[sch]) if s.last[sch] >= 0 else eligible
    return lowest_bit(above if above else eligible)


@device
def pick(g: Any, s: Any, sch: int, eligible: int) -> int:
    """The choice of the policy `g.policy` (index in `POLICIES`); eligible != 0."""
    return loose_round_robin(g, s, sch, eligible)
