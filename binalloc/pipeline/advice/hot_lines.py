"""The source lines of which most is executed: by a run where there was one, else by the way of a few threads.

Needs a binary with a line table. Without a run each instruction counts as often as threads of the launch come to it, or
as loops and calls suggest where no launch says; memory accesses and slow units count as what they are, one instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from binalloc.isa.instruction import Function, Module
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import Version

MOST = 8


@dataclass(frozen=True)
class HotLine:
    """percent: of all instructions that are executed. measured: whether the emulator counted them."""

    file: str
    line: int
    function: str
    percent: float
    measured: bool


def hot_lines(module: Module, request: Request, original: Version) -> list[HotLine]:
    """The hottest first, at most `MOST`; none where the binary has no line table. original: with what its run counted,
    if it was run."""
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
    """Each instruction of the version, and how many warps executed it."""
    for fn in version.functions:
        for index, runs in enumerate(version.counts[fn.name].tolist()):
            yield fn, index, float(runs)


def _by_loops(module: Module, request: Request) -> Iterator[tuple[Function, int, float]]:
    """Each instruction of the kernel and what it calls, and how often it is expected to be executed."""
    from binalloc.transform.allocate.frequencies import blocks_by_runs

    for f, b, runs in blocks_by_runs(request.prepared_for(module).program):
        block = f.cfg.blocks[b]
        for index in range(block.start, block.end):
            yield f.fn, index, runs
