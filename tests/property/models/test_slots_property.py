"""Random call graphs: pruning equals the paper's enumeration, and a walk over every call path finds no slot clash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from binalloc.bitset import bits
from binalloc.models.allocation.stack.exact_pruning import prune_exactly
from binalloc.models.allocation.stack.slot_colouring import colour_slots, search_order
from binalloc.models.allocation.stack.slots import (
    PRIORITIES,
    Procedure,
    ProcedureCall,
    SlotPlan,
    call_order,
    max_live,
    plan_slots,
    prune,
)
from tests.support.oracles.chordal import is_chordal

NAMES = ("kernel", "f", "g", "h")


@st.composite
def call_graphs(draw: st.DrawFn) -> dict[str, Procedure]:
    """Up to four procedures; each calls later ones only. Interference is what is live together, plus extra edges."""
    count = draw(st.integers(1, 4))
    result = {}
    for number, name in enumerate(NAMES[:count]):
        variables = draw(st.integers(0, 6))
        sets = st.integers(0, (1 << variables) - 1)
        live = draw(st.lists(sets, min_size=1, max_size=6))
        calls = []
        if number + 1 < count:
            for _ in range(draw(st.integers(0, 3))):
                callee = draw(st.sampled_from(NAMES[number + 1 : count]))
                across = draw(sets) & draw(sets)
                calls.append(ProcedureCall(callee, across, draw(st.booleans()), draw(st.sampled_from([1.0, 8.0]))))
                live.append(across)
        adjacency = [0] * variables
        for together in [*live, draw(sets) & draw(sets)]:
            for v in bits(together):
                adjacency[v] |= together & ~(1 << v)
        cost = draw(st.lists(st.sampled_from([1.0, 2.0, 30.0]), min_size=variables, max_size=variables))
        result[name] = Procedure(name, variables, live, adjacency, calls, cost, draw(st.sampled_from([1.0, 4.0])))
    return result


def compositions(
    procedures: dict[str, Procedure],
    name: str,
    above: frozenset[tuple[str, int]] = frozenset(),
) -> Iterator[frozenset[tuple[str, int]]]:
    """Live set of every composition instruction, enumerated as the paper defines them."""
    for live in procedures[name].live_exit:
        yield above | {(name, v) for v in bits(live)}
    for site in procedures[name].calls:
        yield from compositions(procedures, site.callee, above | {(name, v) for v in bits(site.live_across)})


@settings(max_examples=150, derandomize=True)
@given(call_graphs(), st.integers(0, 8))
def test_pruning_by_frequency_is_the_papers_enumeration(procedures: dict[str, Procedure], slots: int) -> None:
    lives = list(compositions(procedures, "kernel"))
    assert max_live(procedures, "kernel") == max(len(live) for live in lives)
    over = [live for live in lives if len(live) > slots]
    frequency = {v: sum(v in live for live in over) for v in frozenset().union(*over)}
    rank = {name: n for n, name in enumerate(call_order(procedures, "kernel"))}
    dropped: set[tuple[str, int]] = set()
    for v in sorted(frequency, key=lambda v: (frequency[v], procedures[v[0]].cost_of(v[1]), rank[v[0]], v[1])):
        if max(len(live - dropped) for live in lives) <= slots:
            break
        dropped.add(v)
    kept = prune(procedures, "kernel", slots)
    assert {(n, v) for n in rank for v in range(procedures[n].variables) if not kept[n] >> v & 1} == dropped


@settings(max_examples=300, derandomize=True)
@given(call_graphs(), st.integers(0, 8))
def test_pruning_by_cost_is_its_definition(procedures: dict[str, Procedure], slots: int) -> None:
    """Every drop counted from the start over all composition instructions; then what fits is taken back."""
    lives = list(compositions(procedures, "kernel"))
    rank = {name: n for n, name in enumerate(call_order(procedures, "kernel"))}
    cost = {(n, v): procedures[n].cost_of(v) for n in rank for v in range(procedures[n].variables)}
    dropped: set[tuple[str, int]] = set()
    while over := [live - dropped for live in lives if len(live - dropped) > slots]:
        frequency = {v: sum(v in live for live in over) for v in frozenset().union(*over)}
        dropped.add(min(frequency, key=lambda v: (cost[v] / frequency[v], cost[v], rank[v[0]], v[1])))
    for v in sorted(dropped, key=lambda v: (-cost[v], rank[v[0]], v[1])):
        if max(len(live - (dropped - {v})) for live in lives) <= slots:
            dropped.discard(v)
    kept = prune(procedures, "kernel", slots, "cost")
    assert {v for v in cost if not kept[v[0]] >> v[1] & 1} == dropped


@settings(max_examples=100, derandomize=True)
@given(call_graphs(), st.integers(0, 8))
def test_pruning_by_cost_fits_and_drops_nothing_needlessly(procedures: dict[str, Procedure], slots: int) -> None:
    kept = prune(procedures, "kernel", slots, "cost")
    assert max_live(procedures, "kernel", kept) <= slots
    for name, mask in kept.items():
        for v in range(procedures[name].variables):
            if not mask >> v & 1:
                assert max_live(procedures, "kernel", {**kept, name: mask | 1 << v}) > slots


@settings(max_examples=150, derandomize=True)
@given(call_graphs(), st.integers(0, 8))
def test_exact_pruning_keeps_the_dearest_that_fit(procedures: dict[str, Procedure], slots: int) -> None:
    """Of all subsets; with another start the same cost."""
    order = call_order(procedures, "kernel")
    everything = [(n, v) for n in order for v in range(procedures[n].variables)]
    assume(len(everything) <= 12)  # no more than can be tried
    lives = list(compositions(procedures, "kernel"))

    def worth(kept: Mapping[str, int]) -> float:
        return sum(procedures[n].cost_of(v) for n, v in everything if kept[n] >> v & 1)

    found = prune_exactly(procedures, "kernel", slots, prune(procedures, "kernel", slots, "cost"))
    assert max_live(procedures, "kernel", found) <= slots
    assert worth(prune_exactly(procedures, "kernel", slots, dict.fromkeys(order, 0))) == worth(found)
    for chosen in range(1 << len(everything)):
        kept = {v for k, v in enumerate(everything) if chosen >> k & 1}
        if all(len(live & kept) <= slots for live in lives):
            assert sum(procedures[n].cost_of(v) for n, v in kept) <= worth(found)


@settings(max_examples=300, derandomize=True)
@given(call_graphs(), st.integers(0, 8), st.sampled_from([1.5, 6.0]))
def test_the_cheapest_of_several_plans_is_kept(procedures: dict[str, Procedure], slots: int, far: float) -> None:
    """It costs no more than the one plan, and than slots for the kernel alone."""

    def cost(plan: SlotPlan) -> float:
        own = plan.procedures
        accesses = sum(procedures[n].cost_of(v) * far for n in own for v in own[n].local_of)
        accesses += sum(procedures[n].cost_of(v) for n in own for v in own[n].slot_of)
        calls = [(n, *pair) for n in own for pair in zip(procedures[n].calls, own[n].sites, strict=True)]
        return accesses + sum(2 * procedures[n].frequency * c.weight * s.moved for n, c, s in calls)

    found = plan_slots(procedures, "kernel", slots, "cost", far=far)
    walk(found, procedures, "kernel", 0, set())
    assert found.need <= slots
    alone = {"kernel": (1 << procedures["kernel"].variables) - 1}
    for candidates in (None, alone):
        assert cost(found) <= cost(plan_slots(procedures, "kernel", slots, "cost", candidates)) + 1e-9


def walk(plan: SlotPlan, procedures: dict[str, Procedure], name: str, base: int, held: set[int]) -> None:
    """Execute every call path: `held` are absolute slots of live values of the callers."""
    own = plan.procedures[name]
    procedure = procedures[name]
    for v, slot in own.slot_of.items():
        assert slot >= 0
        assert base + slot < plan.slots
        assert base + slot not in held
        assert all(own.slot_of[n] != slot for n in bits(procedure.adjacency[v]) if n in own.slot_of)
    for site, planned in zip(procedure.calls, own.sites, strict=True):
        where = {v: own.slot_of[v] for v in bits(site.live_across) if v in own.slot_of}
        for move in planned.moves:  # through one scratch register, one after another
            assert site.movable
            assert where[move.variable] == move.source >= planned.shift > move.target
            assert move.target not in where.values()
            where[move.variable] = move.target
        assert all(slot < planned.shift for slot in where.values())
        walk(plan, procedures, site.callee, base + planned.shift, held | {base + s for s in where.values()})


@settings(max_examples=300, derandomize=True)
@given(call_graphs(), st.integers(0, 9), st.sampled_from(PRIORITIES))
def test_no_call_path_clashes_or_overflows(procedures: dict[str, Procedure], slots: int, priority: str) -> None:
    plan = plan_slots(procedures, "kernel", slots, priority)
    walk(plan, procedures, "kernel", 0, set())
    assert plan.need <= slots
    for name, own in plan.procedures.items():
        assert sorted([*own.slot_of, *own.local_of]) == list(range(procedures[name].variables))
        for v, word in own.local_of.items():
            assert 0 <= word < own.local_words
            assert all(own.local_of[n] != word for n in bits(procedures[name].adjacency[v]) if n in own.local_of)
        for site in own.sites:
            assert plan.procedures[site.callee].local_offset >= own.local_offset + own.local_words
    assert plan.dump() == plan_slots(procedures, "kernel", slots, priority).dump()


@settings(max_examples=100, derandomize=True)
@given(call_graphs(), st.sampled_from(PRIORITIES))
def test_max_live_slots_suffice_without_local_memory_where_chordal_and_movable(
    procedures: dict[str, Procedure], priority: str
) -> None:
    reachable = [procedures[name] for name in call_order(procedures, "kernel")]
    good = all(is_chordal(p.adjacency, (1 << p.variables) - 1) for p in reachable)
    good = good and all(site.movable for p in reachable for site in p.calls)
    good = good and all(clique_of(p) <= max(live.bit_count() for live in p.live_exit) for p in reachable)
    plan = plan_slots(procedures, "kernel", max_live(procedures, "kernel"), priority)
    if good:
        assert not any(p.local for p in plan.procedures.values())


def clique_of(procedure: Procedure) -> int:
    """Largest clique of a chordal graph."""
    seen, best = 0, 0
    for v in search_order(procedure.adjacency, (1 << procedure.variables) - 1):
        best = max(best, 1 + (procedure.adjacency[v] & seen).bit_count())
        seen |= 1 << v
    return best


@settings(max_examples=150, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10)), min_size=1, max_size=14))
def test_interval_graphs_are_chordal_and_never_spill(intervals: list[tuple[int, int]]) -> None:
    spans = [(start, start + length) for start, length in intervals]
    adjacency = [0] * len(spans)
    for a, (start, end) in enumerate(spans):
        for b, (other, until) in enumerate(spans):
            if a != b and start < until and other < end:
                adjacency[a] |= 1 << b
    everything = (1 << len(spans)) - 1
    needed = max(sum(start <= t < end for start, end in spans) for t in range(32))
    assert is_chordal(adjacency, everything)
    assert -1 not in colour_slots(adjacency, everything, needed).values()
