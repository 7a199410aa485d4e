"""This module estimates how often each block of an analysed program runs."""

from __future__ import annotations

from collections.abc import Iterator

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis


def blocks_by_runs(program: ProgramAnalysis) -> Iterator[tuple[FunctionAnalysis, int, float]]:
    """Yield every reachable basic block: its function, its number, its estimated runs per run of the kernel."""
    for name, often in program.runs.items():
        f = program[name]
        for b in range(len(f.cfg.blocks)):
            if f.cfg.rpo_number[b] >= 0:
                yield f, b, often * float(f.loops.weight[b])
