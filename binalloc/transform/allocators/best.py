"""Allocator `best`: as `unified`, but slots go by what local memory would cost, and moves at calls are avoided."""

from __future__ import annotations

from binalloc.transform.allocators.heuristic import Heuristic

BEST = Heuristic("best", "slots by loop-weighted cost, moves only where slots are short", True, "cost")
