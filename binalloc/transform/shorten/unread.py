"""This module finds instructions of a kernel whose results nobody reads, such as counters of loops that are written
out.

Needs a `FunctionAnalysis`; leaves it untouched.
"""

from __future__ import annotations

from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.web import WebNumber


def unread(function: FunctionAnalysis) -> frozenset[int]:
    """Return the words that may go: pure ones, and what only they read. (Dead code by def-use chains.)"""
    cfg, webs = function.cfg, function.webs
    reads: dict[int, list[WebNumber]] = {}
    work: list[int] = []
    for web in webs:
        for point in web.uses:
            reads.setdefault(point.instr, []).append(web.id)
            if point.ref not in range(len(cfg.views[point.instr].uses)) and not cfg.views[point.instr].pure:
                work.append(point.instr)
        if web.result or web.pinned:
            work += [point.instr for point in web.defs if point.instr >= 0]
    work += [word for word, seen in enumerate(cfg.views) if cfg.reachable(word) and not seen.pure]
    needed: set[int] = set()
    while work:
        word = work.pop()
        if word in needed:
            continue
        needed.add(word)
        for web_id in reads.get(word, ()):
            work += [point.instr for point in webs[web_id].defs if point.instr >= 0]
    return frozenset(word for word in range(len(cfg.views)) if cfg.reachable(word) and word not in needed)
