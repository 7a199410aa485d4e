"""This module has allocator `local`, the baseline: values that do not fit go to local memory."""

from __future__ import annotations

from binalloc.transform.allocators.heuristic import Heuristic

LOCAL = Heuristic("local", "registers, then local memory; no slots (the baseline)", False, "cost")
