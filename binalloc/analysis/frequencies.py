"""This module estimates how often each function of a call graph runs."""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.loops import LoopNest


def runs(graph: CallGraph, loops: Mapping[str, LoopNest]) -> dict[str, float]:
    """Return the estimated runs of each function per run of the kernel, callers first. loops: by function."""
    out = dict.fromkeys(graph.top_down, 0.0)
    out[graph.kernel] = 1.0
    for name in graph.top_down:
        for site in graph.sites[name]:
            out[site.callee] += out[name] * loops[name].weight[graph.cfgs[name].block_of[site.index]]
    return out
