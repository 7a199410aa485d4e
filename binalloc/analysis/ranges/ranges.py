"""This module finds what the values of a kernel and its callees may be, and which threads come to each block.

Needs a `ProgramAnalysis`; leaves it untouched. A value is a number that is known in each thread of a block, plus
symbols times factors: everything modulo 2^32, so that wrapping is no special case. Symbols have bounds. Where the size
of a block is known, what is computed of threads' indices alone is known exactly.

- Sums keep their form; other integer operations of known words are computed (`acts`), of others they make a symbol.
- Where versions of a web meet, the value is the same on all ways, or known by which way each thread comes, or a symbol.
- A web that grows by a constant in each round of a loop is its first value plus the step times the *round*. How many
  rounds there are at most follows from the exits that every round asks (`symbols`).
- The branches on which a place depends narrow bounds there (`facts`).

Loads, results of calls and of exchanges between lanes are unknown, but for the sizes of narrow loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.ranges import acts, facts, rounds
from binalloc.analysis.ranges.acts import Bools
from binalloc.analysis.ranges.function import FunctionRanges, Grown
from binalloc.analysis.ranges.symbols import Joined, Round, Symbols
from binalloc.analysis.ranges.threads import Threads
from binalloc.analysis.ranges.value import Interval, Value, constant
from binalloc.analysis.ranges.versions import Kind, Versions
from binalloc.isa.kinds import File

_PASSES = 4  # chosen by hand: passes at most in which loops are found, inner ones before those around them


@dataclass
class Ranges:
    """Ranges are what is known of all functions of a kernel's call graph."""

    program: ProgramAnalysis
    threads: Threads
    symbols: Symbols
    functions: dict[str, FunctionRanges]

    def within(self, name: str, index: int, value: Value, *, signed: bool = False) -> Interval:
        """Return an interval that contains a value at an instruction."""
        return self.symbols.within(value, signed, facts.facts_at(self.functions[name], index))

    def address(self, name: str, index: int) -> Value:
        """Return the address of a memory access; of an address in two words, the low word's."""
        f = self.functions[name]
        seen = f.function.cfg.views[index]
        assert seen.memory is not None
        out = constant(seen.memory.offset)
        operand = seen.address_operand
        return out if operand is None else out.plus(f.word(index, f.function.webs.web_of_use[index, operand, 0]))

    def coming(self, name: str, index: int) -> Bools:
        """Return the threads that may execute an instruction."""
        f = self.functions[name]
        known = f.guard(index)[2]
        some = f.coming[f.function.cfg.block_of[index]]
        return some if known is None else acts.both(some, known)


    def uniform(self) -> frozenset[Definition]:
        """Return the definitions after which all threads of every block have the same: a known number, or the truth
        about leaving a loop that all leave in one round."""
        out = set()
        for name, f in self.functions.items():
            same = [version for version, value in f.values.items() if value.number is not None]
            same += [version for version, truth in f.truths.items() if isinstance(truth, bool)]
            same += rounds.together(f)
            out |= {Definition(name, v.place, v.ref, v.unit) for v in same if v.kind in (Kind.DEF, Kind.EITHER)}
        return frozenset(out)


class Definition(NamedTuple):
    """A definition is where an instruction writes one word or predicate, as in `WebPoint`."""

    function: str
    instr: int
    ref: int
    unit: int


def ranges(program: ProgramAnalysis, threads: Threads) -> Ranges:
    """Return the ranges of all functions. Ten thousand instructions take about a second."""
    versions = {name: Versions(f) for name, f in program.functions.items()}
    grown = {name: Grown() for name in program.functions}
    for _ in range(_PASSES):
        found = Ranges(program, threads, Symbols(), {})
        for name in program.graph.top_down:
            f = program.functions[name]
            args, coming = _given(found, name)
            made = FunctionRanges(f, threads, found.symbols, versions[name], grown[name], args, coming)
            found.functions[name] = made
        learned = [rounds.learn(made, grown[name]) for name, made in found.functions.items()]
        if not any(learned):
            break
    for made in found.functions.values():
        _complete(made)
    return found


def _complete(found: FunctionRanges) -> None:
    """Complete joins and rounds, once all values of a function are known."""
    cfg = found.function.cfg
    for version, joined in found.joined.items():
        block = BlockNumber(version.place)
        if block == cfg.rpo[0]:
            joined.unknown = True
        for p in cfg.preds[block]:
            if cfg.rpo_number[p] < 0:
                continue
            way = found.versions.leaving(p, version.web)
            if not found.given(way):
                continue
            known = (*facts.facts_of_edge(found, p, block), *facts.facts_of_block(found, p))
            value = found.left(found.value(way), block)
            around = cfg.rpo_number[p] >= cfg.rpo_number[block]
            (joined.around if around else joined.ways).append((value, known))
        if not joined.ways or (joined.around and block not in found.heads):
            joined.unknown = True
    for source in found.symbols.sources:
        if isinstance(source, Round) and source.function == found.function.name:
            source.exits += rounds.asked(found, source.loop)
            source.before = facts.facts_of_block(found, found.function.loops.loops[source.loop].header)


def _given(found: Ranges, name: str) -> tuple[dict[Location, Value], Bools]:
    """Return what callers give to a function, and which threads may call it."""
    program = found.program
    if name == program.graph.kernel:
        return {}, True
    sites = program.graph.sites_of(name)
    if any(site.caller not in found.functions for site in sites):  # functions that call themselves, by way of others
        return {}, True
    args: dict[Location, list[Value]] = {}
    coming: Bools = False
    for site in sites:
        f = found.functions[site.caller]
        some = found.coming(site.caller, site.index)
        coming = acts.either(coming, some)
        for location, web in f.function.webs.calls[site.index].args:
            if f.function.webs[web].file == File.REGISTER:
                args.setdefault(location, []).append(f.word(site.index, web))
    out = {}
    for location, values in args.items():
        if len(values) == len(sites):
            same = len({value.key for value in values}) == 1
            ways = Joined([(value, ()) for value in values])
            out[location] = values[0] if same else found.symbols.value((name, "argument", location), ways)
    return out, coming
