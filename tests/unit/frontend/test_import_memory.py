"""What the import of a large kernel holds at most grows as its lines do, and is not much a line.

It is measured in a process of its own, as what other tests leave behind counts, too: by up to 4 % of the figure.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc

import pytest

from binalloc.frontend.importer import import_ptx
from tests.benchmarks.speed.bench_import import standing_kernel
from tests.support.paths import ROOT

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


def main() -> None:
    """Print the peaks of half the lines and of all."""
    import_ptx(standing_kernel(1000, LIVE), machine="gtx680")  # what is kept for all imports is made by now
    print(peak(LINES // 2), peak(LINES))


@pytest.mark.rotates("long")
def test_memory_is_linear_in_the_lines_and_little() -> None:
    command = [sys.executable, "-c", "from tests.unit.frontend.test_import_memory import main; main()"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    few, many = map(int, said.split())
    assert many < 2.3 * few
    assert many < PER_LINE * LINES, many / LINES
