"""The cheapest placement of values by trying every one: what the solver's answers are compared with."""

from __future__ import annotations

from binalloc.bitset import bits
from binalloc.models.allocation.placement import Placement, PlacementProblem, violations


def exhaustive(problem: PlacementProblem) -> Placement | None:
    """The cheapest valid placement by trying them all (the first found among equals); None if there is none.

    Exponential in the number of groups.
    """
    best: list[Placement] = []
    best_cost = [float("inf")]
    base: dict[int, int] = {}
    slot_of: dict[int, int] = {}
    local: set[int] = set()
    points = [bits(live | accessed) for live, accessed in zip(problem.live, problem.accessed, strict=True)]

    def clash() -> bool:
        """Whether what is placed so far holds two values in one place; capacity is left to the end."""
        place: dict[int, tuple[str, int]] = {v: ("slot", s) for v, s in slot_of.items()}
        for number, start in base.items():
            place.update({v: ("register", start + offset) for v, offset in problem.groups[number].members})
        for present in points:
            held = [place[v] for v in present if v in place]
            if len(set(held)) < len(held):
                return True
        return False

    def extend(number: int, cost: float) -> None:
        if cost >= best_cost[0] or clash():
            return
        if number == len(problem.groups):
            found = Placement(dict(base), dict(slot_of), frozenset(local))
            if not violations(problem, found):
                best[:], best_cost[0] = [found], cost
            return
        group = problem.groups[number]
        for start in problem.bases(number):
            base[number] = start
            extend(number + 1, cost)
            del base[number]
        if not group.spillable or group.fixed is not None:
            return
        values = [value for value, _ in group.members]
        for choice in range(problem.slots ** len(values)):
            for value in values:
                choice, slot = divmod(choice, problem.slots)
                slot_of[value] = slot
            extend(number + 1, cost + group.cost_slot)
            for value in values:
                del slot_of[value]
        local.add(number)
        extend(number + 1, cost + group.cost_local)
        local.discard(number)

    extend(0, 0.0)
    return best[0] if best else None
