"""This module sets execution weights of blocks from a profile, in place of the estimate from loops.

Needs the number of executions of each instruction of a call graph. Leaves in the `LoopNest` of each function the
executions of its blocks per call of the function, so that over calls they multiply to executions per run of the kernel.
A profile describes only the runs that were profiled. So a block without executions has a small weight, and a function
that was never called keeps the estimate, since its call sites weigh little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import FIRST_BLOCK
from binalloc.analysis.flow.loops import LoopNest

GRAIN = 2.0**-8
"""Weights are multiples of it, so that costs are exact multiples of the unit in which an exact solver counts."""
UNSEEN = GRAIN
"""Weight of a block that was never executed; it is less than the weight of any block that was."""
MOST = 1e9
"""The greatest weight: beyond it sums of costs would no longer be exact."""

Executions = Mapping[str, Sequence[int]]
"""For each function, how often warps executed each of its instructions."""


def weigh_by_executions(graph: CallGraph, nests: Mapping[str, LoopNest], executions: Executions) -> None:
    """Set `weight` of the loop nests of all functions, in place."""
    often: dict[str, list[int]] = {}
    for name, cfg in graph.cfgs.items():
        mine = executions[name]
        often[name] = [max(mine[block.start : block.end]) for block in cfg.blocks]
    calls = dict.fromkeys(often, 0)
    calls[graph.kernel] = often[graph.kernel][FIRST_BLOCK]
    for caller, cfg in graph.cfgs.items():
        for site in graph.sites[caller]:
            calls[site.callee] += often[caller][cfg.block_of[site.index]]
    for name, nest in nests.items():
        if calls[name]:
            nest.weight = [_weight(executed, calls[name]) for executed in often[name]]


def _weight(executed: int, calls: int) -> float:
    """Return the weight of a block that was executed `executed` times in `calls` calls."""
    if executed == 0:
        return UNSEEN
    return max(2 * GRAIN, min(round(executed / calls / GRAIN) * GRAIN, MOST))
