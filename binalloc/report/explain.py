"""This module reports `binalloc rewrite --explain`: why each spilled value is spilled, where it is then, and the cost.

Costs are in accesses to a slot, weighted by loops and calls, as the allocator computes them. Without slots an access to
local memory counts as several. Instructions are numbered as in the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_of
from binalloc.printable import count, one_line

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.rewrite import InsteadJson, SpilledValue, SpillReason
    from binalloc.transform.allocate.explain import Candidate, Spilled, Why

Source = Callable[[str, int], tuple[str, int] | None]
"""A function from (function, instruction) to file and line; None where the binary names none."""


def explanation(module: Module, explained: Sequence[Spilled]) -> list[SpilledValue]:
    """Return the explanation as `rewrite --explain --json` prints it, an entry per value. module: the input."""

    def source(function: str, index: int) -> tuple[str, int] | None:
        return module.function(function).source_line(index) if index >= 0 else None

    return [_value(spilled, source) for spilled in explained]


def _value(spilled: Spilled, source: Source) -> SpilledValue:
    return {
        "function": spilled.function,
        "value": spilled.name,
        "defined": spilled.defined,
        "accesses": spilled.accesses,
        "away": [{"after": stay.after, "until": stay.until} for stay in spilled.stays],
        "whole": spilled.whole,
        "slot": spilled.slot,
        "slots_around_calls": spilled.around,
        "local_word": spilled.local,
        "passed_in_memory": spilled.passed,
        "not_in_slot": spilled.no_slot or None,
        "recomputed_by": [set_of(instr).text(instr) for instr in spilled.again],
        "not_recomputed": spilled.kept or None,
        "loads": spilled.loads[0],
        "loads_weighted": spilled.loads[1],
        "stores": spilled.stores[0],
        "stores_weighted": spilled.stores[1],
        "recomputations": spilled.recomputations[0],
        "recomputations_weighted": spilled.recomputations[1],
        "why": [_why(why, source(spilled.function, why.at)) for why in spilled.whys],
    }


def _why(why: Why, place: tuple[str, int] | None) -> SpillReason:
    return {
        "at": why.at,
        "callee": why.callee or None,
        "file": place and place[0],
        "line": place and place[1],
        "pressure": why.pressure,
        "capacity": why.capacity,
        "excess": why.excess,
        "cost": why.chosen.cost,
        "relieves": why.chosen.relieves,
        "instead": [_candidate(other) for other in why.instead],
    }


def _candidate(other: Candidate) -> InsteadJson:
    return {"value": other.name, "cost": other.cost, "relieves": other.relieves}


# -- text

_COUNTS: tuple[
    tuple[
        Literal["loads", "stores", "recomputations"],
        Literal["loads_weighted", "stores_weighted", "recomputations_weighted"],
    ],
    ...,
] = (
    ("loads", "loads_weighted"),
    ("stores", "stores_weighted"),
    ("recomputations", "recomputations_weighted"),
)
"""Instructions of spill code by what they do: the field of their number, and that of their weight."""


def render_explanation(values: Sequence[SpilledValue], copies: int) -> str:
    """Return a few lines for each value, and the sums. copies: number of copies between registers that were added."""
    moved = f"New copies between registers: {copies:,}.\n" if copies else ""
    if not values:
        return f"\nNo value had to be spilled.\n{moved}"
    parts = []
    for name in dict.fromkeys(v["function"] for v in values):
        mine = [v for v in values if v["function"] == name]
        parts.append(f"\n{one_line(name)}: {count(len(mine), 'value')} spilled\n")
        for v in mine:
            parts += [one_line(f"  {line}") + "\n" for line in _lines(v)]
    sums = [f"{_costs(sum(v[key] for v in values), sum(v[weight] for v in values))} {key}" for key, weight in _COUNTS]
    parts.append(f"\nIn all: {', '.join(sums)} (in brackets by loops and calls).\n{moved}")
    parts.append("Costs are in accesses to a slot by loops and calls; instructions are numbered as in the input.\n")
    return "".join(parts)


def _costs(number: int, weight: float) -> str:
    return f"{number:,} ({weight:,g})"


def _lines(v: SpilledValue) -> list[str]:
    what = [f"{_costs(v[key], v[weight])} {key}" for key, weight in _COUNTS if v[key]]
    lines = [f"{v['value']}, defined at {_words(v['defined'])}: {_place(v)}; {', '.join(what) or 'no spill code'}"]
    lines.append(f"  spilled {_stretches(v)}; accesses weigh {v['accesses']:,g}")
    for why in v["why"]:
        lines += ["  " + line for line in _why_lines(why)]
    if v["not_recomputed"]:
        lines.append(f"  not recomputed: {v['not_recomputed']}")
    if v["not_in_slot"]:
        lines.append(f"  not in a slot: {v['not_in_slot']}")
    return lines


def _place(v: SpilledValue) -> str:
    places = []
    if v["slot"] is not None:
        around = ", ".join(map(str, v["slots_around_calls"]))
        places.append(f"slot {v['slot']}" + (f" (around calls {around})" if around else ""))
    if v["local_word"] is not None:
        places.append(f"local word {v['local_word']}")
    if v["passed_in_memory"] and places:
        places[-1] += ", where its callers store it"
    if v["recomputed_by"]:
        places.append("recomputed by " + "; ".join(v["recomputed_by"]))
    return ", ".join(places) or "nowhere, it is not needed again"


def _words(indexes: Sequence[int]) -> str:
    return ", ".join("entry" if i < 0 else str(i) for i in indexes) or "-"


def _stretches(v: SpilledValue) -> str:
    """Return in words where the value is in no register."""
    if v["whole"]:
        return "everywhere between its accesses"
    if v["passed_in_memory"] and not v["away"]:
        return "until it is loaded after the entry"
    stays = sorted(v["away"], key=lambda stay: (stay["after"], stay["until"]))
    return ", ".join(f"from {'entry' if stay['after'] < 0 else stay['after']} to {stay['until']}" for stay in stays)


def _why_lines(why: SpillReason) -> list[str]:
    place = f" ({why['file']}:{why['line']})" if why["file"] else ""
    inside = f", inside the call of {why['callee']}" if why["callee"] else ""
    needed = f"{why['pressure']} registers are needed, there are {why['capacity']}"
    lines = [f"why: at {_words([why['at']])}{place}{inside}: {needed}"]
    cost = f"spilling it costs {why['cost']:,g} and relieves {count(why['relieves'], 'point')}"
    if why["instead"]:
        cost += "; instead: " + ", ".join(
            f"{other['value']} {other['cost']:,g} for {other['relieves']:,}" for other in why["instead"]
        )
    return [*lines, f"     {cost}"]
