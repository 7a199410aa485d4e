"""Allocator `local`: what does not fit goes to local memory. The baseline of the others."""

from __future__ import annotations

from binalloc.transform.allocators.heuristic import Heuristic

LOCAL = Heuristic("local", "registers, then local memory; no slots (the baseline)", False, "cost")
