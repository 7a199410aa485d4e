"""This module finds the source lines that execute most instructions, by a run or, without one, by estimated executions.

Needs a binary with a line table. Without a run an instruction's executions come from a profile, or are estimated by
loops and calls. A memory access or an instruction of a slow unit counts as one instruction, like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from binalloc.isa.instruction import Function, Module
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import Version

MOST = 8
"""Upper limit on lines listed, so that they stay a short table. Chosen by hand."""


@dataclass(frozen=True)
class HotLine:
    """A hot line is a source line with its part of the executed instructions."""

    file: str
    line: int
    function: str
    percent: float  #: of all executed instructions
    measured: bool  #: whether the emulator counted them


def hot_lines(module: Module, request: Request, original: Version) -> list[HotLine]:
    """Return at most `MOST` lines, the hottest first; none if the binary has no line table.

    original: has the executions that its run counted, if it was run.
    """
    counted: dict[tuple[str, int, str], float] = {}
    total, measured = 0.0, bool(original.counts)
    places: dict[str, list[tuple[str, int] | None]] = {}
    for fn, index, runs in _of_run(original) if measured else _by_loops(module, request):
        total += runs
        if fn.name not in places:
            places[fn.name] = fn.source_lines()
        place = places[fn.name][index]
        if place is not None:
            key = (*place, fn.name)
            counted[key] = counted.get(key, 0.0) + runs
    executed = [(place, runs) for place, runs in counted.items() if runs]
    ranked = sorted(executed, key=lambda item: (-item[1], item[0]))
    return [HotLine(*place, 100 * runs / (total or 1.0), measured) for place, runs in ranked[:MOST]]


def _of_run(version: Version) -> Iterator[tuple[Function, int, float]]:
    """Yield each instruction of the version as (function, index, executions by warps in its run)."""
    for fn in version.functions:
        for index, runs in enumerate(version.counts[fn.name].tolist()):
            yield fn, index, float(runs)


def _by_loops(module: Module, request: Request) -> Iterator[tuple[Function, int, float]]:
    """Yield each instruction of the kernel and of the functions it calls as (function, index, estimated executions)."""
    from binalloc.transform.allocate.frequencies import blocks_by_runs

    for f, b, runs in blocks_by_runs(request.prepared_for(module).program):
        block = f.cfg.blocks[b]
        for index in range(block.start, block.end):
            yield f.fn, index, runs
