"""Slots over a call graph (unified paper, section 3.2.2): Max-live, pruning, slot colouring, moves, local frames."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from binalloc.bitset import bits, mask_from
from binalloc.errors import Refused
from binalloc.models.allocation.stack.layouts import LAYOUTS
from binalloc.models.allocation.stack.slot_colouring import colour_slots
from binalloc.models.allocation.stack.slots import (
    PRIORITIES,
    Procedure,
    ProcedureCall,
    SlotMove,
    max_live,
    max_lives,
    plan_slots,
    prune,
)
from tests.support.oracles.chordal import is_chordal


def procedure(
    name: str,
    variables: int,
    live: Sequence[set[int]],
    calls: Sequence[ProcedureCall] = (),
    cost: Sequence[float] = (),
    frequency: float = 1.0,
) -> Procedure:
    """A procedure whose interference is exactly what is live together."""
    adjacency = [0] * variables
    for together in [*(mask_from(s) for s in live), *(site.live_across for site in calls)]:
        for v in bits(together):
            adjacency[v] |= together & ~(1 << v)
    return Procedure(name, variables, [mask_from(s) for s in live], adjacency, calls, cost, frequency)


def chain(movable: bool = True) -> dict[str, Procedure]:
    """The three procedures of Fig. 3: four variables each; {0, 2} live at A's call, {1, 2} at B's."""
    return {
        "A": procedure("A", 4, [{0, 1, 2, 3}, {0, 2}], [ProcedureCall("B", 0b0101, movable)]),
        "B": procedure("B", 4, [{0, 1, 2, 3}, {1, 2}], [ProcedureCall("C", 0b0110, movable)]),
        "C": procedure("C", 4, [{0, 1, 2, 3}]),
    }


def test_max_live_adds_the_callee_at_a_call() -> None:
    assert max_lives(chain(), "A") == {"A": 8, "B": 6, "C": 4}


def test_max_live_takes_the_worst_call_and_counts_a_shared_callee_once_per_path() -> None:
    leaf = procedure("leaf", 3, [{0, 1, 2}])
    left = procedure("left", 2, [{0}, {0, 1}], [ProcedureCall("leaf", 0b1), ProcedureCall("leaf", 0b11)])
    main = procedure("main", 5, [{0, 1, 2, 3, 4}], [ProcedureCall("leaf", 0b11), ProcedureCall("left", 0b1)])
    assert max_live({"main": main, "left": left, "leaf": leaf}, "main") == 6


def test_fig_3_fits_eight_slots_with_one_move_per_call() -> None:
    plan = plan_slots(chain(), "A", 8)
    assert plan.need == plan.max_live == 8
    assert all(not p.local for p in plan.procedures.values())
    assert [len(p.sites[0].moves) for p in list(plan.procedures.values())[:2]] == [1, 1]
    assert [p.budget for p in plan.procedures.values()] == [8, 6, 4]


def test_fig_3_in_three_layouts() -> None:
    """The register stack's 10 of the paper is for its numbering; here what lives across calls comes first."""
    needs = {layout: plan_slots(chain(), "A", 12, layout=layout).need for layout in LAYOUTS}
    assert needs == {"traditional": 12, "register": 9, "moving": 8}


@pytest.mark.parametrize("priority", PRIORITIES)
@pytest.mark.parametrize("slots", range(12))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_to_its_slots(layout: str, slots: int, priority: str) -> None:
    plan = plan_slots(chain(), "A", slots, priority, layout=layout)
    assert plan.need <= slots
    start = 0
    for found in list(plan.procedures.values())[:2]:
        (site,) = found.sites
        frame = max(found.slot_of.values(), default=-1) + 1
        assert layout == "moving" or not site.moves
        assert layout != "traditional" or site.shift == frame
        start += site.shift
    last = list(plan.procedures.values())[2]
    assert start + last.need <= plan.need


def test_fig_3_in_seven_slots_prunes_exactly_one_variable() -> None:
    plan = plan_slots(chain(), "A", 7)
    assert sum(len(p.local) for p in plan.procedures.values()) == 1
    assert plan.need <= 7


def test_pruning_counts_frequency_over_composition_instructions() -> None:
    """leaf's only instruction is reached by two calls; every composition instruction over the limit counts once."""
    leaf = procedure("leaf", 2, [{0, 1}, {0}])
    main = procedure("main", 2, [{0, 1}, {0}, {1}], [ProcedureCall("leaf", 0b11), ProcedureCall("leaf", 0b01)])
    procedures = {"main": main, "leaf": leaf}
    # limit 2. Over: call 0 with leaf's {0,1} (4 live) and {0} (3); call 1 with leaf's {0,1} (3).
    # Frequencies: main v0 3, main v1 2, leaf v0 3, leaf v1 2. Step 3 drops main v1 first (tie: callers first), then
    # Max-live is 3 (through either call), then leaf v1, then Max-live is 2.
    assert prune(procedures, "main", 2) == {"main": 0b01, "leaf": 0b01}


def test_frequency_is_computed_once_and_not_again_after_a_drop() -> None:
    """Step 3 repeats, not step 2: variable 2 keeps its old low priority although it relieves nothing any more."""
    main = procedure("main", 5, [{0, 1, 2}, {0, 1, 3}, {0, 1, 4}, {0, 3, 4}, {0, 1, 3, 4}])
    # limit 2: all five over; frequency v0 5, v1 4, v2 1, v3 3, v4 3.
    assert prune({"main": main}, "main", 2)["main"] == 0b00011


def test_ties_go_to_the_cheaper_variable_then_to_the_lower_number() -> None:
    main = procedure("main", 3, [{0, 1, 2}], cost=[2.0, 1.0, 1.0])
    assert prune({"main": main}, "main", 2)["main"] == 0b101
    assert prune({"main": main}, "main", 1)["main"] == 0b001


def test_cost_priority_keeps_the_dear_variables() -> None:
    main = procedure("main", 4, [{0, 1, 2}, {0, 1, 3}, {0, 2, 3}], cost=[1.0, 9.0, 9.0, 9.0])
    assert prune({"main": main}, "main", 2, "frequency")["main"] == 0b1001  # v0 is the most frequent
    assert prune({"main": main}, "main", 2, "cost")["main"] == 0b1110


def test_cost_priority_weighs_procedures_by_their_frequency() -> None:
    leaf = procedure("leaf", 1, [{0}], cost=[3.0], frequency=10.0)
    main = procedure("main", 1, [{0}], [ProcedureCall("leaf", 1)], cost=[20.0])
    assert prune({"main": main, "leaf": leaf}, "main", 1, "cost") == {"main": 0, "leaf": 1}


def test_cost_priority_takes_back_what_later_drops_made_needless() -> None:
    """v0 relieves two points cheaply per point, but the drops that follow would have sufficed without it."""
    live = [{0, 1, 2}, {0, 3, 4}]
    main = procedure("main", 5, live, cost=[4.0, 3.0, 3.0, 3.0, 3.0])
    assert prune({"main": main}, "main", 1, "cost")["main"].bit_count() == 2
    assert prune({"main": main}, "main", 2, "cost")["main"] == 0b11110


def test_highest_degree_first_and_a_used_slot_is_preferred() -> None:
    # A star around 3: it is coloured first and takes slot 0; the leaves share slot 1 although slot 2 is free.
    adjacency = [0b1000, 0b1000, 0b1000, 0b0111]
    assert colour_slots(adjacency, 0b1111, 3) == {3: 0, 0: 1, 1: 1, 2: 1}


def test_uncolourable_goes_to_local_memory() -> None:
    triangle = [0b110, 0b101, 0b011]
    assert colour_slots(triangle, 0b111, 2) == {0: 0, 1: 1, 2: -1}


def test_a_path_that_defeats_highest_degree_first_still_does_not_spill() -> None:
    """Path 0-1-3-4-2-5: ties take 1, 2 and 3 first, which costs 4 a third colour; a path is chordal."""
    edges = [(0, 1), (1, 3), (3, 4), (4, 2), (2, 5)]
    adjacency = [0] * 6
    for a, b in edges:
        adjacency[a] |= 1 << b
        adjacency[b] |= 1 << a
    assert is_chordal(adjacency, 0b111111)
    assert -1 not in colour_slots(adjacency, 0b111111, 2).values()


def test_a_square_is_not_chordal_until_it_has_a_chord() -> None:
    square = [0b1010, 0b0101, 0b1010, 0b0101]
    assert not is_chordal(square, 0b1111)
    assert is_chordal([0b1110, 0b0101, 0b1011, 0b0101], 0b1111)
    assert is_chordal(square, 0b0111)


def test_unmovable_calls_put_the_callee_above_the_highest_live_slot() -> None:
    live = [{0, 1, 2}, {2}]
    main = procedure("main", 3, live, [ProcedureCall("leaf", 0b100, movable=False)])
    leaf = procedure("leaf", 1, [{0}])
    plan = plan_slots({"main": main, "leaf": leaf}, "main", 4)
    site = plan.procedures["main"].sites[0]
    assert site.moves == ()
    assert site.shift == plan.procedures["main"].slot_of[2] + 1


def test_unmovable_call_keeps_its_variable_low_enough_for_the_callee() -> None:
    main = procedure("main", 3, [{0, 1, 2}, {2}], [ProcedureCall("leaf", 0b100, movable=False)])
    leaf = procedure("leaf", 2, [{0, 1}])
    plan = plan_slots({"main": main, "leaf": leaf}, "main", 3)
    assert plan.procedures["main"].slot_of[2] == 0
    assert plan.need == 3
    assert not any(p.local for p in plan.procedures.values())


def test_renumbering_for_hot_calls_respects_unmovable_ones() -> None:
    """v1 is live across the hot call and would get slot 0, but v0 cannot be moved and must leave room for leaf."""
    calls = [ProcedureCall("leaf", 0b01, movable=False), ProcedureCall("leaf", 0b10, weight=8.0)]
    main = procedure("main", 3, [{0, 1, 2}], calls)
    plan = plan_slots({"main": main, "leaf": procedure("leaf", 2, [{0, 1}])}, "main", 3, "cost")
    assert plan.procedures["main"].slot_of[0] == 0
    assert plan.need == 3
    assert not any(p.local for p in plan.procedures.values())


def test_frequency_plan_moves_and_cost_plan_finds_a_numbering_without_moves() -> None:
    paper, ours = (plan_slots(chain(), "A", 8, priority) for priority in ("frequency", "cost"))
    assert paper.procedures["A"].sites[0].moves == (SlotMove(2, 2, 1),)
    assert all(not site.moves for p in ours.procedures.values() for site in p.sites)
    assert ours.need == 8


def test_cost_plan_leaves_values_in_place_where_slots_are_idle() -> None:
    """Two calls want different variables low; with an idle slot only nothing has to move."""
    calls = [ProcedureCall("leaf", 0b01), ProcedureCall("leaf", 0b10)]
    main = procedure("main", 2, [{0, 1}], calls)
    procedures = {"main": main, "leaf": procedure("leaf", 1, [{0}])}
    tight, roomy = (plan_slots(procedures, "main", slots, "cost").procedures["main"].sites for slots in (2, 3))
    assert [len(s.moves) for s in tight] == [0, 1]
    assert [len(s.moves) for s in roomy] == [0, 0]
    assert [s.shift for s in roomy] == [1, 2]


def test_local_frames_reuse_words_and_stack_along_the_deepest_chain() -> None:
    leaf = procedure("leaf", 1, [{0}])
    mid = procedure("mid", 4, [{0, 1}, {2, 3}], [ProcedureCall("leaf", 0b1)])
    main = procedure("main", 1, [{0}], [ProcedureCall("mid", 0b1), ProcedureCall("leaf", 0b1)])
    plan = plan_slots({"main": main, "mid": mid, "leaf": leaf}, "main", 0)
    found = {name: (p.local_offset, p.local_words) for name, p in plan.procedures.items()}
    assert found == {"main": (0, 1), "mid": (1, 2), "leaf": (3, 1)}
    assert plan.local_words == 4
    assert plan.need == 0


def test_dump_is_stable_text() -> None:
    assert plan_slots(chain(), "A", 7, "frequency").dump() == (
        "slots 7 of 7, Max-live 8, local words 1, priority frequency\n"
        "procedure A: need 7 of 7, local frame [0, 1)\n"
        "  v1 slot 0\n"
        "  v2 slot 1\n"
        "  v3 slot 2\n"
        "  v0 local 0\n"
        "  call 0 B: shift 1, v2 1->0, back v2 0->1\n"
        "procedure B: need 6 of 6, local frame [1, 1)\n"
        "  v0 slot 0\n"
        "  v1 slot 1\n"
        "  v2 slot 2\n"
        "  v3 slot 3\n"
        "  call 0 C: shift 2, v2 2->0, back v2 0->2\n"
        "procedure C: need 4 of 4, local frame [1, 1)\n"
        "  v0 slot 0\n"
        "  v1 slot 1\n"
        "  v2 slot 2\n"
        "  v3 slot 3\n"
    )


def test_recursion_unknown_callees_and_priorities_are_refused() -> None:
    a = procedure("a", 1, [{0}], [ProcedureCall("b", 0)])
    b = procedure("b", 1, [{0}], [ProcedureCall("a", 0)])
    with pytest.raises(Refused, match="recursion"):
        plan_slots({"a": a, "b": b}, "a", 1)
    with pytest.raises(Refused, match="unknown procedure"):
        plan_slots({"a": a}, "a", 1)
    with pytest.raises(ValueError, match="priority"):
        prune({"b": procedure("b", 0, [])}, "b", 1, "best")


def test_variables_live_across_a_call_that_do_not_interfere_are_an_error() -> None:
    wrong = Procedure("main", 2, [0b11], [0, 0], [ProcedureCall("leaf", 0b11)])
    with pytest.raises(ValueError, match="do not interfere"):
        plan_slots({"main": wrong, "leaf": procedure("leaf", 0, [])}, "main", 2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("priority", PRIORITIES)
@pytest.mark.parametrize("slots", range(16))
def test_whole_frames_may_leave_a_callee_no_slots(layout: str, priority: str, slots: int) -> None:
    """The frame of A below B leaves B fewer slots than C has: what lives across that call finds none."""
    procedures = {
        "A": procedure("A", 8, [set(range(8)), set()], [ProcedureCall("B", 0)]),
        "B": procedure("B", 1, [{0}], [ProcedureCall("C", 0b1)]),
        "C": procedure("C", 10, [set(range(10))]),
    }
    plan = plan_slots(procedures, "A", slots, priority, layout=layout)
    assert plan.need <= slots
    if layout == "moving" and slots >= 11:
        assert not any(p.local for p in plan.procedures.values())
