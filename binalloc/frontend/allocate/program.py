"""Registers for a whole program: callees first, then the module with calls linked.

What a kernel needs for its whole call graph, without any limit, is its register demand; what is more than there are
goes to the local frame, by plain accesses at fixed places: the rewriter lifts those back to values and places them anew
for whatever budget it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from binalloc.errors import Refused
from binalloc.frontend.allocate.block_order import order_blocks
from binalloc.frontend.allocate.layout import lay_out
from binalloc.frontend.allocate.predicates import allocate_predicates
from binalloc.frontend.allocate.recursion import use_stack
from binalloc.frontend.allocate.virtualise import virtualise
from binalloc.frontend.ir import Program, Routine
from binalloc.isa.instruction import WORD, Function, Module
from binalloc.isa.interface.places import ALL_PREDICATES
from binalloc.isa.loom.view import recall, rename
from binalloc.isa.sets.loom import LOOM
from binalloc.models.allocation.homes import Homes
from binalloc.models.allocation.regions import Choice, choose
from binalloc.transform.allocate.functions.registers import Infeasible, RegisterAllocation, Spilling, allocate_fewest
from binalloc.transform.rewrite.emit import Emitted, MemoryPlan, emit
from binalloc.transform.rewrite.normalise import Normalised
from binalloc.transform.spill.prices import LOCAL_COST, Prices
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.room import call_sites

_SPILL_ALIGNMENT = 16


@dataclass
class Figures:
    """Of one routine with all it calls. demand, max_live: registers. predicates_spilled, spilled: of the routine."""

    demand: int
    max_live: int
    predicates_spilled: int = 0
    spilled: int = 0


@dataclass
class Allocated:
    """module: addresses set, calls linked, control codes unset. figures: by routine. recursive: whether a function may
    come back to itself."""

    module: Module
    figures: dict[str, Figures] = field(default_factory=dict)
    recursive: bool = False


class NoRoom(Refused):
    """Registers do not hold what a routine needs at once. routine: its name. callees: by routine, those that it
    calls."""

    routine: str
    callees: dict[str, set[str]]


def allocate(program: Program, registers: int = LOOM.limits.registers) -> Allocated:
    """Registers for every routine of `program`, and the Loom module. The routines are used up. Raises NoRoom.

    registers: a thread's, where the program is to run. What kernels take beyond that is left to a rewrite, but for
    kernels that reach a cycle of calls, which nobody can rewrite: those, and all they call, make do with them."""
    work = _Work(program, registers)
    for routine in program.routines.values():
        work.allocate(routine)
        if routine.cycle and all(name in work.emitted for name in routine.cycle):
            work.close(routine.cycle)
    return Allocated(work.module(), work.figures, bool(work.recursive))


def _choose_values(homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> Choice:
    """Whole values rather than single regions of theirs go to memory: there are far fewer, and whoever rewrites for a
    budget chooses anew, knowing it."""
    regions = homes.slot
    of_values = regions.of_values
    whole = [f for f in regions.families if len(f) > 1 or len(of_values[regions.value[f[0]]]) == 1]
    return choose(replace(regions, families=whole), pressure, capacity)


def _below_recursion(program: Program, callees: Mapping[str, set[str]]) -> list[str]:
    """Kernels that reach a cycle of calls, and all routines that they call."""
    reaching: set[str] = set()
    for name, routine in program.routines.items():  # callees come first, cycles side by side
        if routine.cycle or callees[name] & reaching:
            reaching.add(name)
    work = [name for name in callees if name in reaching and program.routines[name].is_kernel]
    found = dict.fromkeys(work)
    for name in work:  # which grows
        work += sorted(callees[name] - found.keys())
        found |= dict.fromkeys(callees[name])
    return list(found)


def _forget(routine: Routine, laid: Function) -> None:
    """What is not read again once there is virtual code: the routine's nodes, and the views of its instructions, which
    get others with their registers. Of large code they are much memory."""
    routine.blocks.clear()
    for instr in laid.instrs:
        instr.seen = None


_SPILLING = Spilling(Prices(LOCAL_COST), _choose_values)


class _Work:
    """State of the walk over the routines. contracts, changed: by routine, its contract and the predicates that it and
    all it calls may write. registers: by routine, how many it needs with all it calls. top: first byte of local memory
    above all frames and spilled values; local_end: by routine, the first above its own and its callees'. recursive:
    routines that reach a cycle of calls. limits: of routines that make do with fewer registers than there are."""

    def __init__(self, program: Program, registers: int) -> None:
        self.program = program
        self.callees = {name: {n.callee for n in r.nodes() if n.callee} for name, r in program.routines.items()}
        below = _below_recursion(program, self.callees)
        self.limits = dict.fromkeys(below, replace(LOOM.limits, registers=registers))
        self.contracts: dict[str, Contract] = {}
        self.changed: dict[str, int] = {}
        self.registers: dict[str, int] = {}
        self.emitted: dict[str, Emitted] = {}
        self.figures: dict[str, Figures] = {}
        self.local_end: dict[str, int] = {}
        self.recursive: set[str] = set()
        self.top = max((r.info.local_bytes for r in program.routines.values()), default=0)

    def allocate(self, routine: Routine) -> None:
        """Allocate one routine whose callees are done, but for those of its own cycle: to them nothing is handed over
        in registers, and nothing lives across calls of them."""
        name = routine.name
        callees = sorted(self.callees[name])
        for other in routine.cycle:
            if other not in self.contracts:
                self.contracts[other], self.changed[other] = Contract(), ALL_PREDICATES
                self.registers[other] = self.local_end[other] = 0
                self.figures[other] = Figures(0, 0)
        predicates, kept_as_words = allocate_predicates(routine, self.changed)
        self._use_stack(routine, callees, predicates)
        laid = lay_out(routine, order_blocks(routine), predicates, self.program.locations)
        given = analysed(virtualise(routine, laid, self.contracts, self.changed, self.program.constants))
        _forget(routine, laid.function)
        self.changed[name] = given.code.predicates
        try:
            limits = self.limits.get(name, LOOM.limits)
            allocation, demand = allocate_fewest(given, limits, self.contracts, _SPILLING)
        except Infeasible as error:
            raise self._no_room(routine, error) from error
        self.contracts[name] = allocation.contract
        used = max(allocation.colour, default=0) + 1
        self.registers[name] = max([used, *(self.registers[callee] for callee in callees)])
        demand = max([demand, *(self.figures[callee].demand for callee in callees)])
        self.figures[name] = Figures(demand, self._max_live(given), kept_as_words, len(allocation.memory))
        self.emitted[name] = self._emit(routine, allocation, laid.function, callees)

    def _use_stack(self, routine: Routine, callees: list[str], predicates: dict[int, int]) -> None:
        if not routine.cycle and self.recursive.isdisjoint(callees):
            return
        self.recursive.add(routine.name)
        stack, routines = self.program.stack, self.program.routines
        assert stack is not None
        use_stack(routine, stack, lambda name: bool(routines[name].cycle), predicates, begins=routine.is_kernel)

    def close(self, cycle: tuple[str, ...]) -> None:
        """All routines of a cycle are done: what holds of one with all it calls holds of each."""
        clobbers = reduce(or_, (self.contracts[name].clobbers for name in cycle))
        registers = max(self.registers[name] for name in cycle)
        end = max(self.local_end[name] for name in cycle)
        demand = max(self.figures[name].demand for name in cycle)
        most = max(self.figures[name].max_live for name in cycle)
        for name in cycle:
            self.contracts[name] = Contract(clobbers=clobbers)
            self.registers[name], self.local_end[name] = registers, end
            self.figures[name] = replace(self.figures[name], demand=demand, max_live=most)

    def _no_room(self, routine: Routine, error: Infeasible) -> NoRoom:
        refusal = NoRoom(
            f"{routine.name} needs more registers than there are",
            file=routine.path or None,
            place=routine.place or None,
            found=error.found,
        )
        refusal.routine, refusal.callees = routine.name, self.callees
        return refusal

    def _max_live(self, given: Analysed) -> int:
        """The unified paper's Max-live: at a call, what lives across it plus the callee's, recursively.

        An argument that stays where the callee has it counts once."""
        most = int(max(given.live.pressure(given.flat.points), default=0))
        for site in call_sites(given.flat, given.live, self.contracts):
            callee = self.figures[given.flat.items[site.item].callee]
            most = max(most, len(site.survivors) - len(site.kept) + callee.max_live)
        return most

    def _emit(
        self, routine: Routine, allocation: RegisterAllocation, source: Function, callees: list[str]
    ) -> Emitted:
        """The routine's words, spilled values in local memory above all that is there yet."""
        end = max([0, *(self.local_end[callee] for callee in callees)])
        plan = MemoryPlan(is_kernel=routine.is_kernel)
        if allocation.memory:
            base = -(-self.top // _SPILL_ALIGNMENT) * _SPILL_ALIGNMENT
            plan.local_of = {v: base + WORD * k for k, v in enumerate(allocation.memory)}
            end = self.top = base + WORD * len(allocation.memory)
        self.local_end[routine.name] = end
        if routine.is_kernel:
            routine.info.local_bytes = max(routine.info.local_bytes, end)
        calls = sum(bool(item.callee) for item in allocation.code.items())
        origin = list(range(len(source.instrs)))
        out = emit(LOOM, allocation, Normalised(source, origin), plan, [(-1, -1)] * calls)
        if allocation.memory:
            out.function.instrs = [rename(i, {"spill": 0}) if i.f.get("spill") else i for i in out.function.instrs]
        return out

    def module(self) -> Module:
        """The module of all functions, kernels first."""
        for name, code in self.emitted.items():
            code.function.info.registers = self.registers[name]
            code.function.origin = None
        functions = sorted((code.function for code in self.emitted.values()), key=lambda fn: not fn.info.is_kernel)
        program = self.program
        out = Module(functions, dict(program.constants), path=program.path, globals=list(program.globals))
        out.constant_vars = list(program.constant_vars)
        out.layout()
        address = {fn.name: fn.address for fn in out}
        for name, code in self.emitted.items():
            instrs = code.function.instrs
            for word, callee in code.calls.items():
                instrs[word] = recall(instrs[word], address[callee] - address[name] - word - 1)
        return out
