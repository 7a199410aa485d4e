"""This module shows results of the analyses to programs, as dictionaries for JSON (`*_dict`), and to people, as text
made from these (`*_text`).

Precondition: the analyses are finished. They are not changed. Instructions and blocks are given by number, places by
name as in `locations.name_of`. Everything is in ascending order, so that equal programs give equal text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.flow.dominators import dominators, post_dominators
from binalloc.analysis.flow.loops import LoopNest
from binalloc.analysis.interference import InterferenceGraph
from binalloc.analysis.locations import names
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.views.max_live import MaxLive, Peak, build_max_live
from binalloc.analysis.web import CALL, ENTRY, GUARD, MEMORY, RETURN, Web, WebPoint, Webs

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.inspect import (
        BasicBlockJson,
        BlocksJson,
        CallGraphJson,
        FunctionSummary,
        LoopJson,
        WebJson,
        WebTable,
    )
    from binalloc.report.shapes.parts.pressure import PlaceInFunction, PressureOfFile

_POINT_NAMES = {GUARD: "guard", CALL: "call", ENTRY: "entry", RETURN: "return", MEMORY: "memory"}
"""Names of points that are no operands. `_short` shows the first letter."""


# -- control flow ---------------------------------------------------------------------------------------------------


def cfg_dict(cfg: Cfg, nest: LoopNest) -> BlocksJson:
    """Return the basic blocks of a function, and the branches with their reconvergence blocks.

    A block has its edges, its immediate dominators, its loop depth and its weight. An immediate dominator is None at a
    root and in unreachable code, and "exit" for the virtual exit.
    """
    dom, post = dominators(cfg), post_dominators(cfg)
    count = len(cfg.blocks)
    blocks: list[BasicBlockJson] = []
    for k, b in enumerate(cfg.blocks):
        ipdom: int | str | None = post.idom[k] if post.idom[k] >= 0 else None
        blocks.append(
            {
                "block": k,
                "start": b.start,
                "end": b.end,
                "succs": list(cfg.succs[k]),
                "preds": list(cfg.preds[k]),
                "reachable": cfg.rpo_number[k] >= 0,
                "idom": dom.idom[k] if dom.idom[k] >= 0 else None,
                "ipdom": "exit" if ipdom == count else ipdom,
                "depth": nest.depth[k],
                "weight": nest.weight[k],
            }
        )
    return {
        "function": cfg.name,
        "instructions": len(cfg.views),
        "blocks": blocks,
        "rpo": list(cfg.rpo),
        "unreachable": list(cfg.unreachable),
        "exits": cfg.exits,
        "calls": cfg.calls,
        "reconvergence": [{"branch": i, "block": b} for i, b in sorted(cfg.points.items())],
    }


def cfg_text(cfg: Cfg, nest: LoopNest) -> str:
    """Return one line per block."""
    d = cfg_dict(cfg, nest)
    lines = [f"cfg {d['function']}: {d['instructions']} instructions, {len(d['blocks'])} blocks"]
    for b in d["blocks"]:
        line = f"  B{b['block']} [{b['start']}..{b['end'] - 1}] -> {_list(b['succs'], 'B')}"
        line += f"  depth {b['depth']}" if b["depth"] else ""
        line += f"  idom {_block(b['idom'])}  ipdom {_block(b['ipdom'])}" if b["reachable"] else "  unreachable"
        lines.append(line)
    lines.extend(f"  branch {r['branch']} reconverges at B{r['block']}" for r in d["reconvergence"])
    return "\n".join(lines) + "\n"


def loops_dict(nest: LoopNest) -> list[LoopJson]:
    """Return the loops, outer before inner."""
    return [
        {
            "loop": k,
            "entries": list(loop.entries),
            "blocks": list(loop.blocks),
            "depth": loop.depth,
            "parent": loop.parent if loop.parent >= 0 else None,
            "irreducible": loop.irreducible,
        }
        for k, loop in enumerate(nest.loops)
    ]


def loops_text(nest: LoopNest) -> str:
    """Return one line per loop, indented by depth."""
    lines = [f"loops: {len(nest.loops)}"]
    for d in loops_dict(nest):
        kind = "irreducible region, entries" if d["irreducible"] else "loop, header"
        lines.append(f"{'  ' * d['depth']}{kind} {_list(d['entries'], 'B')}: {_list(d['blocks'], 'B')}")
    return "\n".join(lines) + "\n"


def callgraph_dict(graph: CallGraph) -> CallGraphJson:
    """Return the functions of a call graph with their call sites, its recursion and its indirect calls."""
    return {
        "kernel": graph.kernel,
        "functions": [
            {"function": f, "sites": [{"index": s.index, "callee": s.callee} for s in graph.sites[f]]}
            for f in graph.functions
        ],
        "bottom_up": graph.bottom_up,
        "cycles": graph.cycles,
        "indirect": [{"function": f, "index": i} for f, i in graph.indirect],
    }


def callgraph_text(graph: CallGraph) -> str:
    """Return one line per function with its call sites, and a line for each recursion and each indirect call."""
    lines = [f"call graph of {graph.kernel}: {len(graph.functions)} functions"]
    for f in graph.functions:
        sites = ", ".join(f"{s.callee} at {s.index}" for s in graph.sites[f]) or "no function"
        lines.append(f"  {f} calls {sites}")
    lines.extend(f"  recursion: {' -> '.join([*c, c[0]])}" for c in graph.cycles)
    lines.extend(f"  indirect call: {f} word {i}" for f, i in graph.indirect)
    return "\n".join(lines) + "\n"


# -- values ---------------------------------------------------------------------------------------------------------


def summary_dict(f: FunctionAnalysis) -> FunctionSummary:
    """Return the summary that callers see of a function, and its reads without a definition."""
    s = f.summary
    return {
        "function": f.name,
        "args": names(s.args),
        "results": names(s.results),
        "reads": names(s.reads),
        "may_def": names(s.may_def),
        "must_def": names(s.must_def),
        "returns": s.returns,
        "uninitialised": [{"index": i, "place": names(1 << loc)[0]} for i, loc in f.live.undefined],
    }


def summary_text(f: FunctionAnalysis) -> str:
    """Return arguments, results and possible definitions on one line each, and a line for each uninitialised read."""
    d = summary_dict(f)
    lines = [f"summary of {f.name}" + ("" if d["returns"] else " (never returns)")]
    places = {"args": d["args"], "results": d["results"], "may_def": d["may_def"], "must_def": d["must_def"]}
    lines.extend(f"  {key}: {' '.join(names) or '-'}" for key, names in places.items())
    lines.extend(f"  word {u['index']} may read {u['place']} uninitialised" for u in d["uninitialised"])
    return "\n".join(lines) + "\n"


def web_dict(w: Web) -> WebJson:
    """Return one live range.

    A point is [instruction, place, unit]. Its place is the position of an operand, or a name of _POINT_NAMES.
    """
    flags = ("arg", "result", "undefined", "pinned")
    return {
        "web": w.id,
        "place": w.name,
        "defs": [_point(p) for p in w.defs],
        "uses": [_point(p) for p in w.uses],
        "first": w.first,
        "last": w.last,
        "cost": w.cost,
        "group": w.group if w.group >= 0 else None,
        "offset": w.offset if w.group >= 0 else None,
        "remat": w.remat if w.remat >= 0 else None,
        "flags": [f for f in flags if getattr(w, f)],
    }


def webs_dict(webs: Webs) -> WebTable:
    """Return the table of live ranges and the aligned groups."""
    return {
        "function": webs.cfg.name,
        "webs": [web_dict(w) for w in webs],
        "groups": [
            {"group": g.id, "alignment": g.alignment, "members": [list(m) for m in g.members]} for g in webs.groups
        ],
    }


def webs_text(webs: Webs) -> str:
    """Return the table of live ranges: web, register, span, definitions, uses, cost, group and flags."""
    rows = [("web", "place", "span", "cost", "group", "defs", "uses", "notes")]
    for w in webs:
        d = web_dict(w)
        notes = list(d["flags"]) + ([f"remat@{d['remat']}"] if d["remat"] is not None else [])
        rows.append(
            (
                str(w.id),
                w.name,
                f"{_place(w.first)}..{w.last}",
                str(w.cost),
                f"g{w.group}+{w.offset}" if w.group >= 0 else "-",
                ",".join(_short(p) for p in w.defs) or "-",
                ",".join(_short(p) for p in w.uses) or "-",
                " ".join(notes),
            )
        )
    widths = [max(len(r[c]) for r in rows) for c in range(len(rows[0]))]
    lines = [f"live ranges of {webs.cfg.name}: {len(webs)}"]
    lines.extend("  " + "  ".join(t.ljust(n) for t, n in zip(r, widths, strict=True)).rstrip() for r in rows)
    lines.extend(
        f"  group {g.id}: aligned {g.alignment}"
        + (f", {g.units} registers" if g.units != g.alignment else "")
        + ": "
        + " ".join(f"{w}+{offset}" for w, offset in g.members)
        for g in webs.groups
    )
    return "\n".join(lines) + "\n"


def interference_text(webs: Webs, graph: InterferenceGraph) -> str:
    """Return the webs with their neighbours, by falling degree."""
    order = sorted((w.id for w in webs), key=lambda w: (-graph.degree(w), w))
    lines = [f"interference of {webs.cfg.name}: {graph.count} webs, {graph.edges} edges"]
    for w in order:
        near = " ".join(map(str, graph.neighbours(w))) or "-"
        lines.append(f"  {w} ({webs[w].name}) degree {graph.degree(w)}: {near}")
    return "\n".join(lines) + "\n"


# -- pressure -------------------------------------------------------------------------------------------------------


def pressure_dict(program: ProgramAnalysis, name: str, result: MaxLive) -> PressureOfFile:
    """Return the register pressure of one function: at each instruction, at most in each block, as a histogram, and the
    peak."""
    cfg = program[name].cfg
    values = result.pressure[name]
    counts: dict[int, int] = {}
    for b in cfg.rpo:
        for v in values[cfg.blocks[b].start : cfg.blocks[b].end]:
            counts[v] = counts.get(v, 0) + 1
    return {
        "function": name,
        "file": result.file,
        "pressure": values,
        "blocks": [max(values[b.start : b.end]) for b in cfg.blocks],
        "histogram": [[v, n] for v, n in sorted(counts.items())],
        "max_live": result.local[name].units,
        "max_live_with_callees": result.total[name].units,
        "at": _composition(result.total[name]),
    }


def pressure_text(program: ProgramAnalysis, name: str, result: MaxLive) -> str:
    """Return Max-live with the call chain that attains it, the largest pressure per block, and a histogram."""
    d = pressure_dict(program, name, result)
    at = " / ".join(f"{p['function']}:{_place(p['index'])}" for p in d["at"])
    title = f"pressure of {name} ({d['file']}): max-live {d['max_live']}"
    lines = [f"{title}, with callees {d['max_live_with_callees']} at {at}"]
    lines.extend(f"  B{k}: {v}" for k, v in enumerate(d["blocks"]))
    total = sum(n for _, n in d["histogram"])
    lines.extend(f"  {v:>4} live: {n:>5}  {'#' * -(-40 * n // total)}" for v, n in d["histogram"])
    return "\n".join(lines) + "\n"


def program_dict(program: ProgramAnalysis) -> dict[str, Any]:
    """Return the dictionaries of this module for a kernel and its callees."""
    result = build_max_live(program, "R")
    words = build_max_live(program, "L")
    return {
        "callgraph": callgraph_dict(program.graph),
        "max_live": {"units": result.kernel.units, "at": _composition(result.kernel)},
        "max_live_local_words": {"units": words.kernel.units, "at": _composition(words.kernel)},
        "not_lifted": program.lifting.reasons,
        "functions": [
            {
                "cfg": cfg_dict(f.cfg, f.loops),
                "loops": loops_dict(f.loops),
                "summary": summary_dict(f),
                "life_ranges": webs_dict(f.webs),
                "pressure": pressure_dict(program, f.name, result),
                "interference": {"edges": f.interference().edges, "degrees": f.interference().degrees()},
            }
            for f in program.functions.values()
        ],
    }


def program_text(program: ProgramAnalysis) -> str:
    """Return the texts of this module for a kernel and its callees, function by function."""
    result = build_max_live(program, "R")
    parts = [callgraph_text(program.graph)]
    for f in program.functions.values():
        parts += [cfg_text(f.cfg, f.loops), loops_text(f.loops), summary_text(f), webs_text(f.webs)]
        parts += [pressure_text(program, f.name, result), interference_text(f.webs, f.interference())]
    return "\n".join(parts)


# -- small pieces ---------------------------------------------------------------------------------------------------


def _point(p: WebPoint) -> list[int | str]:
    """Return a point as JSON."""
    return [p.instr, _POINT_NAMES.get(p.ref, p.ref), p.unit if p.ref >= 0 or p.ref == MEMORY else 0]


def _short(p: WebPoint) -> str:
    """Return a point as text: 12 for an operand of instruction 12, 12c for a call, 12g for a guard, 12m for a word of
    local memory, 12r for a return, and "entry"."""
    if p.ref == ENTRY:
        return "entry"
    return f"{p.instr}{_POINT_NAMES[p.ref][0] if p.ref < 0 else ''}"


def _place(index: int) -> str:
    return "entry" if index < 0 else str(index)


def _composition(peak: Peak) -> list[PlaceInFunction]:
    return [{"function": f, "index": i} for f, i in peak.point]


def _list(items: Sequence[int], prefix: str) -> str:
    """Return numbers with a prefix, such as "B1 B2"; "-" for none."""
    return " ".join(f"{prefix}{x}" for x in items) or "-"


def _block(b: int | str | None) -> str:
    return "-" if b is None else str(b) if isinstance(b, str) else f"B{b}"
