"""This module gives CFG, call graph and interference graph as graphs of networkx.

Needs finished analyses; leaves them untouched. Instructions are word indices, blocks are numbers.
"""

from __future__ import annotations

from typing import Any

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.interference import InterferenceGraph
from binalloc.analysis.web import Webs


def cfg_networkx(cfg: Cfg) -> Any:
    """Return a networkx.DiGraph of block numbers with node attributes start, end."""
    import networkx as nx

    graph = nx.DiGraph(name=cfg.name)
    for k, b in enumerate(cfg.blocks):
        graph.add_node(k, start=b.start, end=b.end)
    graph.add_edges_from((k, s) for k, ss in enumerate(cfg.succs) for s in ss)
    return graph


def callgraph_networkx(graph: CallGraph) -> Any:
    """Return a networkx.MultiDiGraph of function names, one edge per call site with attribute index."""
    import networkx as nx

    out = nx.MultiDiGraph(name=graph.kernel)
    out.add_nodes_from(graph.functions)
    for f in graph.functions:
        for s in graph.sites[f]:
            out.add_edge(f, s.callee, index=s.index)
    return out


def interference_networkx(webs: Webs, graph: InterferenceGraph) -> Any:
    """Return a networkx.Graph of web ids with node attributes place, cost, group."""
    import networkx as nx

    out = nx.Graph(name=webs.cfg.name)
    for w in webs:
        out.add_node(w.id, place=w.name, cost=w.cost, group=w.group)
    out.add_edges_from((w.id, n) for w in webs for n in graph.neighbours(w.id) if w.id < n)
    return out
