"""Results of runs beside one another."""

from __future__ import annotations

import numpy as np

from binalloc.emulator.runs.run import Result


def same(one: Result, other: Result) -> None:
    """Every counter, cycle, count of an instruction and word of a buffer of two runs is the same."""
    assert one.stats == other.stats
    assert one.cycles == other.cycles
    for name, data in one.buffers.items():
        assert np.array_equal(data, other.buffers[name]), name
    for name, counts in one.counts.items():
        assert np.array_equal(counts, other.counts[name]), name
