"""Allocator `unified`: the unified paper's (section 3.2), slots to what is live where most others are."""

from __future__ import annotations

from binalloc.transform.allocators.heuristic import Heuristic

UNIFIED = Heuristic("unified", "slots by frequency and the moving stack: the unified paper's", True, "frequency")
