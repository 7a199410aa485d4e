"""What the import of a large kernel holds at most grows as its lines do, and is not much a line."""

from __future__ import annotations

import gc
import tracemalloc

from binalloc.frontend.importer import import_ptx
from tests.benchmarks.speed.bench_import import standing_kernel

LIVE = 300
LINES = 3000
PER_LINE = 6_400
"""Bytes; it was more before routines' nodes, views and regions were dropped as soon as nobody reads them."""


def peak(lines: int) -> int:
    """Bytes held at most while so many lines are imported of which 300 values live all the way."""
    text = standing_kernel(lines, LIVE)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    import_ptx(text, machine="gtx680")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most - before


def test_memory_is_linear_in_the_lines_and_little() -> None:
    import_ptx(standing_kernel(1000, LIVE), machine="gtx680")  # what is kept for all imports is made by now
    few, many = peak(1500), peak(LINES)
    assert many < 2.3 * few
    assert many < PER_LINE * LINES, many / LINES
