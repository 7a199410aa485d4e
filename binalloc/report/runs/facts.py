"""This module reports a run of one launch as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from binalloc.emulator.host.figures.skew import cycles_range
from binalloc.report.runs.annotate import annotation
from binalloc.report.runs.cpu import cpu_json
from binalloc.report.runs.emulator import emulator_json
from binalloc.report.runs.printed import left_json
from binalloc.report.runs.shares import objects_json
from binalloc.report.runs.stopped import stopped_json
from binalloc.report.runs.watched import watched_json

if TYPE_CHECKING:
    from binalloc.emulator.runs.run import Result
    from binalloc.pipeline.running.observed import WrittenTrace
    from binalloc.pipeline.running.reference import AgainstReference
    from binalloc.pipeline.running.run import KernelRun
    from binalloc.report.shapes.commands.runs import (
        RanVersion,
        ReferenceJson,
        ResultJson,
        RunFields,
        RunFiles,
        StoppedFields,
    )
    from binalloc.report.shapes.parts.seen import SeenJson, WrittenTraceJson


class Annotate(NamedTuple):
    """An annotation request says which single instructions are shown."""

    most: int | None = None  #: number of hottest instructions; None for all instructions
    source: str | None = None  #: folder of the source files


def run_json(run: KernelRun, written: RunFiles, annotate: Annotate | None = None) -> RunFields:
    """Return a run, also one that was stopped, as `run --json` prints it, without `schema_version`.

    written: the fields that name its files. annotate: single instructions to describe, which needs a profiled run; None
    for none.
    """
    return {
        **result_json(run.result),
        "cycles_range": cycles_range(run.result.cycles, run.skewed),
        **_seen(run, annotate),
        **reference_json(run.reference),
        **written,
    }


def _seen(run: KernelRun, annotate: Annotate | None) -> SeenJson:
    found: SeenJson = {}
    if run.trace is not None:
        found["trace"] = _trace(run.trace)
    if run.watched is not None:
        found["watch"] = watched_json(run.watched)
    if run.breaks:
        found["break"] = None if run.stopped_at is None else stopped_json(run.stopped_at)
    if annotate is not None:
        found["annotation"] = annotation(run.module, run.function, run.result, annotate.most, annotate.source)
    if run.step is not None:
        found["launch"] = run.step
    return found


def _trace(written: WrittenTrace) -> WrittenTraceJson:
    counts = written.counts
    return {
        "file": written.file,
        "events": counts.events,
        "instructions": counts.instructions,
        "left_out": counts.left_out,
        "full_at_cycle": counts.full_at_cycle,
        "bytes": counts.bytes,
    }


def result_json(result: Result) -> ResultJson:
    """Return the figures of an emulated run, also of one that was stopped."""
    return {
        "kernel": result.kernel,
        **emulator_json(result),
        "partial": result.partial,
        "cycles": result.cycles,
        "cycles_range": None,
        "blocks": result.blocks,
        "blocks_ended": result.blocks_ended,
        "blocks_per_sm": result.blocks_per_sm,
        "occupancy": result.resident_occupancy,
        "achieved_occupancy": result.occupancy,
        "stats": plain_values(result.stats),
        **cpu_json(result),
        "dram_by_object": objects_json(result),
        **left_json(result),
    }


def partial_json(error: BaseException) -> StoppedFields | None:
    """Return the figures, up to the stop, of the emulated run that an error stopped; None if it stopped none."""
    from binalloc.emulator.runs.run import Result

    partial = getattr(error, "partial", None)
    if not isinstance(partial, Result):
        return None
    name: str = getattr(error, "version", "")
    version: RanVersion = {"version": name} if name else {}
    return {**result_json(partial), **version}


def reference_json(found: AgainstReference | None) -> ReferenceJson:
    """Return the fields on the comparison with a launch file's reference; none if nothing was compared."""
    if found is None:
        return {}
    return {"reference": "same" if found.same else "differs", "differences": [str(d) for d in found.differences]}


def plain_values(value: Any) -> Any:
    """Return statistics as JSON values. NumPy's numbers and arrays become Python's numbers and lists."""
    if isinstance(value, dict):
        return {str(k): plain_values(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(v) for v in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
