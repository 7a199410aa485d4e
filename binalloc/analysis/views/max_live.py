"""This module computes register pressure and Max-live, within functions and recursively over calls.

Needs a `ProgramAnalysis`; leaves it untouched. Follows Hayes and Zhang, "Unified On-chip Memory Allocation for SIMT
Architecture" (ICS 2014), section 3.2.2. Live-on-exit of an instruction is the set live after it; at a call it is the
caller's own Live-on-exit plus Max-live of the callee. A *composition instruction* is the list of (function,
instruction) from the kernel down. This differs from the paper in three points. Everything is counted in 32-bit units. A
dead result still counts, because it needs a register for that moment. The union over a composition is taken over
locations, so that a value passed to a callee and still needed after the call counts once. (A value that survives a call
lies, in the input, where the callee changes nothing, so equal locations hold equal values.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.analysis.liveness import Liveness
from binalloc.analysis.locations import PRED_MASK, REG_MASK
from binalloc.analysis.program import ProgramAnalysis
from binalloc.isa.interface.places import LOCAL_BASE
from binalloc.isa.kinds import CALLS

FILE_MASKS = {"R": REG_MASK, "P": PRED_MASK, "L": -1 << LOCAL_BASE, "RL": ~PRED_MASK}
"""Masks of the files whose locations may be counted: words in registers, predicates, local words, all words."""

MAX_CONTEXTS = 512
"""Sets of surviving values for which a function is evaluated. Chosen by hand: more of them cost time, and beyond them
the result is a lower bound."""


@dataclass(frozen=True, slots=True)
class Peak:
    """A peak is a number of simultaneously live units with the place that attains it."""

    units: int  #: live units
    #: composition instruction: (function, instruction) from the kernel down; instruction -1 is the entry
    point: tuple[tuple[str, int], ...]


@dataclass
class MaxLive:
    """Max-live gives the pressure of each function and of the kernel as a whole, in units of one file."""

    file: str  #: one of `FILE_MASKS`
    #: for each instruction of each function, units live after it plus dead results (0 in unreachable code)
    pressure: dict[str, list[int]]
    local: dict[str, Peak]  #: each function's own peak, calls counted as plain instructions
    total: dict[str, Peak]  #: the peak of a call of each function alone, callees included
    #: the peak of the whole program; an allocation needs as much if it keeps every value in one register always
    kernel: Peak


def register_demand(program: ProgramAnalysis) -> int:
    """Return a lower bound, in registers, for the kernel without spilling and without splitting or rematerialising
    values."""
    return build_max_live(program).kernel.units


def build_max_live(program: ProgramAnalysis, file: str = "R") -> MaxLive:
    """Return pressure and Max-live of every function for one file of `FILE_MASKS` ("R", "P", "L", "RL").

    Each function is evaluated once per distinct set of surviving values that overlap its arguments. Beyond 512 such
    sets the others count as not overlapping wherever they might, which keeps the result a lower bound.
    """
    mask = FILE_MASKS[file]
    pressure: dict[str, list[int]] = {}
    local: dict[str, Peak] = {}
    sets: dict[str, list[int]] = {}
    for name in program.graph.functions:
        live = program[name].live
        sets[name] = [(a | d) & mask for a, d in zip(live.after, _written(program, name), strict=True)]
        pressure[name] = [s.bit_count() for s in sets[name]]
        local[name] = _best(name, pressure[name], (live.live_in[0] & mask).bit_count())
    evaluation = _Contexts(program, sets, mask)
    evaluation.run()
    total = {name: evaluation.peaks[name][0] for name in program.graph.functions}
    return MaxLive(file, pressure, local, total, total[program.graph.kernel])


def _written(program: ProgramAnalysis, name: str) -> list[int]:
    """Return the set that each instruction itself writes; calls write through their callees and count there."""
    live = program[name].live
    views = live.cfg.views
    return [
        d if v.control not in CALLS and live.cfg.reachable(i) else 0
        for i, (d, v) in enumerate(zip(live.facts.clobbers, views, strict=True))
    ]


def _best(name: str, pressure: list[int], at_entry: int) -> Peak:
    """Return the peak of one function by itself."""
    most = max(pressure)
    return Peak(at_entry, ((name, -1),)) if at_entry > most else Peak(most, ((name, pressure.index(most)),))


@dataclass
class _Contexts:
    """A context is a function with a set of its arguments that callers keep alive across it. Each is evaluated once."""

    program: ProgramAnalysis  #: the analysis
    sets: dict[str, list[int]]  #: for each instruction the locations that count
    mask: int  #: locations of the file
    #: such sets of each function, found callers first
    contexts: dict[str, dict[int, None]] = field(default_factory=dict)
    #: peak of each function under each set, solved callees first
    peaks: dict[str, dict[int, Peak]] = field(default_factory=dict)

    def run(self) -> None:
        graph = self.program.graph
        self.contexts = {name: {0: None} for name in graph.functions}
        for name in graph.top_down:
            for outer in list(self.contexts[name]):
                for site in graph.sites[name]:
                    self._inner(name, site.index, site.callee, outer)
        for name in graph.bottom_up:
            self.peaks[name] = {outer: self._peak(name, outer) for outer in self.contexts[name]}

    def _inner(self, name: str, index: int, callee: str, outer: int) -> tuple[int, int]:
        """Return the locations that survive a call, and those among them that may be its arguments. outer: survivors
        further out."""
        live: Liveness = self.program[name].live
        summary = self.program[callee].summary
        kept = (live.survivors(index, summary) & self.mask) | outer
        shared = kept & summary.args & ~summary.may_def
        known = self.contexts[callee]
        if shared not in known:
            if len(known) >= MAX_CONTEXTS:
                return kept & ~shared, 0
            known[shared] = None
        return kept, shared

    def _peak(self, name: str, outer: int) -> Peak:
        """Return the peak of a function under the set `outer`."""
        live = self.program[name].live
        most = ((live.live_in[0] & self.mask) | outer).bit_count()
        place = -1
        for i, here in enumerate(self.sets[name]):
            count = (here | outer).bit_count()
            if count > most:
                most, place = count, i
        best = Peak(most, ((name, place),))
        for site in self.program.graph.sites[name]:
            kept, shared = self._inner(name, site.index, site.callee, outer)
            inner = self.peaks[site.callee][shared]
            count = (kept & ~shared).bit_count() + inner.units
            if count > best.units:
                best = Peak(count, ((name, site.index), *inner.point))
        return best
