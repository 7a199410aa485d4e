"""Resonance is how far cycles change when blocks start a little later, by seeds.

The warps of a kernel may load and compute in phases, and keep in step. Then the kernel may gain or lose by the exact
cycle in which they start. Where a few dozen cycles of delay change its cycles much, these are a range rather than a
number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from binalloc.errors import LimitHit

LIMIT = 0.02
"""A change of cycles beyond this share of them is reported as a range. Over all levels of all samples it is 2.00 % at
the 95th percentile (docs/measured/resonance.md)."""


def skewed_cycles(cycles_of: Callable[[int], int], skews: int) -> tuple[int, ...]:
    """Return the cycles of the runs with the seeds 0 to skews - 1. cycles_of: gives the cycles for a seed. Its LimitHit
    is raised again with a message that names the kind of run."""
    try:
        return tuple(cycles_of(seed) for seed in range(skews))
    except LimitHit as error:
        error.message = f"with blocks that start a little later {error.message}"
        raise


def change(cycles: int, skewed: Sequence[int]) -> float:
    """Return the largest change of cycles, as a share of them."""
    return max((abs(other - cycles) for other in skewed), default=0) / max(cycles, 1)


def cycles_range(cycles: int, skewed: Sequence[int]) -> list[int] | None:
    """Return the fewest and the most cycles of the run and of the runs with skew; None where there were none with
    skew."""
    return [min(cycles, *skewed), max(cycles, *skewed)] if skewed else None


def cycles_text(cycles: int, span: Sequence[int] | None) -> str:
    """Return the cycles as text, or their range where that is beyond the limit."""
    return f"{span[0]:,} to {span[1]:,}" if span is not None and change(cycles, span) > LIMIT else f"{cycles:,}"
