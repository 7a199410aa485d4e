"""Allocation over a whole program: callees first, then the module with calls linked.

What a kernel needs for its whole call graph, without any limit, is its register demand; above 255 long live ranges of
low use go to the local frame (`spill`), and the demand is reported all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.bitset import bits
from binalloc.errors import Refused
from binalloc.frontend.allocate.assign import Registered, assign, build_groups, coalesce, copies
from binalloc.frontend.allocate.calls import Contract
from binalloc.frontend.allocate.emit import Emitted, emit
from binalloc.frontend.allocate.live_ranges import Ranges, live_ranges
from binalloc.frontend.allocate.predicates import allocate_predicates
from binalloc.frontend.allocate.spill import spill
from binalloc.frontend.ir import FIRST_REGISTER, RZ, Program, Routine
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import MOST_REGISTERS, PRED

_ROUNDS = 12
_STEP = 8
_LEAST = 40


@dataclass
class Figures:
    """Of one routine with all it calls. demand, max_live: registers. predicates_spilled, spilled: of the routine."""

    demand: int
    max_live: int
    predicates_spilled: int = 0
    spilled: int = 0


@dataclass
class Allocated:
    """module: addresses set, calls linked, control codes unset. figures: by routine."""

    module: Module
    figures: dict[str, Figures] = field(default_factory=dict)


class NoRoom(Refused):
    """Callees leave a caller too few registers. demand: what routines were found to need so far. routine: the one that
    has too few."""

    demand: dict[str, int]
    routine: str


def allocate(program: Program, reserve: int = 0, demand: dict[str, int] | None = None) -> Allocated:
    """Registers for every routine of `program`, and the Loom module. The routines are used up.

    reserve: registers that a callee leaves to each caller above it, where the program is known to need more than 255.
    demand: of routines, from an earlier attempt. Raises NoRoom where spilling does not make 255 registers do.
    """
    work = _Work(program, reserve, demand or {})
    for name, routine in program.routines.items():
        work.routine(name, routine)
    return Allocated(_module(program, work.emitted, work.contracts), work.figures)


class _Work:
    """State of the walk over the routines. top: first byte of local memory above all frames and spilled values."""

    def __init__(self, program: Program, reserve: int, demand: dict[str, int]) -> None:
        self.program = program
        self.demand = demand
        self.limit = {name: max(MOST_REGISTERS - reserve * k, _LEAST) for name, k in _depths(program).items()}
        self.contracts: dict[str, Contract] = {}
        self.emitted: dict[str, Emitted] = {}
        self.figures: dict[str, Figures] = {}
        self.local_end: dict[str, int] = {}
        self.top = max((r.info.local_bytes for r in program.routines.values()), default=0)

    def routine(self, name: str, routine: Routine) -> None:
        """Allocate one routine whose callees are done."""
        changed = {callee: contract.predicates for callee, contract in self.contracts.items()}
        predicates, kept_as_words = allocate_predicates(routine, changed)
        ranges = live_ranges(routine)
        registered = _registers(routine, ranges, self.contracts)
        max_live = _max_live(routine, ranges, self.contracts)
        demand, moved = max(registered.count, self.demand.get(name, 0)), 0
        self.demand[name] = demand
        if registered.count > self.limit[name]:
            registered, moved = self._spilled(routine, ranges)
        contract = _contract(routine, registered, predicates, self.contracts, max_live)
        callees = sorted({node.callee for node in routine.nodes() if node.callee})
        demand = max([demand, *(self.figures[callee].demand for callee in callees)])
        self.local_end[name] = max([self.local_end.get(name, 0), *(self.local_end[callee] for callee in callees)])
        if routine.is_kernel:
            routine.info.local_bytes = max(routine.info.local_bytes, self.local_end[name])
        self.contracts[name] = contract
        self.figures[name] = Figures(demand, max_live, kept_as_words, moved)
        self.emitted[name] = emit(routine, registered, predicates, self.contracts, self.program.locations)

    def _spilled(self, routine: Routine, ranges: Ranges) -> tuple[Registered, int]:
        """Registers for a routine that needs more than there are, after moving values to local memory."""
        most = self.limit[routine.name]
        limit = most
        moved = 0
        for _ in range(_ROUNDS):
            limit -= _STEP
            self.top = -(-self.top // 16) * 16
            count, size = spill(routine, ranges, limit, self.top)
            self.top += size
            moved += count
            ranges = live_ranges(routine)
            registered = _registers(routine, ranges, self.contracts)
            if registered.count <= most:
                self.local_end[routine.name] = self.top
                return registered, moved
        error = NoRoom(
            f"{routine.name} needs more registers than there are, and spilling does not help",
            file=self.program.path or None,
            place=routine.place or None,
            found=f"{registered.count} registers",
            expected=f"at most {most}",
        )
        error.demand, error.routine = self.demand, routine.name
        raise error


def _depths(program: Program) -> dict[str, int]:
    """Callers above each routine, along the longest chain."""
    depth = dict.fromkeys(program.routines, 0)
    for name in reversed(program.routines):
        for node in program.routines[name].nodes():
            if node.callee:
                depth[node.callee] = max(depth[node.callee], depth[name] + 1)
    return depth


def _registers(routine: Routine, ranges: Ranges, contracts: dict[str, Contract]) -> Registered:
    groups, group_of = build_groups(routine, ranges)
    coalesce(groups, group_of, copies(routine))
    offset_of = {index: offset for group in groups for index, offset in group.members}
    busy: dict[int, list[int]] = {}
    for k, node in enumerate(routine.nodes()):
        if not node.callee:
            continue
        contract = contracts[node.callee]
        for register in bits(contract.overwritten()):
            busy.setdefault(register, []).append(ranges.inside[k])
        links = [*zip(node.args, contract.arguments, strict=True), *zip(node.results, contract.results, strict=True)]
        for unit, register in links:
            if unit != RZ:
                group = groups[group_of[unit - FIRST_REGISTER]]
                base = register - offset_of[unit - FIRST_REGISTER]
                if base >= 0:
                    group.wishes[base] = group.wishes.get(base, 0.0) + 1.0
    return assign(groups, len(routine.registers.base), busy, ranges.pressure)


def _max_live(routine: Routine, ranges: Ranges, contracts: dict[str, Contract]) -> int:
    """The unified paper's Max-live: at a call, what lives across it plus the callee's, recursively."""
    most = max(ranges.pressure, default=0)
    for k, node in enumerate(routine.nodes()):
        if node.callee:
            most = max(most, ranges.pressure[ranges.inside[k]] + contracts[node.callee].max_live)
    return most


def _contract(
    routine: Routine,
    registered: Registered,
    predicates: dict[int, int],
    contracts: dict[str, Contract],
    max_live: int,
) -> Contract:
    clobbers = changed = 0
    registers = registered.count
    for node in routine.nodes():
        for ref in node.view.defs:
            if ref.file == PRED:
                changed |= 1 << predicates.get(ref.index, 0)
            else:
                for unit in ref.registers():
                    clobbers |= 1 << registered.of(unit)
        if node.callee:
            callee = contracts[node.callee]
            clobbers |= callee.overwritten()
            changed |= callee.predicates
            registers = max(registers, callee.registers)
            for unit in node.results:
                clobbers |= 1 << registered.of(unit) if unit != RZ else 0
    arguments = [registered.of(unit) for unit in routine.arguments]
    results = [registered.of(unit) for unit in routine.results]
    return Contract(arguments, results, clobbers, changed, registers, max_live)


def _module(program: Program, emitted: dict[str, Emitted], contracts: dict[str, Contract]) -> Module:
    functions: list[Function] = []
    for name, code in emitted.items():
        code.function.info.registers = max(1, contracts[name].registers)
        functions.append(code.function)
    functions.sort(key=lambda fn: not fn.info.is_kernel)
    module = Module(functions, dict(program.constants), path=program.path, globals=list(program.globals))
    module.constant_vars = list(program.constant_vars)
    module.layout()
    address = {fn.name: fn.address for fn in module}
    for name, code in emitted.items():
        instrs = code.function.instrs
        for word, callee in code.calls.items():
            instrs[word] = instrs[word].replace(target=address[callee] - address[name] - word - 1)
    return module
