"""How often each function of a call graph runs."""

from __future__ import annotations

from binalloc.analysis.program import ProgramAnalysis


def frequencies(program: ProgramAnalysis) -> dict[str, float]:
    """Estimated runs of each function per run of the kernel, callers first."""
    graph = program.graph
    out = dict.fromkeys(graph.top_down, 0.0)
    out[graph.kernel] = 1.0
    for name in graph.top_down:
        analysis = program[name]
        for site in graph.sites[name]:
            weight = analysis.loops.weight[analysis.cfg.block_of[site.index]]
            out[site.callee] += out[name] * weight
    return out
