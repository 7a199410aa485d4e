"""Exact placement of one function's values by OR-Tools CP-SAT: register, slot or local memory.

Needs: a `PlacementProblem`, and the heuristic's placement if there is one. Leaves: a `Solution` with value, bound, gap
and status that is never worse than the heuristic's. Deterministic: one worker, a fixed seed, a deterministic limit.

Two models. The *relaxed* one decides only which groups leave the registers, by counting registers and slots at each
point: its optimum is a lower bound, and where the heuristic meets it, or its choice can be coloured, nothing more is
to be solved. Otherwise the *full* one names registers and slots, with one at-most-one constraint per point of maximal
liveness and place. Interchangeable registers and slots are fixed in the order of a largest set of values live together:
the i-th of them may use only the first i places of a kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from binalloc.bitset import bits, mask_from
from binalloc.models.allocation.colouring import MUST_STAY, ColouringProblem, Group, colour
from binalloc.models.allocation.placement import Placement, PlacementProblem, cost_of, violations
from binalloc.models.allocation.slot_colouring import colour_slots
from binalloc.models.allocation.terms import Register, Value

MODEL_LIMIT = 4_000_000
"""Literals in constraints above which the full model is not built: the answer is then the relaxed bound."""

ROUNDED = 1024
"""Costs are exact multiples of 1/1024 at best: finer ones are rounded, in the bound as in the objective."""


@dataclass(frozen=True)
class Solution:
    """placement: None only if infeasible or if nothing was found and no heuristic was given.

    value, bound: loop-weighted cost and its proven lower bound. status: "optimal", "feasible" (a limit was hit),
    "infeasible" or "unknown" (a limit was hit and there is no placement). source: "heuristic", "relaxed" or "full":
    what the placement comes from; "none" without one. work: deterministic time spent, in CP-SAT's units.
    """

    placement: Placement | None
    value: float
    bound: float
    status: str
    source: str
    work: float

    @property
    def gap(self) -> float:
        """(value - bound) / value, 0 when proven optimal."""
        if self.placement is None or self.value <= 0:
            return 0.0
        return max(0.0, (self.value - self.bound) / self.value)

    def text(self) -> str:
        """One line for reports."""
        found = f"value {self.value:g}, bound {self.bound:g}, gap {100 * self.gap:.2f} %"
        return f"{self.status} ({self.source}): {found}, work {self.work:.3f}"


def solve(
    problem: PlacementProblem, heuristic: Placement | None = None, *, limit: float = 2.0, seed: int = 1
) -> Solution:
    """The cheapest placement that can be found within `limit` units of deterministic time (about seconds).

    At most half of the limit goes to the relaxed model.

    heuristic: a placement known to work; it is the warm start, and the answer when nothing cheaper is found. It is
    trusted even where it breaks the model (a value shared by a copy and its source, say).
    """
    best, value, source = heuristic, float("inf"), "none"
    if heuristic is not None:
        value, source = cost_of(problem, heuristic), "heuristic"
        if value == 0:
            return Solution(heuristic, 0.0, 0.0, "optimal", source, 0.0)
    relaxed = _Model(problem, full=False)
    status, work = relaxed.run(limit / 2, seed, heuristic, 0)
    if status == "infeasible" and best is None:
        return Solution(None, value, float("inf"), "infeasible", "none", work)
    bound = min(relaxed.bound, value) if status != "infeasible" else value
    if status in ("optimal", "feasible"):
        realised = realise(problem, relaxed.memory())
        if realised is not None and cost_of(problem, realised) < value:
            best, value, source = realised, cost_of(problem, realised), "relaxed"
    if value <= bound + 1 / ROUNDED or status == "infeasible":
        return Solution(best, value, min(bound, value), "optimal", source, work)
    full = _Model(problem, full=True) if full_size(problem) <= MODEL_LIMIT else None
    if full is not None and limit > work:
        status, more = full.run(limit - work, seed, best, relaxed.scaled_bound)
        work += more
        if status == "infeasible" and best is None:
            return Solution(None, value, float("inf"), "infeasible", "none", work)
        bound = max(bound, min(full.bound, value)) if status != "infeasible" else value
        if status in ("optimal", "feasible"):
            found = full.placement()
            if cost_of(problem, found) < value:
                best, value, source = found, cost_of(problem, found), "full"
    if best is None:
        return Solution(None, value, bound, "unknown", "none", work)
    proven = value <= bound + 1 / ROUNDED
    return Solution(best, value, min(bound, value), "optimal" if proven else "feasible", source, work)


def full_size(problem: PlacementProblem) -> int:
    """Literals in the full model's constraints, estimated from above."""
    registers = problem.available.bit_count()
    return sum(present.bit_count() * (registers + problem.slots + 1) for present, _, _ in problem.points())


def realise(problem: PlacementProblem, memory: Mapping[int, str]) -> Placement | None:
    """Registers and slots by the colouring heuristics for a choice of groups in memory ("slot" or "local").

    Groups that find no register go to slots, and those that find no slots to local memory, until all have a place:
    the result may thus cost more than the choice. None if a group that must stay finds no register.
    """
    adjacency = [0] * len(problem.forbidden)
    for present, _, _ in problem.points():
        for v in bits(present):
            adjacency[v] |= present & ~(1 << v)
    memory = dict(memory)
    base: dict[int, int] = {}
    while True:
        base, failed = _coloured(problem, adjacency, memory)
        if not failed:
            break
        if not all(problem.groups[number].spillable for number in failed):
            return None
        memory.update(dict.fromkeys(failed, "slot"))
    while True:
        wanted = mask_from(v for g, kind in memory.items() if kind == "slot" for v, _ in problem.groups[g].members)
        slot_of = colour_slots(adjacency, wanted, problem.slots)
        left = {g for g in memory if any(slot_of.get(v) == -1 for v, _ in problem.groups[g].members)}
        if not left:
            break
        memory.update(dict.fromkeys(sorted(left), "local"))
    placement = Placement(base, slot_of, frozenset(n for n, kind in memory.items() if kind == "local"))
    return placement if not violations(problem, placement) else None


def _coloured(
    problem: PlacementProblem, adjacency: Sequence[int], memory: Mapping[int, str]
) -> tuple[dict[int, int], list[int]]:
    """Base per group outside `memory`, and the groups that found none."""
    inside = [number for number in range(len(problem.groups)) if number not in memory]
    values = [v for number in inside for v, _ in problem.groups[number].members]
    dense = {v: Value(k) for k, v in enumerate(values)}
    fixed: dict[Value, Register] = {}
    groups = []
    for number in inside:
        group = problem.groups[number]
        cost = group.cost_slot if group.spillable and group.fixed is None else MUST_STAY
        groups.append(Group(tuple((dense[v], offset) for v, offset in group.members), group.units, group.align, cost))
        if group.fixed is not None:
            fixed.update({dense[v]: Register(group.fixed + offset) for v, offset in group.members})
    kept = mask_from(values)
    edges = [mask_from(dense[Value(n)] for n in bits(adjacency[v] & kept)) for v in values]
    forbidden = [problem.forbidden[v] for v in values]
    coloured = colour(ColouringProblem(edges, groups, problem.available, forbidden, fixed))
    base = {}
    for number in inside:
        value, offset = problem.groups[number].members[0]
        base[number] = coloured.colour[dense[value]] - offset
    return base, [inside[k] for k in coloured.failed]


def canonical(problem: PlacementProblem, placement: Placement) -> Placement:
    """The same placement with interchangeable registers and slots renamed as the model's symmetry breaking wants."""
    clique = _clique(problem)
    order = _clique_groups(problem, clique)
    base = dict(placement.base)
    width, classes = _register_classes(problem)
    rename: dict[int, int] = {}
    for blocks in classes:
        used = dict.fromkeys(base[g] // width for g in order if g in base and base[g] // width in blocks)
        rename.update(zip([*used, *(b for b in blocks if b not in used)], blocks, strict=True))
    base = {g: rename.get(b // width, b // width) * width + b % width for g, b in base.items()}
    first = dict.fromkeys(placement.slot_of[v] for v in clique if v in placement.slot_of)
    slots = {s: k for k, s in enumerate([*first, *(s for s in range(problem.slots) if s not in first)])}
    return Placement(base, {v: slots[s] for v, s in placement.slot_of.items()}, placement.local)


def _clique(problem: PlacementProblem) -> list[int]:
    """The most values live together at one point."""
    points = problem.points()
    return bits(points[0][0]) if points else []


def _clique_groups(problem: PlacementProblem, clique: Sequence[int]) -> list[int]:
    group_of = problem.group_of()
    return list(dict.fromkeys(group_of[v] for v in clique))


def _register_classes(problem: PlacementProblem) -> tuple[int, list[list[int]]]:
    """Block width and classes of interchangeable blocks of registers; no classes where groups can straddle blocks."""
    width = max((group.align for group in problem.groups), default=1)
    if any(group.units > group.align or width % group.align for group in problem.groups):
        return 1, []
    classes: dict[tuple[tuple[int, int, int], ...], list[int]] = {}
    for block in range((problem.available.bit_length() + width - 1) // width):
        signature = []
        for register in range(block * width, (block + 1) * width):
            forbids = mask_from(v for v, mask in enumerate(problem.forbidden) if mask >> register & 1)
            fixed = sum(
                1 << g
                for g, group in enumerate(problem.groups)
                if group.fixed is not None and group.fixed <= register < group.fixed + group.units
            )
            signature.append((problem.available >> register & 1, forbids, fixed))
        classes.setdefault(tuple(signature), []).append(block)
    return width, list(classes.values())


class _Model:
    """A CP-SAT model of the problem. full: with registers and slots named, else only counted."""

    def __init__(self, problem: PlacementProblem, *, full: bool) -> None:
        from ortools.sat.python import cp_model

        self.problem, self.full = problem, full
        self.model: Any = cp_model.CpModel()
        self.solver: Any = cp_model.CpSolver()
        self.scale = _scale(problem)
        self.in_register: list[Any] = []
        self.in_slot: list[Any] = []
        self.in_local: list[Any] = []
        self.at_base: dict[tuple[int, int], Any] = {}
        self.at_slot: dict[tuple[int, int], Any] = {}
        self.scaled_bound = 0
        self._kinds()
        self._counts()
        if full:
            self._places()
            self._break_symmetry()
        self.objective = sum(
            round(cost * self.scale) * literals[g]
            for g, group in enumerate(problem.groups)
            for cost, literals in ((group.cost_slot, self.in_slot), (group.cost_local, self.in_local))
        )
        self.model.minimize(self.objective)

    def _kinds(self) -> None:
        for g, group in enumerate(self.problem.groups):
            kinds = [self.model.new_bool_var(f"{kind}{g}") for kind in ("register", "slot", "local")]
            self.in_register.append(kinds[0])
            self.in_slot.append(kinds[1])
            self.in_local.append(kinds[2])
            self.model.add_exactly_one(kinds)
            if not group.spillable or group.fixed is not None:
                self.model.add(kinds[0] == 1)
            if not self.problem.bases(g):
                self.model.add(kinds[0] == 0)
            if self.problem.slots == 0:
                self.model.add(kinds[1] == 0)

    def _counts(self) -> None:
        """Registers and slots never run out at a point."""
        group_of = self.problem.group_of()
        registers = self.problem.available.bit_count()
        for present, accessed, capacity in self.problem.points():
            values = bits(present)
            terms = [1 if accessed >> v & 1 else self.in_register[group_of[v]] for v in values]
            if len(values) > capacity:
                self.model.add(sum(terms) <= capacity)
            if len(values) > registers:
                self.model.add(sum(self.in_register[group_of[v]] for v in values) <= registers)
            if len(values) > self.problem.slots:
                self.model.add(sum(self.in_slot[group_of[v]] for v in values) <= self.problem.slots)

    def _places(self) -> None:
        """Every group in registers has one base, every value in slots one slot, and no place holds two values."""
        problem = self.problem
        holders: dict[tuple[int, int], list[Any]] = {}
        for g, group in enumerate(problem.groups):
            bases = problem.bases(g)
            for base in bases:
                literal = self.at_base[g, base] = self.model.new_bool_var(f"g{g}r{base}")
                for value, offset in group.members:
                    holders.setdefault((value, base + offset), []).append(literal)
            self.model.add(sum(self.at_base[g, base] for base in bases) == self.in_register[g])
            for value, _ in group.members:
                for slot in range(problem.slots):
                    self.at_slot[value, slot] = self.model.new_bool_var(f"v{value}s{slot}")
                self.model.add(sum(self.at_slot[value, s] for s in range(problem.slots)) == self.in_slot[g])
        largest: list[int] = []
        for present, _, _ in problem.points():
            if any(not present & ~other for other in largest):
                continue
            largest.append(present)
            values = bits(present)
            for register in bits(problem.available):
                literals = [literal for v in values for literal in holders.get((v, register), ())]
                if len(literals) > 1:
                    self.model.add_at_most_one(literals)
            for slot in range(problem.slots):
                self.model.add_at_most_one([self.at_slot[v, slot] for v in values])

    def _break_symmetry(self) -> None:
        clique = _clique(self.problem)
        width, classes = _register_classes(self.problem)
        index = {block: k for blocks in classes for k, block in enumerate(blocks)}
        for position, g in enumerate(_clique_groups(self.problem, clique)):
            for base in self.problem.bases(g):
                if index.get(base // width, 0) > position:
                    self.model.add(self.at_base[g, base] == 0)
        for position, v in enumerate(clique):
            for slot in range(position + 1, self.problem.slots):
                self.model.add(self.at_slot[v, slot] == 0)

    def run(self, limit: float, seed: int, start: Placement | None, at_least: int) -> tuple[str, float]:
        """Solve; returns status and deterministic time. at_least: a scaled bound that is already known."""
        if at_least:
            self.model.add(self.objective >= at_least)
        if start is not None:
            self._hint(canonical(self.problem, start))
        parameters = self.solver.parameters
        parameters.num_workers = 1
        parameters.linearization_level = 1 if self.full else 2  # linear programming bounds counts at points best
        parameters.random_seed = seed
        parameters.max_deterministic_time = limit
        status = self.solver.solve(self.model)
        name = {"OPTIMAL": "optimal", "FEASIBLE": "feasible", "INFEASIBLE": "infeasible"}.get(
            self.solver.status_name(status), "unknown"
        )
        if name == "unknown":
            self.scaled_bound = at_least
        elif name != "infeasible":
            self.scaled_bound = max(at_least, round(self.solver.best_objective_bound))
        return name, float(self.solver.deterministic_time)

    @property
    def bound(self) -> float:
        """Lower bound of the cost proven by the last run."""
        return self.scaled_bound / self.scale

    def _hint(self, start: Placement) -> None:
        model = self.model
        for g, group in enumerate(self.problem.groups):
            slots = group.members[0][0] in start.slot_of
            model.add_hint(self.in_register[g], g in start.base)
            model.add_hint(self.in_slot[g], slots)
            model.add_hint(self.in_local[g], g in start.local)
        for (g, base), literal in self.at_base.items():
            model.add_hint(literal, start.base.get(g) == base)
        for (v, slot), literal in self.at_slot.items():
            model.add_hint(literal, start.slot_of.get(v) == slot)

    def memory(self) -> dict[int, str]:
        """Groups in memory in the solution found: "slot" or "local"."""
        found = {}
        for g in range(len(self.problem.groups)):
            if self.solver.boolean_value(self.in_slot[g]):
                found[g] = "slot"
            elif self.solver.boolean_value(self.in_local[g]):
                found[g] = "local"
        return found

    def placement(self) -> Placement:
        """The solution found by the full model."""
        chosen = self.solver.boolean_value
        return Placement(
            {g: base for (g, base), literal in self.at_base.items() if chosen(literal)},
            {v: slot for (v, slot), literal in self.at_slot.items() if chosen(literal)},
            frozenset(g for g, literal in enumerate(self.in_local) if chosen(literal)),
        )


def _scale(problem: PlacementProblem) -> int:
    """The smallest power of two up to ROUNDED that makes every cost an integer."""
    costs = [c for group in problem.groups for c in (group.cost_slot, group.cost_local)]
    scale = 1
    while scale < ROUNDED and any(c * scale != round(c * scale) for c in costs):
        scale *= 2
    return scale
