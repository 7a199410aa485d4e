"""This module has what is measured of a run, by name, and how two runs are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log
from statistics import geometric_mean, mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from binalloc.report.shapes.parts.batching import SchemeRunJson

PERCENT = 100.0


@dataclass(frozen=True)
class Measure:
    """A measure is a number of a run."""

    title: str
    value: Callable[[SchemeRunJson], float | None]


MEASURES = {
    "speed": Measure("speed", lambda run: 1 / run["cycles"]),
    "local_ratio": Measure("% local accesses", lambda run: _percent(run["local_ratio"])),
    "l1_hits": Measure("hits of L1", lambda run: run["l1_hits"]),
    "row_hits": Measure("row hits", lambda run: run["row_hits"]),
    "bank_parallelism": Measure("busy banks of a channel", lambda run: run["bank_parallelism"]),
    "banks_busy": Measure("busy banks in all", lambda run: run["banks_busy"]),
    "dram_delay": Measure("delay of DRAM", lambda run: run["dram_delay"]),
    "reply_stalls": Measure("waits for replies", lambda run: float(run["reply_stalls"])),
    "energy": Measure("energy of DRAM", lambda run: run["energy"]["total_nj"]),
    "activation_share": Measure(
        "% activations of the energy",
        lambda run: PERCENT * run["energy"]["activation_nj"] / run["energy"]["total_nj"] if run["energy"]["total_nj"]
        else None,
    ),
    "activations": Measure("activations", lambda run: float(run["activations"])),
    "dram_bytes": Measure("bytes of DRAM", lambda run: float(run["dram_bytes"])),
    "l1_misses": Measure("misses of L1", lambda run: float(run["l1_misses"])),
    "l2_misses": Measure("misses of L2", lambda run: float(run["l2_misses"])),
    "batches": Measure("resident batches", lambda run: run["batches_resident"]),
}  # fmt: skip
COUNTERS = (
    "dram_bytes", "activations", "row_hits", "banks_busy", "dram_delay", "reply_stalls", "l1_misses", "l2_misses",
    "batches",
)  # fmt: skip
"""Measures that explain others."""
_SHOWN = 0.02  # a counter explains nothing that differs by less
_MOST = 4  # counters that are shown, the most different ones: a line of a terminal
_IDLE = 0.05  # share of all SM cycles at the end that is worth a word


def _percent(share: float | None) -> float | None:
    return None if share is None else PERCENT * share


def change(measure: str, left: SchemeRunJson, right: SchemeRunJson) -> float | None:
    """Return by how many per cent a measure is larger in the left run; None where it is no number, or 0, in either."""
    one, other = (MEASURES[measure].value(run) for run in (left, right))
    return PERCENT * (one / other - 1) if one and other else None


def mean_change(changes: Sequence[float]) -> float:
    """Return the geometric mean of changes in per cent."""
    return PERCENT * (geometric_mean(1 + one / PERCENT for one in changes) - 1)


def compared(pairs: Sequence[tuple[SchemeRunJson, SchemeRunJson]]) -> str:
    """Return how the counters of left runs differ from those of right ones, the most different first, on average."""
    found = []
    for name in COUNTERS:
        changes = [one for pair in pairs if (one := change(name, *pair)) is not None]
        if changes:
            found.append((1 + mean_change(changes) / PERCENT, MEASURES[name].title))
    shown = sorted((one for one in found if abs(one[0] - 1) >= _SHOWN), key=lambda one: -abs(log(one[0])))
    counters = (f"{title} {ratio:.2f} times" for ratio, title in shown[:_MOST])
    return ", ".join([*counters, *_prefetched(pairs), *_idle(pairs)])


def _prefetched(pairs: Sequence[tuple[SchemeRunJson, SchemeRunJson]]) -> Iterator[str]:
    """Yield the share of prefetched lines that were used, where the left runs prefetch and the right ones do not."""
    lines, used = (sum(left[name] for left, _ in pairs) for name in ("prefetches", "prefetches_used"))
    if lines and not any(right["prefetches"] for _, right in pairs):
        yield f"{used / lines:.0%} of {lines:,} prefetches used"


def _idle(pairs: Sequence[tuple[SchemeRunJson, SchemeRunJson]]) -> Iterator[str]:
    """Yield the share of time in which SMs had nothing left to do, where it is much, or much more."""
    if not pairs:
        return
    left, right = (mean(pair[k]["idle_share"] for pair in pairs) for k in (0, 1))
    if abs(left - right) >= _IDLE:
        yield f"SMs idle at the end {left:.0%} of the time, not {right:.0%}"
