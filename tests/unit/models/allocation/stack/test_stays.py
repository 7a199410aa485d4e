"""Calls in sequence share moves: who stays where, and for how long."""

from __future__ import annotations

from binalloc.models.allocation.stack.procedures import Event, Procedure
from binalloc.models.allocation.stack.slot_plan import ProcedurePlan, SitePlan, SlotMove
from binalloc.models.allocation.stack.stays import share_moves

V, U, W = 0, 1, 2
CALL = -1


def shared(
    homes: dict[int, int], shifts: list[int], stretches: list[list[tuple[int, set[int], bool]]], idle: int = -1
) -> ProcedurePlan:
    """What is left of the moves at calls that each bring what lies too high to the lowest free slots. stretches: of
    (variable or CALL, live behind it, whether it is a fresh store). idle: a call whose callee has no slots."""
    accesses = calls = 0
    events: list[list[Event]] = []
    sites = []
    for stretch in stretches:
        events.append([])
        for variable, live, fresh in stretch:
            number = calls if variable == CALL else accesses
            events[-1].append(Event(variable, number, sum(1 << v for v in live), fresh))
            accesses += variable != CALL
            if variable == CALL:
                start = shifts[calls]
                high = sorted(v for v in live if homes[v] >= start)
                free = [slot for slot in range(start) if slot not in {homes[v] for v in live}]
                moves = tuple(SlotMove(v, homes[v], t) for v, t in zip(high, free, strict=False))
                back = tuple(SlotMove(m.variable, m.target, m.source) for m in moves)
                sites.append(SitePlan("none" if calls == idle else "f", start, moves, back))
                calls += 1
    plans = {
        "main": ProcedurePlan("main", dict(homes), sites=sites, need=4),
        "f": ProcedurePlan("f", {0: 0}, need=1),
        "none": ProcedurePlan("none"),
    }
    procedures = {
        "main": Procedure("main", len(homes), [], [0] * len(homes), stretches=events),
        "f": Procedure("f", 1, [], [0]),
        "none": Procedure("none", 0, [], []),
    }
    share_moves(procedures, plans)
    return plans["main"]


def told(plan: ProcedurePlan) -> list[tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]]:
    """Moves before and behind each call."""
    return [
        ([(m.variable, m.source, m.target) for m in site.moves], [(m.variable, m.source, m.target) for m in site.back])
        for site in plan.sites
    ]


def test_two_calls_in_sequence_move_a_value_there_once_and_back_once() -> None:
    plan = shared({V: 1}, [1, 1], [[(CALL, {V}, False), (CALL, {V}, False)]])
    assert told(plan) == [([(V, 1, 0)], []), ([], [(V, 0, 1)])]
    assert plan.moved == {}


def test_three_calls_in_sequence_too() -> None:
    plan = shared({V: 1}, [1, 1, 1], [[(CALL, {V}, False)] * 3])
    assert told(plan) == [([(V, 1, 0)], []), ([], []), ([], [(V, 0, 1)])]


def test_calls_of_two_stretches_have_nothing_in_common() -> None:
    plan = shared({V: 1}, [1, 1], [[(CALL, {V}, False)], [(CALL, {V}, False)]])
    assert told(plan) == [([(V, 1, 0)], [(V, 0, 1)])] * 2


def test_accesses_in_between_go_where_the_value_lies() -> None:
    """Reloads and stores alike, those before and behind not."""
    calls = [(V, {V}, False), (CALL, {V}, False), (V, {V}, False), (V, {V}, False), (CALL, {V}, False)]
    plan = shared({V: 1}, [1, 1], [[*calls, (V, {V}, False)]])
    assert told(plan) == [([(V, 1, 0)], []), ([], [(V, 0, 1)])]
    assert plan.moved == {1: 0, 2: 0}


def test_a_value_that_dies_is_not_moved_back() -> None:
    plan = shared({V: 1}, [1], [[(CALL, {V}, False), (V, {V}, False), (V, set(), False)]])
    assert told(plan) == [([(V, 1, 0)], [])]
    assert plan.moved == {0: 0, 1: 0}


def test_a_value_that_begins_its_life_is_stored_where_it_is_wanted() -> None:
    events = [(V, {V}, True), (V, {V}, False), (CALL, {V}, False), (V, set(), False)]
    plan = shared({V: 1}, [1], [events])
    assert told(plan) == [([], [])]
    assert plan.moved == {0: 0, 1: 0, 2: 0}


def test_another_value_in_the_target_sends_it_home() -> None:
    """U is stored into slot 0, where V lies: V goes back behind the first call, and its reload is at home."""
    events = [
        (CALL, {V}, False), (V, {V}, False), (U, {U, V}, True), (U, {V}, False), (CALL, {V}, False),
    ]  # fmt: skip
    plan = shared({V: 1, U: 0}, [1, 1], [events])
    assert told(plan) == [([(V, 1, 0)], [(V, 0, 1)])] * 2
    assert plan.moved == {}


def test_so_does_a_store_that_nobody_reads() -> None:
    plan = shared({V: 1, U: 0}, [1, 1], [[(CALL, {V}, False), (U, {V}, True), (CALL, {V}, False)]])
    assert told(plan) == [([(V, 1, 0)], [(V, 0, 1)])] * 2


def test_a_value_is_not_stored_where_another_lies_until_later() -> None:
    """U still lives in slot 0 when V begins its life, or is moved there for an earlier call."""
    plan = shared({V: 1, U: 0}, [1], [[(V, {U, V}, True), (U, {V}, False), (CALL, {V}, False)]])
    assert told(plan) == [([(V, 1, 0)], [(V, 0, 1)])]
    events = [(V, {V, U}, True), (CALL, {V, U}, False), (U, {V}, False), (CALL, {V}, False), (V, set(), False)]
    plan = shared({U: 2, V: 1}, [2, 1], [events])
    assert told(plan) == [([(U, 2, 0)], []), ([(V, 1, 0)], [])]
    assert plan.moved == {1: 0, 2: 0}


def test_a_slot_is_chosen_in_which_a_value_can_stay() -> None:
    """Both slots are free at the first call, but U is stored into the lower one."""
    plan = shared({V: 2, U: 0}, [2, 2], [[(CALL, {V}, False), (U, {V, U}, True), (CALL, {V, U}, False)]])
    assert told(plan) == [([(V, 2, 1)], []), ([], [(V, 1, 2)])]


def test_a_value_goes_from_one_slot_straight_to_the_next() -> None:
    """Slot 0 is taken at the first call, and slot 1 the callee's at the second."""
    plan = shared({V: 2, U: 0}, [2, 1], [[(CALL, {V, U}, False), (U, {V}, False), (CALL, {V}, False)]])
    assert told(plan) == [([(V, 2, 1)], []), ([(V, 1, 0)], [(V, 0, 2)])]


def test_a_value_stays_over_a_call_that_leaves_room_for_it_anywhere() -> None:
    plan = shared({V: 1}, [1, 2, 1], [[(CALL, {V}, False)] * 3])
    assert told(plan) == [([(V, 1, 0)], []), ([], []), ([], [(V, 0, 1)])]


def test_a_value_that_may_be_home_makes_room_for_one_that_may_not() -> None:
    """At the second call V, in slot 0, could as well be home in slot 1, and W has to go somewhere."""
    plan = shared({V: 1, W: 2}, [1, 2, 1], [[(CALL, {V}, False), (CALL, {V, W}, False), (CALL, {V}, False)]])
    assert told(plan)[0] == ([(V, 1, 0)], [(V, 0, 1)])
    assert told(plan)[1][0] == [(W, 2, 0)]


def test_a_callee_that_starts_below_it_sends_it_on() -> None:
    """At the second call, lower down; there it may stay at the third."""
    plan = shared({V: 0, W: 2}, [2, 1, 2], [[(CALL, {V, W}, False), (CALL, {W}, False), (CALL, {W}, False)]])
    assert told(plan) == [([(W, 2, 1)], []), ([(W, 1, 0)], []), ([], [(W, 0, 2)])]


def test_a_callee_without_slots_disturbs_nobody() -> None:
    plan = shared({V: 1}, [1, 0, 1], [[(CALL, {V}, False)] * 3], idle=1)
    assert told(plan)[0] == ([(V, 1, 0)], [])
    assert told(plan)[2] == ([], [(V, 0, 1)])


def test_slots_are_chosen_by_who_needs_them_at_the_next_call() -> None:
    """U has to lie in slot 0 at the second call; V is dead by then."""
    events = [(CALL, {V, U}, False), (V, {U}, False), (CALL, {U}, False)]
    plan = shared({V: 2, U: 3}, [2, 1], [events])
    assert told(plan) == [([(V, 2, 1), (U, 3, 0)], []), ([], [(U, 0, 3)])]


def test_a_slot_is_chosen_in_which_a_value_can_begin() -> None:
    """Slot 0 is free at the call, but U lived there when V was stored."""
    events = [(V, {V, U}, True), (U, {V}, False), (CALL, {V}, False), (V, set(), False)]
    plan = shared({V: 2, U: 0}, [2], [events])
    assert told(plan) == [([], [])]
    assert plan.moved == {0: 1, 2: 1}


def test_a_value_that_a_call_has_moved_does_not_begin_elsewhere_for_a_later_one() -> None:
    """Slot 1 is free all the time, but at the first call V has to be below it."""
    events = [
        (V, {V, U}, True), (U, {V}, False), (CALL, {V}, False), (U, {U, V}, True), (CALL, {U, V}, False),
    ]  # fmt: skip
    plan = shared({V: 2, U: 0}, [1, 2], [events])
    assert told(plan) == [([(V, 2, 0)], [(V, 0, 2)]), ([(V, 2, 1)], [(V, 1, 2)])]
    assert plan.moved == {}
