"""How often each function of a call graph runs."""

from __future__ import annotations

from binalloc.analysis.callgraph import CallSite
from binalloc.analysis.frequencies import runs
from binalloc.analysis.program import ProgramAnalysis


def frequencies(program: ProgramAnalysis) -> dict[str, float]:
    """Estimated runs of each function per run of the kernel, callers first."""

    def weight(site: CallSite) -> float:
        analysis = program[site.caller]
        return analysis.loops.weight[analysis.cfg.block_of[site.index]]

    return runs(program.graph, weight)
