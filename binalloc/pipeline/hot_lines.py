"""The source lines of which most is executed: by the way of a few threads, nothing is run.

Needs a binary with a line table. Each instruction counts as often as threads of the launch come to it, or as loops and
calls suggest where no launch says; memory accesses and slow units count as what they are, one instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.isa.instruction import Module
from binalloc.pipeline.request import Request

MOST = 8


@dataclass(frozen=True)
class HotLine:
    """percent: of all instructions that are executed."""

    file: str
    line: int
    function: str
    percent: float


def hot_lines(module: Module, request: Request) -> list[HotLine]:
    """The hottest first, at most `MOST`; none where the binary has no line table."""
    from binalloc.transform.allocate.frequencies import blocks_by_runs

    counted: dict[tuple[str, int, str], float] = {}
    total = 0.0
    for f, b, runs in blocks_by_runs(request.prepared_for(module).program):
        block = f.cfg.blocks[b]
        for index in range(block.start, block.end):
            total += runs
            place = f.fn.source_line(index)
            if place is not None:
                key = (*place, f.fn.name)
                counted[key] = counted.get(key, 0.0) + runs
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return [HotLine(file, line, fn, 100 * runs / (total or 1.0)) for (file, line, fn), runs in ranked[:MOST]]
