"""This module makes the view `inspect --pressure`: how many registers are live where, and which values at the peak.

The pressure is shown for each instruction. Its largest values are shown by block, and, if the binary has a line table,
by source line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.analysis.views.max_live import MaxLive, build_max_live
from binalloc.analysis.views.peak import PeakValue, peak_values
from binalloc.analysis.web import WebPoint
from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_of
from binalloc.printable import count, one_line
from binalloc.report.table import table
from binalloc.report.views.dump import pressure_dict, pressure_text

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.inspect import PressureView
    from binalloc.report.shapes.parts.pressure import (
        FunctionPressure,
        PeakValueJson,
        PressureJson,
        PressureLine,
        PressurePlace,
    )

_WIDTH = 40
"""Characters of the longest bar of the curve, which leaves room for the instruction beside it; chosen by hand."""


def pressure_of(module: Module, kernel: str) -> PressureView:
    """Return the register pressure of a kernel and its callees, with the values at the peak over calls, also as text.

    Raise Refused on recursion and indirect calls.
    """
    program = analyse(module, kernel, lift=True)
    registers = build_max_live(program)
    found = _facts(program, registers)
    return {**found, "text": _text(program, found, registers)}


def pressure_facts(module: Module, kernel: str) -> PressureJson:
    """Return the register pressure as `pressure_of` does, but without the text. Raise the same error."""
    program = analyse(module, kernel, lift=True)
    return _facts(program, build_max_live(program))


def _facts(program: ProgramAnalysis, registers: MaxLive) -> PressureJson:
    predicates = build_max_live(program, "P")
    peak = [_peak_value(program, v) for v in peak_values(program, registers)]
    functions: list[FunctionPressure] = [
        {
            **pressure_dict(program, name, registers),
            "predicates": predicates.pressure[name],
            "lines": _lines(f, registers.pressure[name]),
        }
        for name, f in program.functions.items()
    ]
    return {
        "max_live": registers.kernel.units,
        "max_live_at": [_point(program, at) for at in registers.kernel.point],
        "max_live_predicates": predicates.kernel.units,
        "demand": program.module.function(program.graph.kernel).info.registers,
        "peak": peak,
        "functions": functions,
    }


def _point(program: ProgramAnalysis, at: tuple[str, int]) -> PressurePlace:
    place = program[at[0]].fn.source_line(at[1]) if at[1] >= 0 else None
    return {"function": at[0], "index": at[1], "file": place and place[0], "line": place and place[1]}


def _peak_value(program: ProgramAnalysis, value: PeakValue) -> PeakValueJson:
    f = program[value.function]
    web = f.webs[value.web]
    return {
        "function": value.function,
        "index": value.index,
        "across": value.across,
        "web": web.id,
        "place": web.name,
        "defs": _instructions(web.defs),
        "uses": _instructions(web.uses),
        "lines": [_source(f, i) for i in _instructions(web.defs)],
        "cost": web.cost,
        "remat": web.remat if web.remat >= 0 else None,
    }


def _instructions(points: Sequence[WebPoint]) -> list[int]:
    return sorted({p.instr for p in points})


def _source(f: FunctionAnalysis, index: int) -> str | None:
    """Return the source line of an instruction as file:line; None for the entry, and if the binary names none."""
    place = f.fn.source_line(index) if index >= 0 else None
    return None if place is None else f"{place[0]}:{place[1]}"


def _lines(f: FunctionAnalysis, pressure: Sequence[int]) -> list[PressureLine]:
    """Return the source lines of a function, by file and number, with the largest pressure at an instruction of each.

    pressure: registers live at each instruction.
    """
    best: dict[tuple[str, int], int] = {}
    for index, place in enumerate(f.fn.source_lines()):
        if place is not None and f.cfg.rpo_number[f.cfg.block_of[index]] >= 0:
            best[place] = max(best.get(place, 0), pressure[index])
    return [{"file": file, "line": line, "registers": most} for (file, line), most in sorted(best.items())]


# -- text


def _text(program: ProgramAnalysis, found: PressureJson, registers: MaxLive) -> str:
    kernel = program.graph.kernel
    at = " / ".join(_place_text(p) for p in found["max_live_at"])
    title = f"Max-live of {kernel}, callees included: {count(found['max_live'], 'register')} (at {at})"
    title += f", {count(found['max_live_predicates'], 'predicate')}"
    parts = [one_line(f"{title}; the binary reserves {count(found['demand'], 'register')}") + "\n"]
    parts.append("\nvalues at the peak:\n" + table(*_peak_rows(found["peak"]), left=3))
    for f, shown in zip(program.functions.values(), found["functions"], strict=True):
        parts.append("\n" + pressure_text(program, f.name, registers))
        parts += [f"  {one_line(row['file'])}:{row['line']}: {row['registers']}\n" for row in shown["lines"]]
        parts.append(_curve(program, f, shown))
    return "".join(parts)


def _place_text(point: PressurePlace) -> str:
    index = point["index"]
    text = f"{point['function']} {'entry' if index < 0 else f'word {index}'}"
    return text if point["file"] is None else f"{text}, {point['file']}:{point['line']}"


def _peak_rows(peak: Sequence[PeakValueJson]) -> tuple[list[str], list[list[object]]]:
    lines = any(line for v in peak for line in v["lines"])
    rows: list[list[object]] = []
    for v in peak:
        where = f"{v['function']}{', across the call' if v['across'] else ''}"
        row: list[object] = [f"{v['place']}.{v['web']}", where, _words(v["defs"])]
        row += [", ".join(sorted({line for line in v["lines"] if line})) or None] if lines else []
        later = [i for i in v["uses"] if i > v["index"]] or v["uses"]
        rows.append([*row, str(later[0]) if later else None, len(v["uses"]), v["cost"], _words([v["remat"]])])
    head = ["value", "in", "defined at", *(["lines"] if lines else [])]
    return [*head, "next use", "uses", "weight", "recomputed by"], rows


def _words(indexes: Sequence[int | None]) -> str | None:
    """Return numbers of instructions as text; None for none."""
    return ", ".join("entry" if i < 0 else str(i) for i in indexes if i is not None) or None


def _curve(program: ProgramAnalysis, f: FunctionAnalysis, shown: FunctionPressure) -> str:
    """Return a line per instruction: live registers and predicates, a bar, a mark at the peak, and the instruction."""
    most = max(shown["max_live"], 1)
    scale = min(1.0, _WIDTH / most)
    width = round(most * scale)
    out = []
    for index, (instr, r, p) in enumerate(zip(f.fn.instrs, shown["pressure"], shown["predicates"], strict=True)):
        bar = ("#" * round(r * scale)).ljust(width)
        text = set_of(program.module).text(instr, f.fn, index, program.module)
        mark = "<" if r == most else " "
        out.append(one_line(f"  {index:5d} {r:4d} R {p:2d} P  {bar} {mark} {text}") + "\n")
    return "".join(out)
