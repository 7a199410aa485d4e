"""Sets of points as runs, and the places that groups get, each against its plain definition over sets."""

from __future__ import annotations

import random

import pytest

from binalloc.frontend.allocate.assign import Assignment, Group, coalesce
from binalloc.frontend.allocate.live_ranges import pressure
from binalloc.frontend.allocate.runs import Runs

POINTS = 60


def random_points(rng: random.Random) -> set[int]:
    """A few runs of points, which may touch or overlap."""
    out: set[int] = set()
    for _ in range(rng.randrange(5)):
        first = rng.randrange(POINTS)
        out |= set(range(first, min(POINTS, first + rng.choice([1, 2, 7, 25]))))
    return out


def runs_of(points: set[int], rng: random.Random) -> Runs:
    """The points added in random order, one or two at a time."""
    out = Runs()
    for p in rng.sample(sorted(points), len(points)):
        out.add(p, p + 2 if p + 1 in points else p + 1)
    return out


@pytest.mark.parametrize("seed", range(200))
def test_runs_are_sets_of_points(seed: int) -> None:
    rng = random.Random(seed)
    a, b = random_points(rng), random_points(rng)
    one, two = runs_of(a, rng), runs_of(b, rng)
    assert {p for first, end in one for p in range(first, end)} == a
    assert all(end < later for end, later in zip(one.ends, one.starts[1:], strict=False)), "runs do not touch"
    assert (len(one), bool(one), one.start) == (len(a), bool(a), min(a, default=0))
    assert [p in one for p in range(POINTS)] == [p in a for p in range(POINTS)]
    assert one.meets(two) == two.meets(one) == bool(a & b)
    assert pressure([one, two], POINTS) == [(p in a) + (p in b) for p in range(POINTS)]
    twin = one.copy()
    twin.join(two)
    assert {p for p in range(POINTS) if p in twin} == a | b
    assert list(one) == list(runs_of(a, rng)), "the copy is another set"


def plain_place(group: Group, points: list[set[int]], held: dict[int, set[int]], used: int) -> int:
    """A group's place: where a copy wishes it; else, of a single unit, the first free register or, among the eight
    behind that, the first whose pair mate is taken; else the first that is free."""

    def free(base: int) -> bool:
        return not any(held.get(base + k, set()) & piece for k, piece in enumerate(points))

    for base in sorted(group.wishes, key=lambda r: (-group.wishes[r], r)):
        if base % group.align == 0 and base + len(points) <= max(used, 1) and free(base):
            return base
    candidates = [r for r in range(0, 500, group.align) if free(r)]
    if len(points) == 1 and candidates[0] < used:
        near = [r for r in candidates if r < used and r <= candidates[0] + 8]
        return next((r for r in near if held.get(r ^ 1, set()) & points[0]), near[0])
    return candidates[0]


@pytest.mark.parametrize("seed", range(60))
def test_groups_get_the_places_that_the_plain_rule_gives(seed: int) -> None:
    rng = random.Random(seed)
    busy = {rng.randrange(90): sorted(random_points(rng) or {0}) for _ in range(rng.randrange(4))}
    groups, points = [], []
    for _ in range(rng.choice([20, 150, 400])):
        width = rng.choice([1, 1, 1, 2, 4])
        points.append([random_points(rng) for _ in range(width)])
        groups.append(Group([runs_of(p, rng) for p in points[-1]], width, []))
        if rng.random() < 0.2:
            groups[-1].wishes = {rng.randrange(12): rng.choice([1.0, 2.0]) for _ in range(2)}
    order = rng.sample(range(len(groups)), len(groups))
    attempt = Assignment(groups, busy, POINTS)
    attempt.run(order)
    held = {register: set(where) for register, where in busy.items()}
    used = 0
    for number in order:
        base = plain_place(groups[number], points[number], held, used)
        assert attempt.base[number] == base
        for k, piece in enumerate(points[number]):
            held.setdefault(base + k, set()).update(piece)
            used = max(used, base + k + 1 if piece else 1 if not any(points[number]) else used)
    assert attempt.used == used


def test_joining_copied_units_joins_their_ranges_where_they_do_not_meet() -> None:
    early, late, both = Runs(), Runs(), Runs()
    early.add(0, 3)
    late.add(3, 9)
    both.add(1, 5)
    groups = [Group([r], 1, [(k, 0)]) for k, r in enumerate((early, late, both))]
    group_of = [0, 1, 2]
    coalesce(groups, group_of, [(1, 0), (2, 1)])
    assert group_of == [1, 1, 2]
    assert [list(piece) for piece in groups[1].ranges] == [[(0, 9)]]
