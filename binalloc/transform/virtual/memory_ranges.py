"""This module computes live ranges of memory values.

A range begins at the stores that fill a slot or local word, or at a caller's store. It ends at the last reload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from binalloc.transform.virtual.code import ARRIVE, RELOAD, STORE
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges, live_ranges


def memory_ranges(flat: Flat, values: int) -> LiveRanges:
    """Return live ranges as `live_ranges` does, with stores for definitions and reloads for uses."""
    stored: list[Sequence[int]] = [(item.memory,) if item.kind in (STORE, ARRIVE) else () for item in flat.items]
    loaded: list[Sequence[int]] = [(item.memory,) if item.kind == RELOAD else () for item in flat.items]
    return live_ranges(replace(flat, defs=stored, uses=loaded), values)
