"""All functions at once against every choice of what leaves, on random chains of three functions."""

from __future__ import annotations

import random
from itertools import product
from math import inf

import numpy as np

from binalloc.models.allocation.joint import JointCall, JointFunction, solve_jointly
from binalloc.models.allocation.spills import NONE, Comeback, Spills

VALUES, POINTS = 3, 3


def drawn(rng: random.Random, name: str, callee: str) -> JointFunction:
    """Each value has one region, over any points, across the call or not; some are arguments, some are passed on."""
    count = rng.randint(1, VALUES)
    lying = [sorted(rng.sample(range(POINTS), rng.randint(1, POINTS))) for _ in range(count)]
    across = [v for v in range(count) if callee and rng.random() < 0.6]
    points = [[(p, p + 1) for p in (*mine, *([POINTS] if v in across else []))] for v, mine in enumerate(lying)]
    comebacks = [Comeback(v, NONE, float(rng.randint(1, 9))) for v in range(count)]
    arguments = frozenset(v for v in range(count) if rng.random() < 0.3)
    pressure, own = np.zeros(POINTS + 1, np.int32), np.zeros(POINTS + 1, np.int32)
    for v, mine in enumerate(lying):
        pressure[mine] += 1
        own[mine] += v not in arguments
    passed = frozenset(v for v in across if rng.random() < 0.3)
    calls = [JointCall(callee, POINTS, frozenset(across), passed)] if callee else []
    runs = float(rng.choice((1, 2, 5)))
    spills = Spills(list(range(count)), points, comebacks=comebacks)
    return JointFunction(name, spills, runs, pressure, own, arguments, calls)


def cheapest(functions: list[JointFunction], registers: int) -> float:
    best = inf
    every = [product((False, True), repeat=len(one.spills.value)) for one in functions]
    for choice in product(*map(list, every)):
        cost = sum(
            one.runs * back.weight
            for one, spilled in zip(functions, choice, strict=True)
            for back in one.spills.comebacks
            if spilled[back.region]
        )
        if cost < best and fits(functions, choice, registers):
            best = cost
    return best


def fits(functions: list[JointFunction], choice: tuple[tuple[bool, ...], ...], registers: int) -> bool:
    """Callees first: what each has at once, and what of it is not its callers'."""
    there: dict[str, int] = {}
    written: dict[str, int] = {}
    for one, spilled in zip(functions, choice, strict=True):
        stay = {v for v in one.spills.value if not spilled[v]}
        at = [{v for v in stay if (p, p + 1) in one.spills.points[v]} for p in range(POINTS + 1)]
        has = [len(values) for values in at[:POINTS]]
        writes = [len(values - one.arguments) for values in at[:POINTS]]
        for call in one.calls:
            has += [len(at[POINTS] - call.passed) + there[call.callee], len(at[POINTS]) + written[call.callee]]
            writes.append(len(at[POINTS] - one.arguments) + written[call.callee])
        there[one.name], written[one.name] = max(has), max(writes)
    return there[functions[-1].name] <= registers


def test_nothing_is_cheaper_and_what_is_said_can_be() -> None:
    spilled = refused = 0
    for seed in range(120):
        rng = random.Random(seed)
        functions = [drawn(rng, "h", ""), drawn(rng, "f", "h"), drawn(rng, "k", "f")]
        registers = rng.randint(1, 5)
        found, least = solve_jointly(functions, registers, limit=2.0), cheapest(functions, registers)
        assert found.bound == found.value == least, seed
        refused += least == inf
        spilled += 0 < least < inf
    assert spilled > 40
    assert not refused
