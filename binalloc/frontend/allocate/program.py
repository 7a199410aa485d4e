"""This module allocates registers for a whole program, callees first, and links the calls of the module.

The register demand of a kernel is the number of registers for its whole call graph without any limit. Values that do
not fit the registers go to the local frame, by plain accesses at fixed places. The rewriter turns these back into
values and places them anew for any budget.
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
from binalloc.frontend.ir import Routine, VirtualProgram
from binalloc.isa.instruction import WORD, Function, Module
from binalloc.isa.interface.places import ALL_PREDICATES
from binalloc.isa.loom.view import recall, rename
from binalloc.isa.sets.loom import LOOM
from binalloc.models.allocation.homes import Homes
from binalloc.models.allocation.regions import RegionChoice, choose
from binalloc.transform.allocate.functions.registers import (
    Infeasible,
    RegisterAllocation,
    SpillOptions,
    allocate_fewest,
)
from binalloc.transform.rewrite.emit import Emitted, MemoryPlan, emit
from binalloc.transform.rewrite.normalise import Normalised
from binalloc.transform.spill.prices import LOCAL_COST, Prices
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.room import call_sites

_SPILL_ALIGNMENT = 16  # Alignment in bytes of the area for spilled values: that of the widest access.


@dataclass
class Figures:
    """The figures of a routine count its registers, live values and spilled values."""

    demand: int  #: registers of the routine and its call graph
    max_live: int  #: live 32-bit values of the routine and its call graph
    predicates_spilled: int = 0  #: of the routine alone
    spilled: int = 0  #: values of the routine alone


@dataclass
class Allocated:
    """An allocated program is a Loom module, with the figures of its routines."""

    module: Module  #: addresses set, calls linked, control codes unset
    figures: dict[str, Figures] = field(default_factory=dict)  #: by routine
    recursive: bool = False  #: whether it calls recursive functions


class NoRoom(Refused):
    """`NoRoom` is raised where a routine needs more registers at once than there are."""

    routine: str  #: its name
    callees: dict[str, set[str]]  #: routine -> its direct callees


def allocate(program: VirtualProgram, registers: int = LOOM.limits.registers) -> Allocated:
    """Allocate registers for every routine of `program`, and return the Loom module. The routines must not be used
    afterwards.

    registers: registers per thread on the machine. A kernel that needs more is left to a rewrite. Kernels that call
    recursive functions cannot be rewritten, so they, and all functions in their call graphs, are limited to these.
    Raises NoRoom.
    """
    work = _Work(program, registers)
    for routine in program.routines.values():
        work.allocate(routine)
        if routine.cycle and all(name in work.emitted for name in routine.cycle):
            work.close(routine.cycle)
    return Allocated(work.module(), work.figures, bool(work.recursive))


def _choose_values(homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> RegionChoice:
    """Choose whole values for memory, not single regions of values. There are far fewer of them, and a rewrite chooses
    anew when it knows the budget."""
    regions = homes.slot
    of_values = regions.of_values
    whole = [f for f in regions.families if len(f) > 1 or len(of_values[regions.value[f[0]]]) == 1]
    return choose(replace(regions, families=whole), pressure, capacity)


def _below_recursion(program: VirtualProgram, callees: Mapping[str, set[str]]) -> list[str]:
    """Return the kernels whose call graphs have a cycle, and all functions in these call graphs."""
    reaching: set[str] = set()
    for name, routine in program.routines.items():  # callees come first, cycles side by side
        if routine.cycle or callees[name] & reaching:
            reaching.add(name)
    work = [name for name in callees if name in reaching and program.routines[name].is_kernel]
    found = dict.fromkeys(work)
    for name in work:  # the loop body appends to it
        work += sorted(callees[name] - found.keys())
        found |= dict.fromkeys(callees[name])
    return list(found)


def _forget(routine: Routine, laid: Function) -> None:
    """Free data that is not read again once there is virtual code: the routine's nodes, and the views of its
    instructions.

    The instructions get other views with their registers. For large code this is much memory.
    """
    routine.blocks.clear()
    for instr in laid.instrs:
        instr.seen = None


_SPILLING = SpillOptions(Prices(LOCAL_COST), _choose_values)  # spills to local memory, chosen by whole values


class _Work:
    """`_Work` walks over the routines and keeps what is known of those done so far."""

    def __init__(self, program: VirtualProgram, registers: int) -> None:
        self.program = program
        #: routine -> its direct callees
        self.callees = {name: {n.callee for n in r.nodes() if n.callee} for name, r in program.routines.items()}
        below = _below_recursion(program, self.callees)
        #: routine -> its limits, if it must do with fewer registers
        self.limits = dict.fromkeys(below, replace(LOOM.limits, registers=registers))
        self.contracts: dict[str, Contract] = {}  #: routine -> its contract
        self.changed: dict[str, int] = {}  #: routine -> bitset of predicates written in its call graph
        self.registers: dict[str, int] = {}  #: routine -> registers of its call graph
        self.emitted: dict[str, Emitted] = {}
        self.figures: dict[str, Figures] = {}
        self.local_end: dict[str, int] = {}  #: routine -> first byte above the local memory of its call graph
        self.recursive: set[str] = set()  #: routines whose call graphs have a cycle
        #: first byte of local memory above all frames and spilled values
        self.top = max((r.info.local_bytes for r in program.routines.values()), default=0)

    def allocate(self, routine: Routine) -> None:
        """Allocate one routine. Its callees must be done, except the functions of its own cycle.

        Calls of these functions pass nothing in registers, and no value is live in a register across them.
        """
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
        """Finish a cycle whose routines are all done: figures of a call graph are the same for each of them."""
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
        """Return the unified paper's Max-live: at a call, the values live across it plus the callee's Max-live,
        recursively.

        An argument that stays in the callee's place counts once.
        """
        most = int(max(given.live.pressure(given.flat.points), default=0))
        for site in call_sites(given.flat, given.live, self.contracts):
            callee = self.figures[given.flat.items[site.item].callee]
            most = max(most, len(site.survivors) - len(site.kept) + callee.max_live)
        return most

    def _emit(
        self, routine: Routine, allocation: RegisterAllocation, source: Function, callees: list[str]
    ) -> Emitted:
        """Emit the routine's words. Its spilled values get places in local memory above everything placed so far."""
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
        """Return the module of all functions, kernels first."""
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
