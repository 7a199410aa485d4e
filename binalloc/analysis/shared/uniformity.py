"""This module finds which values are the same in all threads of a warp, a block or the grid.

Needs a `ProgramAnalysis`; leaves it untouched. The *scope* of a value is the largest group of threads that have it in
common: all of the group that execute a definition in one round of the loops around it write the same. So two threads
of the group that use the value at one place, in one round, have the same. The largest fixed point is found: every value
has the grid as its scope until something shows that it differs.

- An operation without side effects has the smallest scope of what it uses.
- Special registers have theirs by the instruction set. What a barrier makes of all threads' predicates is the block's,
  if all threads of the block come to it.
- Memory may change between two threads' loads: only constant memory has the scope of its address.
- What is known to be the same in all threads (`Known`) has the grid.
- A branch whose predicate differs within a group divides it. Webs with several definitions then differ where its ways
  join (`division`). A guard divides like a branch around its instruction.
- Arguments have the smallest scope of all calls' operands, results that of the callee's.

This is the divergence analysis of compilers for GPUs (Karrenberg and Hack, "Improving Performance of OpenCL on CPUs",
CC 2012, section 5). Here it works on webs in place of SSA, and for three sizes of groups at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.locations import Location
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.ranges.ranges import Definition
from binalloc.analysis.shared.division import Divisions, divisions
from binalloc.analysis.shared.place import Place
from binalloc.analysis.web import CALL, GUARD, MEMORY, Web, WebPoint
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import Access, Space


class Scope(IntEnum):
    """A scope is the largest group of threads that have something in common; larger groups compare greater."""

    THREAD = 0
    WARP = 1
    BLOCK = 2
    GRID = 3


@dataclass
class FunctionScopes:
    """The scopes of a function are those of its values and of its control flow."""

    webs: list[Scope]  #: by number of web
    #: for each block the largest group of which all running threads come to it, or none, whenever one does
    blocks: list[Scope]
    divisions: Divisions = field(repr=False)  #: what its branches do to threads that differ
    entry: Scope = Scope.GRID  #: the same for calls of the function


@dataclass(frozen=True)
class Known:
    """Other analyses know that these are the same in all threads of the grid."""

    loads: frozenset[Place] = frozenset()  #: what loads give
    definitions: frozenset[Definition] = frozenset()  #: what a word or predicate is after a definition


@dataclass
class Uniformity:
    """Uniformity has the scopes of all functions of a kernel's call graph."""

    program: ProgramAnalysis
    functions: dict[str, FunctionScopes]
    known: Known = field(default_factory=Known)

    def guard(self, name: str, index: int) -> Scope:
        """Return the scope of an instruction's guard; the grid where there is none."""
        web = self.program[name].webs.web_of_use.get((index, GUARD, 0))
        return Scope.GRID if web is None else self.functions[name].webs[web]

    def executed(self, name: str, index: int) -> Scope:
        """Return the largest group of which all running threads execute an instruction, or none, whenever one does."""
        f = self.program[name]
        return min(self.functions[name].blocks[f.cfg.block_of[index]], self.guard(name, index))


def uniformity(program: ProgramAnalysis, known: Known | None = None) -> Uniformity:
    """Return the scopes of all values of a kernel and its callees."""
    scopes = {}
    for name, f in program.functions.items():
        webs = [Scope.THREAD if web.undefined else Scope.GRID for web in f.webs]
        scopes[name] = FunctionScopes(webs, [Scope.GRID] * len(f.cfg.blocks), divisions(f.cfg))
    found = Uniformity(program, scopes, known or Known())
    solver = _Solver(found)
    changed = True
    while changed:
        changed = False
        for f in program.functions.values():
            changed |= solver.lower(f)
    return found


class _Solver:
    """The solver lowers scopes, function by function."""

    def __init__(self, found: Uniformity) -> None:
        self.found, self.program = found, found.program
        limits = self.program.isa.limits
        self.by_register = dict.fromkeys(limits.block_registers, Scope.BLOCK)
        self.by_register |= dict.fromkeys(limits.warp_registers, Scope.WARP)
        self.by_register |= dict.fromkeys(limits.lane_registers, Scope.THREAD)

    def lower(self, f: FunctionAnalysis) -> bool:
        """Look at everything in a function once, and return whether anything was lowered."""
        scopes = self.found.functions[f.name]
        before = [*scopes.webs], [*scopes.blocks], scopes.entry
        self._enter(f)
        for web in f.webs:
            for point in web.defs:
                scopes.webs[web.id] = min(scopes.webs[web.id], self._written(f, point))
        self._divide(f)
        return before != (scopes.webs, scopes.blocks, scopes.entry)

    def _enter(self, f: FunctionAnalysis) -> None:
        """Lower what a function has from its callers."""
        scopes, args = self.found.functions[f.name], dict(f.webs.args)
        if f.name == self.program.graph.kernel:
            for web in args.values():
                scopes.webs[web] = Scope.THREAD
            return
        for site in self.program.graph.sites_of(f.name):
            scopes.entry = min(scopes.entry, self.found.executed(site.caller, site.index))
            for location, given in self.program[site.caller].webs.calls[site.index].args:
                if location in args:
                    web = args[location]
                    scopes.webs[web] = min(scopes.webs[web], self.found.functions[site.caller].webs[given])

    def _written(self, f: FunctionAnalysis, point: WebPoint) -> Scope:
        """Return the scope of what a definition writes."""
        if point.instr < 0:
            return Scope.GRID  # see `_enter`
        if (f.name, *point) in self.found.known.definitions:
            return Scope.GRID
        if point.ref == MEMORY:
            return Scope.THREAD
        guard = self.found.guard(f.name, point.instr)
        if point.ref == CALL:
            callee = f.webs.calls[point.instr].callee
            web = dict(self.program[callee].webs.results).get(Location(point.unit))
            # a callee that never returns has no results
            return guard if web is None else min(guard, self.found.functions[callee].webs[web])
        return min(guard, self._computed(f, point.instr, f.cfg.views[point.instr]))

    def _computed(self, f: FunctionAnalysis, index: int, seen: View) -> Scope:
        """Return the scope of what an instruction computes, in the threads that execute it."""
        barrier = self.program.isa.barrier(seen.instr)
        if barrier is not None:
            whole = barrier.combines and barrier.threads == 0
            return Scope.BLOCK if whole and self.found.executed(f.name, index) >= Scope.BLOCK else Scope.THREAD
        if (f.name, index) in self.found.known.loads:
            return Scope.GRID
        register = self.program.isa.special_register(seen.instr)
        constant = seen.memory is None or (seen.memory.space, seen.memory.access) == (Space.CONST, Access.LOAD)
        if not seen.pure or not constant:
            return Scope.THREAD
        if register is not None:
            return self.by_register.get(register, Scope.GRID)
        scopes, web_of_use = self.found.functions[f.name].webs, f.webs.web_of_use
        used = (web_of_use[index, k, unit] for k, ref in enumerate(seen.uses) for unit in range(ref.units))
        return min((scopes[web] for web in used), default=Scope.GRID)

    def _divide(self, f: FunctionAnalysis) -> None:
        """Lower blocks that not all threads come to, and webs whose definitions meet behind a division."""
        scopes = self.found.functions[f.name]
        deciding = self._deciding(f)
        for block, decided_by in enumerate(scopes.divisions.decided_by):
            by = [min(deciding[b], scopes.blocks[b]) for b in decided_by]
            scopes.blocks[block] = min([scopes.entry, scopes.blocks[block], *by])
        several = [web for web in f.webs if len(web.defs) > 1]
        for division in scopes.divisions.found:
            scope = deciding[division.block]
            if scope == Scope.GRID:
                continue
            for web in several:
                if scopes.webs[web.id] > scope and _meets(f, web, division.joins, division.between):
                    scopes.webs[web.id] = scope

    def _deciding(self, f: FunctionAnalysis) -> dict[BlockNumber, Scope]:
        """Return the scope of the predicate on which the way out of each block depends."""
        return {b: self.found.guard(f.name, f.cfg.blocks[b].end - 1) for b in f.cfg.rpo}


def _meets(f: FunctionAnalysis, web: Web, joins: frozenset[int], between: frozenset[int]) -> bool:
    """Return whether definitions of a web meet at one of the joins, one of them from one of the blocks between."""
    if not any(p.instr >= 0 and f.cfg.block_of[p.instr] in between for p in web.defs):
        return False
    end = len(f.cfg.blocks)
    return any(web.result if j == end else f.webs.entry[j].get(web.loc) == web.id for j in joins)
