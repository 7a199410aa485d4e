"""This module lists the values that are live at the peak of register pressure, calls included.

Needs a `ProgramAnalysis` and its Max-live; leaves both untouched. The peak is a composition instruction (see
`max_live`): a chain of calls down to an instruction. At each of its calls the values that survive the call count. A
value that the callee reads and does not change counts once, under the callee's name for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.locations import Location
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.views.max_live import FILE_MASKS, MaxLive
from binalloc.analysis.web import WebNumber


@dataclass(frozen=True)
class PeakValue:
    """A peak value is live at the peak of register pressure."""

    function: str  #: name of its function
    index: int  #: instruction of the function, -1 for its entry
    web: WebNumber  #: the web
    across: bool  #: it survives the call at that instruction


def peak_values(program: ProgramAnalysis, result: MaxLive) -> list[PeakValue]:
    """Return the values of the kernel's peak, callers' first; as many as its units."""
    found: list[PeakValue] = []
    outer: dict[Location, PeakValue] = {}
    mask = FILE_MASKS[result.file]
    *calls, last = result.kernel.point
    for name, index in calls:
        f = program[name]
        link = f.webs.calls[index]
        callee = program[link.callee].summary
        kept = dict(outer)
        for web in link.survivors:
            if mask >> f.webs[web].loc & 1:
                kept[f.webs[web].loc] = PeakValue(name, index, web, True)
        shared = callee.args & ~callee.may_def
        found += [v for loc, v in kept.items() if not shared >> loc & 1]
        outer = {loc: v for loc, v in kept.items() if shared >> loc & 1}
    name, index = last
    here = {loc: web for loc, web in _there(program[name], index).items() if mask >> loc & 1}
    found += [v for loc, v in outer.items() if loc not in here]
    return found + [PeakValue(name, index, web, False) for _, web in sorted(here.items())]


def _there(f: FunctionAnalysis, index: int) -> dict[Location, WebNumber]:
    """Return the webs that take a register at an instruction: live behind it, or written there and dead."""
    if index < 0:
        return f.webs.entry[0]
    there = next(dict(after) for i, _, after in f.webs.walk(f.cfg.block_of[index]) if i == index)
    written = 0 if index in f.webs.calls else f.live.facts.clobbers[index]
    for web in f.webs.defined_at.get(index, ()):
        if written >> f.webs[web].loc & 1:
            there.setdefault(f.webs[web].loc, web)
    return there
