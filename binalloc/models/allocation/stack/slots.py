"""This module plans the memory of a whole call graph: which memory values live in shared-memory slots (unified paper,
section 3.2.2).

Needs: for each procedure the memory variables live at the exit of each instruction, their interference, and its call
sites; the call graph must be acyclic. Leaves: a `SlotPlan` in which the kernel never needs more slots than it is given.

The steps: Max-live over the call graph, pruning of variables until it fits (`pruning`, `exact_pruning`), slot colouring
per procedure (`slot_colouring`), the moving stack's shifts and moves at calls, and local frames for the rest.

Where this differs from the paper:
- A call moves no values if no register is free for moving them, and none is set aside. The callee then starts above the
  highest of them.
- Priority "cost" is ours: it prunes by cost, renumbers slots so that calls find their live values low, and moves a
  value at a call only where the slots are needed. The callee starts as high as the slots allow. Values get the slots
  with the fewest moves left, and calls in sequence share moves (`stays`). On request, several prunings are planned to
  the end and the cheapest plan is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from binalloc.bitset import bits, mask_from
from binalloc.models.allocation.stack.exact_pruning import prune_exactly
from binalloc.models.allocation.stack.layouts import DEFAULT_LAYOUT, LAYOUTS
from binalloc.models.allocation.stack.matching import cheapest_matching
from binalloc.models.allocation.stack.procedures import (
    Procedure,
    ProcedureCall,
    all_variables,
    call_order,
    max_live,
    max_lives,
)
from binalloc.models.allocation.stack.pruning import PRIORITIES, prune
from binalloc.models.allocation.stack.slot_colouring import colour_slots
from binalloc.models.allocation.stack.slot_plan import PER_MOVE, ProcedurePlan, SitePlan, SlotMove, SlotPlan
from binalloc.models.allocation.stack.stays import share_moves

__all__ = [
    "PRIORITIES",
    "Procedure",
    "ProcedureCall",
    "ProcedurePlan",
    "SitePlan",
    "SlotMove",
    "SlotPlan",
    "call_order",
    "max_live",
    "max_lives",
    "plan_slots",
    "prune",
]


def plan_slots(
    procedures: Mapping[str, Procedure],
    kernel: str,
    slots: int,
    priority: str = "frequency",
    candidates: Mapping[str, int] | None = None,
    *,
    layout: str = DEFAULT_LAYOUT,
    far: float | None = None,
) -> SlotPlan:
    """Plan slots, moves and local frames for every procedure reachable from `kernel`; `need` of the kernel <= `slots`.

    Variables that colouring or an unmovable call site leaves without a slot go to local memory; with priority "cost",
    all is then planned again without them. candidates: as for `prune`, the only ones to get slots. layout: one of
    LAYOUTS; where nothing moves, callers take their slots first. far: cost of an access to local memory, in accesses to
    a slot; where it is known, and priority is "cost", the cheapest of several plans is sought. Raises Refused on
    recursion.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout {layout!r}: expected one of {', '.join(LAYOUTS)}")
    whole_frames = layout == "traditional"
    if layout != DEFAULT_LAYOUT:
        procedures = {name: _unmoved(procedure) for name, procedure in procedures.items()}
    kept = prune(procedures, kernel, slots, priority, candidates)
    plans = _plans(procedures, kernel, slots, kept, priority, whole_frames)
    if slots and far is not None and priority == "cost" and any(plan.local_of for plan in plans.values()):
        for other in _other_prunings(procedures, kernel, slots, kept, candidates):
            found = _plans(procedures, kernel, slots, other, priority, whole_frames)
            if _cost(procedures, found, far) < _cost(procedures, plans, far):
                plans = found
    return SlotPlan(kernel, slots, priority, max_live(procedures, kernel), plans)


def _other_prunings(
    procedures: Mapping[str, Procedure],
    kernel: str,
    slots: int,
    kept: Mapping[str, int],
    candidates: Mapping[str, int] | None,
) -> Iterator[Mapping[str, int]]:
    """Yield other prunings: the most expensive variables that fit; and variables of the kernel alone, which calls do
    not move."""
    exact = prune_exactly(procedures, kernel, slots, kept, candidates)
    if exact != kept:
        yield exact
    if len(kept) > 1:
        own = all_variables(procedures)[kernel] if candidates is None else candidates.get(kernel, 0)
        alone = prune(procedures, kernel, slots, "cost", {kernel: own})
        yield prune_exactly(procedures, kernel, slots, alone, {kernel: own})


def _cost(procedures: Mapping[str, Procedure], plans: Mapping[str, ProcedurePlan], far: float) -> float:
    """Return the cost of accesses and moves per run of the kernel, in accesses to a slot."""
    accesses = sum(
        procedures[name].cost_of(v) * (far if v in plan.local_of else 1)
        for name, plan in plans.items()
        for v in (*plan.slot_of, *plan.local_of)
    )
    return accesses + PER_MOVE * _moves_cost(procedures, plans)


def _plans(
    procedures: Mapping[str, Procedure],
    kernel: str,
    slots: int,
    kept: Mapping[str, int],
    priority: str,
    whole_frames: bool,
) -> dict[str, ProcedurePlan]:
    """Plan every procedure's memory, with slots for its `kept` variables as far as they can be coloured."""
    while True:
        plans = _assign(procedures, kernel, slots, kept, priority, whole_frames)
        failed = {name: mask_from(v for v, slot in plan.slot_of.items() if slot < 0) for name, plan in plans.items()}
        kept = {name: mask & ~failed.get(name, 0) for name, mask in kept.items()}
        if priority == "frequency" or not any(failed.values()):
            break
    for plan in plans.values():
        plan.slot_of = {v: slot for v, slot in plan.slot_of.items() if slot >= 0}
    _measure(plans)
    if priority == "cost":
        _avoid_moves(procedures, plans, kernel, slots)
    _local_frames(procedures, plans, kept)
    assert plans[kernel].need <= slots, "more slots than there are"
    assert all(not plan.local & plan.slot_of.keys() for plan in plans.values()), "a variable in two places"
    return plans


def _assign(
    procedures: Mapping[str, Procedure],
    kernel: str,
    slots: int,
    kept: Mapping[str, int],
    priority: str,
    whole_frames: bool,
) -> dict[str, ProcedurePlan]:
    """Colour callers before callees: each knows from its callers how many slots are left on the deepest path to it.

    With priority "cost", stop early at the first procedure that cannot be coloured, with -1 among its slots.
    """
    lives = max_lives(procedures, kernel, kept)
    plans: dict[str, ProcedurePlan] = {}
    budget = dict.fromkeys(lives, slots)
    for name in call_order(procedures, kernel):
        procedure, mask = procedures[name], kept[name]
        plan = plans[name] = ProcedurePlan(name, budget=budget[name])
        caps: dict[int, int] = {}
        for site in procedure.calls:
            if not site.movable:
                for v in bits(site.live_across & mask):
                    caps[v] = min(caps.get(v, slots), plan.budget - lives[site.callee])
        limit = min(lives[name], plan.budget) if priority == "frequency" else plan.budget
        costs = [procedure.cost_of(v) for v in range(procedure.variables)]
        plan.slot_of = dict(sorted(colour_slots(procedure.adjacency, mask, limit, caps, costs).items()))
        if priority == "cost" and -1 in plan.slot_of.values():
            return plans
        found = {v: slot for v, slot in plan.slot_of.items() if slot >= 0}
        assert all(slot < min(limit, caps.get(v, limit)) for v, slot in found.items()), "a slot beyond the limit"
        if priority == "cost":
            plan.slot_of = _renumber(procedure, plan.slot_of, caps)
        for site in procedure.calls:
            planned = _site(site, plan.slot_of)
            if whole_frames:
                planned = SitePlan(site.callee, max(plan.slot_of.values(), default=-1) + 1)
            plan.sites.append(planned)
            budget[site.callee] = min(budget[site.callee], plan.budget - planned.shift)
    return plans


def _unmoved(procedure: Procedure) -> Procedure:
    """Return the procedure with no call around which a variable can be moved."""
    return replace(procedure, calls=tuple(replace(site, movable=False) for site in procedure.calls))


def _renumber(procedure: Procedure, slot_of: dict[int, int], caps: Mapping[int, int]) -> dict[int, int]:
    """Swap whole slots so that those most often live across calls come first: fewer moves, and smaller shifts."""
    weight = [0.0] * (max(slot_of.values(), default=-1) + 1)
    for site in procedure.calls:
        for v in bits(site.live_across):
            if v in slot_of:
                weight[slot_of[v]] += site.weight
    order = sorted(range(len(weight)), key=lambda slot: (-weight[slot], slot))
    new = {old: number for number, old in enumerate(order)}
    renumbered = {v: new[slot] for v, slot in slot_of.items()}
    if any(renumbered[v] >= cap for v, cap in caps.items() if v in renumbered):
        return slot_of
    return renumbered


def _site(site: ProcedureCall, slot_of: Mapping[int, int], start: int | None = None) -> SitePlan:
    """Plan the shift and the moves at a call.

    start: first slot of the callee, with room below it for all that is live across the call; higher values are moved
    there. Without it the k live values take slots 0..k-1, or, if nothing can move, all stay in place.
    """
    across = [v for v in bits(site.live_across) if slot_of.get(v, -1) >= 0]
    occupied = {slot_of[v]: v for v in across}
    if len(occupied) < len(across):
        raise ValueError(f"variables live together across a call of {site.callee} do not interfere: {across}")
    if start is None:
        start = len(occupied) if site.movable else max(occupied, default=-1) + 1
    free = [slot for slot in range(start) if slot not in occupied]
    high = [slot for slot in sorted(occupied) if slot >= start]
    assert site.movable or not high, "what cannot move lies above the callee's start"
    moves = tuple(SlotMove(occupied[s], s, t) for s, t in zip(high, free, strict=False))
    assert len(moves) == len(high), "no room below the callee's start"
    back = tuple(SlotMove(m.variable, m.target, m.source) for m in moves)
    return SitePlan(site.callee, start, moves, back)


def _measure(plans: Mapping[str, ProcedurePlan]) -> None:
    """Set `need` of every procedure, callees first, and `budget` of callees, callers first."""
    order = list(plans.values())
    for plan in reversed(order):
        own = max(plan.slot_of.values(), default=-1) + 1
        plan.need = max([own, *(site.shift + plans[site.callee].need for site in plan.sites)])
    for plan in order[1:]:
        plan.budget = order[0].budget
    for plan in order:
        for site in plan.sites:
            callee = plans[site.callee]
            callee.budget = min(callee.budget, plan.budget - site.shift)


def _avoid_moves(
    procedures: Mapping[str, Procedure], plans: dict[str, ProcedurePlan], kernel: str, slots: int
) -> None:
    """Leave values in place at calls, wherever the kernel still fits its slots: callees start higher.

    Two ways are tried: callees start higher at calls with moves alone, the most frequent first; or at all calls, and
    values then get the slots that suit these starts. Calls in sequence share the moves that are left. The way with
    fewer is taken.
    """
    if not any(site.moves for plan in plans.values() for site in plan.sites):
        return
    first, other = plans, {name: replace(plan, sites=list(plan.sites), moved={}) for name, plan in plans.items()}
    _start_higher(procedures, first, kernel, slots, lambda site: bool(site.moves))
    _start_higher(procedures, other, kernel, slots, lambda site: True)
    for plan in other.values():
        _place_below_starts(procedures[plan.name], plan)
    for plan in (*first.values(), *other.values()):
        sites = zip(procedures[plan.name].calls, plan.sites, strict=True)
        plan.sites = [_lowest(site, plan.slot_of, planned.shift) for site, planned in sites]
    for found in (first, other):
        _measure(found)
        share_moves(procedures, found)
    if _moves_cost(procedures, other) < _moves_cost(procedures, first):
        plans.update(other)


def _moves_cost(procedures: Mapping[str, Procedure], plans: Mapping[str, ProcedurePlan]) -> float:
    """Return the number of moves per run of the kernel."""
    return sum(
        procedures[name].frequency * site.weight * planned.moved
        for name, plan in plans.items()
        for site, planned in zip(procedures[name].calls, plan.sites, strict=True)
    )


def _start_higher(
    procedures: Mapping[str, Procedure],
    plans: dict[str, ProcedurePlan],
    kernel: str,
    slots: int,
    wanted: Callable[[SitePlan], bool],
) -> None:
    """Give each wanted call the highest start that the kernel's slots allow, frequent calls first."""
    sites = [
        (-procedures[name].frequency * site.weight * max(len(planned.moves), 1), rank, number)
        for rank, name in enumerate(plans)
        for number, (site, planned) in enumerate(zip(procedures[name].calls, plans[name].sites, strict=True))
        if site.movable and site.live_across and wanted(planned)
    ]
    names = list(plans)
    for _, rank, number in sorted(sites):
        plan = plans[names[rank]]
        site, least = procedures[plan.name].calls[number], plan.sites[number].shift
        for start in range(max(plan.slot_of.values(), default=-1) + 1, least - 1, -1):
            plan.sites[number] = _site(site, plan.slot_of, start)
            _measure(plans)
            if plans[kernel].need <= slots:
                break


def _place_below_starts(procedure: Procedure, plan: ProcedurePlan) -> None:
    """Exchange whole slots, so that the fewest moves are left if no callee starts higher than it does now.

    It is an assignment problem: a slot costs each call across which a variable in it is live, if the callee starts at
    or below it. A variable that cannot move keeps below the start.
    """
    count = max(plan.slot_of.values(), default=-1) + 1
    never = 1.0 + count * sum(site.weight for site in procedure.calls)
    cost = [[0.0] * count for _ in range(count)]
    for site, planned in zip(procedure.calls, plan.sites, strict=True):
        across = {plan.slot_of[v] for v in bits(site.live_across) if v in plan.slot_of}
        for slot in across:
            for place in range(planned.shift, count):
                cost[slot][place] += site.weight if site.movable else never
    chosen = cheapest_matching(cost)
    if sum(cost[slot][chosen[slot]] for slot in range(count)) < sum(cost[slot][slot] for slot in range(count)):
        plan.slot_of = {v: chosen[slot] for v, slot in plan.slot_of.items()}


def _lowest(site: ProcedureCall, slot_of: Mapping[int, int], start: int) -> SitePlan:
    """Return the call with the lowest start that has no more moves than `start`."""
    across = [slot_of[v] for v in bits(site.live_across) if v in slot_of]
    below = max((slot + 1 for slot in across if slot < start), default=0)
    return _site(site, slot_of, min(start, max(below, len(across))))


def _local_frames(
    procedures: Mapping[str, Procedure], plans: Mapping[str, ProcedurePlan], kept: Mapping[str, int]
) -> None:
    """Give local words to the variables without a slot, reused within a frame; frames stack along the deepest call
    chain."""
    for name, plan in plans.items():
        procedure = procedures[name]
        rest = ((1 << procedure.variables) - 1) & ~kept[name]
        most = max((live & rest).bit_count() for live in (*procedure.live_sets(), 0))
        plan.local_of = _fewest_words(procedure.adjacency, rest, most)
        plan.local_words = max(plan.local_of.values(), default=-1) + 1
    for plan in plans.values():
        for site in plan.sites:
            callee = plans[site.callee]
            callee.local_offset = max(callee.local_offset, plan.local_offset + plan.local_words)


def _fewest_words(adjacency: Sequence[int], wanted: int, least: int) -> dict[int, int]:
    """Colour with as few words as the heuristic manages, starting from the lower bound `least`."""
    for words in range(least, wanted.bit_count() + 1):
        found = colour_slots(adjacency, wanted, words)
        if -1 not in found.values():
            return dict(sorted(found.items()))
    raise AssertionError("one word per variable always suffices")
