"""How often each function of a call graph runs."""

from __future__ import annotations

from collections.abc import Callable

from binalloc.analysis.callgraph import CallGraph, CallSite


def runs(graph: CallGraph, weight: Callable[[CallSite], float]) -> dict[str, float]:
    """Estimated runs of each function per run of the kernel, callers first. weight: of a call, how often it is
    executed per run of its function."""
    out = dict.fromkeys(graph.top_down, 0.0)
    out[graph.kernel] = 1.0
    for name in graph.top_down:
        for site in graph.sites[name]:
            out[site.callee] += out[name] * weight(site)
    return out
