"""All functions of a call graph at once: small graphs whose cheapest code is worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from binalloc.models.allocation.joint import JointCall, JointFunction, solve_jointly
from binalloc.models.allocation.spills import NONE, Comeback, Spills


def function(
    name: str,
    lying: Sequence[Sequence[int]],
    costs: Sequence[float],
    *,
    callee: str = "",
    across: Sequence[int] = (),
    passed: Sequence[int] = (),
    arguments: Sequence[int] = (),
    runs: float = 1.0,
    slots: int = 0,
    near: float = 1.0,
    far: float = 1.0,
) -> JointFunction:
    """By point, the values that live there; by value, which has one region, what its comeback costs. callee: that it
    calls, inside of its last point but for `across`."""
    points = [*lying, *([across] if callee else [])]
    where = [[(p, p + 1) for p, there in enumerate(points) if v in there] for v in range(len(costs))]
    comebacks = [Comeback(v, NONE, cost) for v, cost in enumerate(costs)]
    spills = Spills(list(range(len(costs))), where, near, far, slots, comebacks)
    pressure = np.array([len(there) for there in points], np.int32)
    own = np.array([len(set(there) - set(arguments)) for there in lying] + [0] * bool(callee), np.int32)
    calls = [JointCall(callee, len(lying), frozenset(across), frozenset(passed))] if callee else []
    return JointFunction(name, spills, runs, pressure, own, frozenset(arguments), calls)


@pytest.mark.parametrize(("runs", "cost", "registers"), [(1.0, 3.0, 1), (3.0, 9.0, 1), (4.0, 10.0, 2)])
def test_the_cheaper_side_of_a_call_spills(runs: float, cost: float, registers: int) -> None:
    """Three registers, two values across the call, two in the callee: one of the four leaves."""
    callee = function("f", [[0, 1]], [3.0, 7.0], runs=runs)
    kernel = function("k", [[0, 1]], [10.0, 20.0], callee="f", across=[0, 1])
    found = solve_jointly([callee, kernel], 3, limit=1.0)
    assert (found.status, found.value, found.bound) == ("optimal", cost, cost)
    assert found.registers == {"f": registers}


def test_arguments_that_live_on_share_the_registers_of_the_callee() -> None:
    """Two values across the call, both its arguments: the callee's two are the same registers."""
    kernel = function("k", [[0, 1]], [10.0, 20.0], callee="f", across=[0, 1], passed=[0, 1])
    shared = function("f", [[0, 1, 2]], [50.0, 50.0, 50.0], arguments=[0, 1])
    assert solve_jointly([shared, kernel], 3, limit=1.0).bound == 0.0
    own = function("f", [[0, 1, 2]], [50.0, 50.0, 50.0])
    assert solve_jointly([own, kernel], 3, limit=1.0).bound == 30.0


def test_what_is_no_argument_is_apart_from_all_that_the_callee_has() -> None:
    """The callee overwrites nothing, but its two arguments are somewhere."""
    kernel = function("k", [[0, 1]], [10.0, 20.0], callee="f", across=[0, 1])
    callee = function("f", [[0, 1]], [50.0, 50.0], arguments=[0, 1])
    assert solve_jointly([callee, kernel], 3, limit=1.0).bound == 10.0


def test_calls_of_calls_add_up() -> None:
    """One value across each call and two in the last: three registers are one too few, four enough."""
    last = function("h", [[0, 1]], [8.0, 9.0])
    middle = function("f", [[0]], [5.0], callee="h", across=[0])
    kernel = function("k", [[0]], [6.0], callee="f", across=[0])
    for registers, cost, needed in ((4, 0.0, {"h": 2, "f": 3}), (3, 5.0, {"h": 2, "f": 2})):
        found = solve_jointly([last, middle, kernel], registers, limit=1.0)
        assert found.bound == cost
        assert found.registers == needed


@pytest.mark.parametrize(("slots", "cost"), [(3, 3.0), (2, 6.0), (1, 9.0), (0, 12.0)])
def test_slots_lie_on_a_stack(slots: int, cost: float) -> None:
    """No register for either of two values across the call, and one too few in the callee: of three values as many are
    in local memory, at four times the price, as there are slots too few."""
    near = 1.0 if slots else 4.0
    callee = function("f", [[0, 1]], [1.0, 50.0], slots=slots, near=near, far=4.0)
    kernel = function("k", [[0, 1]], [1.0, 1.0], callee="f", across=[0, 1], slots=slots, near=near, far=4.0)
    assert solve_jointly([callee, kernel], 1, limit=1.0).bound == cost


def test_what_cannot_be() -> None:
    """A value without a region is always there."""
    kernel = function("k", [[0]], [1.0])
    pressure = np.array([3], np.int32)
    found = solve_jointly([JointFunction("k", kernel.spills, 1.0, pressure, pressure, frozenset(), [])], 1, limit=1.0)
    assert (found.status, found.registers) == ("infeasible", None)
