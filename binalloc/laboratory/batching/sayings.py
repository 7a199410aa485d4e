"""The batching paper's sentences are judged here by our runs, one by one, with the counters that explain the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import TYPE_CHECKING

from binalloc.laboratory.batching.measures import MEASURES, change, compared, mean_change
from binalloc.laboratory.batching.published import ABOVE, ALL, C1, C2, C3, NONE, SAYINGS, Saying
from binalloc.laboratory.batching.schemes import BASE, SCHEME

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.batching import (
        BatchedKernelJson,
        BatchedMeanJson,
        BatchedSayingJson,
        FailedKernelJson,
        SchemeRunJson,
    )

_CLASSES = (ALL, C1, C2, C3, NONE)
_IN_MEANS = (
    "speed", "local_ratio", "l1_hits", "row_hits", "bank_parallelism", "banks_busy", "dram_delay", "reply_stalls",
    "energy", "activations", "dram_bytes",
)  # fmt: skip
_HALVES = {"dispatch_only": "dispatch alone", "colours_only": "colours alone"}


def sayings_json(kernels: Sequence[BatchedKernelJson]) -> Iterator[BatchedSayingJson]:
    """Yield the sentences, judged for the kernels of each row size by themselves."""
    for size in _row_sizes(kernels):
        for saying in SAYINGS:
            yield _judged(saying, size, [kernel for kernel in _of(kernels, saying.of) if kernel["row_bytes"] == size])


def means_json(kernels: Sequence[BatchedKernelJson]) -> Iterator[BatchedMeanJson]:
    """Yield the means of each scheme over `ccws`, by row size and class, where there are any."""
    for size in _row_sizes(kernels):
        for of in _CLASSES:
            some = [kernel for kernel in _of(kernels, of) if kernel["row_bytes"] == size]
            for scheme in SCHEME:
                pairs = [pair for kernel in some if (pair := _pair(kernel, scheme, BASE)) is not None]
                if pairs and scheme != BASE:
                    yield {
                        "row_bytes": size, "of": of, "scheme": scheme, "kernels": len(pairs),
                        "changes": {name: found for name in _IN_MEANS if (found := _mean(name, pairs)) is not None},
                    }  # fmt: skip


def _row_sizes(kernels: Sequence[BatchedKernelJson]) -> list[int]:
    return list(dict.fromkeys(kernel["row_bytes"] for kernel in kernels))


def _of(kernels: Sequence[BatchedKernelJson], of: str) -> list[BatchedKernelJson]:
    """Return the kernels of a class, of a name, or all."""
    return [kernel for kernel in kernels if of in (ALL, kernel["class"], kernel["kernel"])]


def _pair(kernel: BatchedKernelJson, left: str, right: str) -> tuple[SchemeRunJson, SchemeRunJson] | None:
    one, other = kernel["schemes"].get(left), kernel["schemes"].get(right)
    return None if one is None or other is None else (one, other)


def _mean(measure: str, pairs: Sequence[tuple[SchemeRunJson, SchemeRunJson]]) -> float | None:
    """Return the mean change of a measure in per cent; of the local ratio, which only one side has, the mean."""
    if measure == "local_ratio":
        ratios = [one for left, _ in pairs if (one := MEASURES[measure].value(left)) is not None]
        return round(mean(ratios), 2) if ratios else None
    changes = [one for pair in pairs if (one := change(measure, *pair)) is not None]
    return round(mean_change(changes), 2) if changes else None


def _judged(saying: Saying, size: int, kernels: Sequence[BatchedKernelJson]) -> BatchedSayingJson:
    against = saying.over or BASE
    found: list[tuple[BatchedKernelJson, float]] = []
    for kernel in kernels:
        pair = _pair(kernel, saying.scheme, against)
        one = None if pair is None else _value(saying, *pair)
        if one is not None:
            found.append((kernel, one))
    values = [one for _, one in found]
    ours = (mean_change(values) if saying.over else mean(values)) if values else None
    pairs = [pair for kernel, _ in found if (pair := _pair(kernel, saying.scheme, against)) is not None]
    fails: list[FailedKernelJson] = [
        {"kernel": kernel["kernel"], "ours": round(one, 2), "why": _why(saying, kernel, against)}
        for kernel, one in found if not _is_so(saying, one)
    ]  # fmt: skip
    return {
        "row_bytes": size, "figure": saying.figure, "says": saying.text, "of": saying.of, "scheme": saying.scheme,
        "measure": MEASURES[saying.measure].title, "relation": saying.relation,
        "over": saying.over or f"{saying.than:g}", "paper": saying.paper, "note": saying.note,
        "kernels": len(found), "ours": None if ours is None else round(ours, 2),
        "holds": None if ours is None else _is_so(saying, ours),
        "why": compared(pairs) if saying.scheme != against else "",
        "holds_for": [kernel["kernel"] for kernel, one in found if _is_so(saying, one)], "fails_for": fails,
    }  # fmt: skip


def _value(saying: Saying, left: SchemeRunJson, right: SchemeRunJson) -> float | None:
    """Return the change over the other scheme in per cent, or the measure itself."""
    if saying.over:
        return change(saying.measure, left, right)
    return MEASURES[saying.measure].value(left)


def _is_so(saying: Saying, value: float) -> bool:
    limit = 0.0 if saying.over else saying.than
    return value > limit if saying.relation == ABOVE else value < limit


def _why(saying: Saying, kernel: BatchedKernelJson, against: str) -> str:
    """Return the counters that explain a kernel, behind the cycles of the two halves of TEMP where these are its
    parts."""
    pair = _pair(kernel, saying.scheme, against)
    if pair is None or saying.scheme == against:
        return ""
    parts = []
    if SCHEME[saying.scheme].batches and saying.measure == "speed" and against == BASE:
        for name, what in _HALVES.items():
            half = _pair(kernel, name, BASE)
            if half is not None:
                parts.append(f"{what} {half[0]['cycles'] / half[1]['cycles']:.2f} times the cycles")
    return ", ".join(part for part in (*parts, compared([pair])) if part)
