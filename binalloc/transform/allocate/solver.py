"""Allocator `cpsat`: the values of each function placed exactly by CP-SAT, callees first.

Needs: fresh virtual code and the heuristic's allocation of the same function. Leaves: the allocation whose
spill choice is the cheaper of the two, with the solver's value, bound and gap. The exact model decides which groups
leave the registers and which of those get slots; it sees program points, not the spill code's own copies, so its
choice is realised by the ordinary spiller and colouring, and kept only where that is no dearer than the heuristic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.bitset import bits
from binalloc.models.allocation.placement import Placement, PlacementGroup, PlacementProblem
from binalloc.transform.allocate.program_points import access_cost, point_masks
from binalloc.transform.allocate.registers import Infeasible, RegisterAllocation, allocate_registers
from binalloc.transform.virtual.code import RELOAD, STORE, VCode
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.live_values import live_values

LOCAL_COST = 4.0
"""An access to local memory, in accesses to a slot: about the ratio of an L1 hit with its misses to shared memory."""


@dataclass(frozen=True)
class SolverReport:
    """What the solver said of one function. value, bound: loop-weighted cost; source: whose placement it is.

    used: whether the program was built from the solver's placement (else from the heuristic's).
    """

    function: str
    value: float
    bound: float
    gap: float
    status: str
    source: str
    used: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "function": self.function,
            "value": round(self.value, 4),
            "bound": round(self.bound, 4),
            "gap": round(self.gap, 6),
            "status": self.status,
            "source": self.source,
            "used": self.used,
        }


def improve(
    fresh: VCode,
    heuristic: RegisterAllocation,
    available: int,
    contracts: Mapping[str, Contract],
    slots: int,
    limit: float,
) -> tuple[RegisterAllocation, SolverReport]:
    """The better of the heuristic's allocation and the exact model's; `fresh` is consumed.

    limit: deterministic solver time. The original placement of every value stays numbered as in `fresh`.
    """
    from binalloc.models.allocation.cpsat import solve

    problem, spilled = _problem(fresh, heuristic, available, contracts, slots)
    solution = solve(problem, _placement(problem, heuristic, spilled, slots), limit=limit)
    used = False
    result = heuristic
    if solution.placement is not None and solution.source in ("relaxed", "full"):
        chosen = frozenset(g for g in range(len(problem.groups)) if g not in solution.placement.base)
        try:
            candidate = allocate_registers(fresh, available, contracts, chosen)
        except Infeasible:
            candidate = None
        if candidate is not None and realised_cost(candidate) <= realised_cost(heuristic):
            result, used = candidate, True
    report = SolverReport(
        fresh.function.name, solution.value, solution.bound, solution.gap, solution.status, solution.source, used
    )
    return result, report


def realised_cost(allocation: RegisterAllocation) -> float:
    """Loop-weighted spill accesses of finished code, as if all were to slots."""
    return sum(item.weight for item in allocation.code.items() if item.kind in (RELOAD, STORE))


def _problem(
    code: VCode, heuristic: RegisterAllocation, available: int, contracts: Mapping[str, Contract], slots: int
) -> tuple[PlacementProblem, set[int]]:
    """The placement problem of fresh code, and the groups the heuristic took out of the registers."""
    live = live_values(code)
    points, capacity = point_masks(code, live, available, contracts)
    accessed = [0] * len(points)
    cost = [0.0] * len(code.values.members)
    forbidden = [0] * len(code.values)
    call = 2 * len(live.live_before)
    for k, (item, after) in enumerate(zip(code.items(), live.live_after, strict=True)):
        for operands, point in ((item.uses, 2 * k), (item.defs, 2 * k + 1)):
            for operand in operands:
                for v in operand.values:
                    accessed[point] |= 1 << v
                    cost[code.values.group_of[v]] += item.weight * access_cost(code, v, point & 1)
        if item.callee:
            across = points[call]
            call += 1
            for kept in bits(across & after):
                forbidden[kept] |= contracts[item.callee].clobbers
    groups = []
    for g, members in enumerate(code.values.members):
        constant = all(v in code.constants for v, _ in members)
        fixed = next((code.values.fixed[v] for v, _ in members if v in code.values.fixed), None)
        groups.append(
            PlacementGroup(
                tuple(members),
                code.values.units[g],
                code.values.align[g],
                code.values.spillable[g],
                cost[g],
                cost[g] * (1.0 if constant else LOCAL_COST),
                fixed,
            )
        )
    problem = PlacementProblem(groups, points, accessed, capacity.tolist(), available, forbidden, slots)
    touched = {
        v for item in heuristic.code.items() for o in (*item.defs, *item.uses) for v in o.values if v < len(code.values)
    }
    spilled = {
        g
        for g, members in enumerate(code.values.members)
        if code.values.spillable[g] and not any(v in touched for v, _ in members)
    }
    return problem, spilled


def _placement(
    problem: PlacementProblem,
    heuristic: RegisterAllocation,
    spilled: set[int],
    slots: int,
) -> Placement:
    """The heuristic's choice in the exact model's terms: dearest values per slot first, the rest local."""
    present = [a | b for a, b in zip(problem.live, problem.accessed, strict=True)]
    conflicts: dict[int, int] = {}
    for mask in present:
        for v in bits(mask):
            conflicts[v] = conflicts.get(v, 0) | mask
    slot_of: dict[int, int] = {}
    local: set[int] = set()
    for g in sorted(spilled, key=lambda g: (-problem.groups[g].cost_local, g)):
        mine: dict[int, int] = {}
        for v, _ in problem.groups[g].members:
            taken = {s for other, s in {**slot_of, **mine}.items() if conflicts.get(v, 0) >> other & 1 or other in mine}
            free = [s for s in range(slots) if s not in taken]
            if not free:
                break
            mine[v] = free[0]
        if len(mine) == len(problem.groups[g].members):
            slot_of |= mine
        else:
            local.add(g)
    base = {}
    for g, group in enumerate(problem.groups):
        if g not in spilled:
            v, offset = group.members[0]
            colour = heuristic.colour[v]
            base[g] = max(0, colour - offset)
    return Placement(base, slot_of, frozenset(local))
