"""Registers that have to stay empty beside wide results and operands: never more than every placement needs, found by
trying all."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest

from binalloc.transform.virtual.code import Item, VOperand
from binalloc.transform.virtual.holes import beside_operands, beside_results

Wide = tuple[int, ...]
Widths = tuple[int, ...]
DRAWS = 3000
PAIRS_AND_QUADS = (2, 2, 4)
ALL_SORTS = (2, 3, 3, 4, 5)
EVERY_ALIGNMENT = (1, 1, 2, 4)


def item(operands: list[Wide], results: list[Wide], aligned: dict[Wide, int] | None = None) -> Item:
    """aligned: to what, where that is not the width."""
    aligned = aligned or {}
    return Item(
        "", defs=tuple(VOperand(f"d{i}", r, alignment=aligned.get(r, len(r))) for i, r in enumerate(results)),
        uses=tuple(VOperand(f"u{i}", o, alignment=aligned.get(o, len(o))) for i, o in enumerate(operands)),
    )  # fmt: skip


def alignments(rng: random.Random, groups: list[Wide]) -> dict[Wide, int]:
    return {o: rng.choice(EVERY_ALIGNMENT) if len(o) > 1 else 1 for o in groups}


@pytest.mark.parametrize(
    ("operands", "results", "standing", "ending", "holes"),
    [
        ([(1, 2)], [(3, 4)], {3}, {1, 2}, 1),  # the pair that ends cannot stand beside 3 in part
        ([(1, 2)], [(3, 4, 5, 6)], {3, 4, 5}, {1, 2}, 1),
        ([(1, 2)], [(3, 4, 5, 6)], {3, 4}, {1, 2}, 0),  # it can where two are missing
        ([(1, 2)], [(3, 4, 5, 6)], {4, 5}, {1, 2}, 2),  # not one at either end
        ([(1, 2), (7, 8)], [(3, 4)], {4}, {1, 2}, 1),
        ([(1,)], [(3, 4)], {3}, {1}, 0),
        ([(3, 2)], [(3, 4)], {3}, {2}, 0),  # 2 stands where 4 will
        ([(1, 2)], [(3, 4)], set(), {1, 2}, 0),
        ([], [(3, 4, 5, 6)], {4}, set(), 3),
        ([(1, 2)], [(3, 4), (5, 6)], {3, 5}, {1, 2}, 2),
    ],
)
def test_what_has_to_stay_empty(
    operands: list[Wide], results: list[Wide], standing: set[int], ending: set[int], holes: int
) -> None:
    assert beside_results(item(operands, results), standing, ending) == holes


def draw(
    rng: random.Random, widths: Widths = PAIRS_AND_QUADS
) -> tuple[list[Wide], list[Wide], set[int], set[int], set[int]]:
    """Operands, results, standing and ending values, and all that live before."""
    values = list(range(24))
    rng.shuffle(values)
    results = []
    for _ in range(rng.choice((1, 1, 2))):
        width = rng.choice(widths)
        results.append(tuple(values.pop() for _ in range(width)))
    standing = {v for r in results for v in r if rng.random() < 0.5}
    operands: list[Wide] = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        width = rng.choice((1, *widths))
        whole = rng.choice(results)
        if len(whole) == width and rng.random() < 0.3:  # in the result's own place, as far as that stands
            operands.append(tuple(v if v in standing else values.pop() for v in whole))
        else:
            operands.append(tuple(values.pop() for _ in range(width)))
    used = {v for o in operands for v in o}
    ending = {v for v in used - standing if rng.random() < 0.7}
    live = used | standing | {values.pop() for _ in range(rng.randrange(3)) if values}
    return operands, results, standing, ending, live


def places(count: int, wide: list[Wide], aligned: dict[Wide, int]) -> list[tuple[int, ...]]:
    return list(product(*(range(0, count - len(w) + 1, aligned.get(w, len(w))) for w in wide)))


def fits(
    count: int, operands: list[Wide], results: list[Wide], standing: set[int], ending: set[int], live: set[int],
    aligned: dict[Wide, int],
) -> bool:  # fmt: skip
    """Whether some placement in `count` registers lets the item be named and its results find room."""
    wide = [o for o in operands if len(o) > 1]
    for bases in places(count, results, aligned):
        zone = [b + i for b, r in zip(bases, results, strict=True) for i in range(len(r))]
        if len(set(zone)) < len(zone):
            continue
        stand = {v: b + i for b, r in zip(bases, results, strict=True) for i, v in enumerate(r) if v in standing}
        for spots in places(count, wide, aligned):
            at = dict(stand)
            wanted = [(v, b + i) for b, o in zip(spots, wide, strict=True) for i, v in enumerate(o)]
            if any(at.setdefault(v, r) != r for v, r in wanted) or len(set(at.values())) < len(at):
                continue
            if any(r in zone for v, r in at.items() if v not in standing and v not in ending):
                continue
            rest = live - set(at)
            outside = count - len(set(zone) | set(at.values()))
            inside = count - len(at) - outside
            staying = len(rest - ending)
            if staying <= outside and len(rest) - staying <= outside - staying + inside:
                return True
    return False


def test_no_placement_needs_fewer_registers() -> None:
    rng = random.Random("holes")
    some = exact = 0
    for _ in range(DRAWS):
        operands, results, standing, ending, live = draw(rng)
        holes = beside_results(item(operands, results), standing, ending)
        if holes:
            some += 1
            least = len(live) + holes
            given = operands, results, standing, ending, live, {}
            assert not fits(least - 1, *given), given
            exact += fits(least + least % 2, *given)
    assert some > 300
    assert exact > 0.5 * some


def test_no_placement_of_groups_of_any_alignment_needs_fewer_registers() -> None:
    rng = random.Random("holes of all sorts")
    some = exact = 0
    for _ in range(DRAWS // 3):
        operands, results, standing, ending, live = draw(rng, ALL_SORTS)
        aligned = alignments(rng, [*operands, *results])
        holes = beside_results(item(operands, results, aligned), standing, ending)
        if holes and len(live) + holes <= 11:
            some += 1
            given = operands, results, standing, ending, live, aligned
            assert not fits(len(live) + holes - 1, *given), given
            exact += fits(len(live) + holes + 1, *given)
    assert some > 60
    assert exact > 0.5 * some


@pytest.mark.parametrize(
    ("operands", "results", "ending", "holes"),
    [
        ([(1, 2)], [(3, 4)], {2}, 1),
        ([(1, 2)], [(3, 4)], {1, 2}, 0),
        ([(1, 2)], [(3, 4), (5,)], {2}, 0),  # 5 takes the place of 2
        ([(1, 2), (1, 2)], [(3, 4)], {2}, 1),  # once, however often it is read
        ([(1, 2)], [(3, 4, 1, 5)], {2}, 0),  # 5 stands where 2 did, beside 1
        ([(1, 2)], [(1, 3)], {2}, 0),
        ([(1, 2), (6, 7)], [(1, 3)], {2, 7}, 1),
        ([(1, 2, 3, 4)], [(5, 6)], {3, 4}, 0),  # half of a quad
        ([(1, 2, 3, 4)], [(5, 6)], {2, 3}, 2),
    ],
)
def test_what_stays_empty_behind(operands: list[Wide], results: list[Wide], ending: set[int], holes: int) -> None:
    assert beside_operands(item(operands, results), ending) == holes


def draw_behind(
    rng: random.Random, widths: Widths = PAIRS_AND_QUADS
) -> tuple[list[Wide], list[Wide], set[int]]:
    """Operands, results, and what ends of those. Results may keep values of operands, which then stand already."""
    values = list(range(20))
    operands = [tuple(values.pop() for _ in range(rng.choice((1, *widths)))) for _ in range(rng.choice((1, 1, 2)))]
    ending = {v for o in operands for v in o if rng.random() < 0.5}
    staying = [v for o in operands for v in o if v not in ending]
    rng.shuffle(staying)
    results = []
    for _ in range(rng.choice((1, 1, 2))):
        width = rng.choice((1, *widths))
        kept = [staying.pop() if staying and rng.random() < 0.2 else values.pop() for _ in range(width)]
        results.append(tuple(kept))
    if rng.random() < 0.3:
        operands.append(operands[0])
    return operands, results, ending


def fits_behind(
    count: int, operands: list[Wide], results: list[Wide], ending: set[int], others: int, aligned: dict[Wide, int]
) -> bool:
    """Whether `count` registers hold, in some places, the operands and `others` that live on, and then the results."""
    for spots in places(count, operands, aligned):
        at: dict[int, int] = {}
        wanted = [(v, b + i) for b, o in zip(spots, operands, strict=True) for i, v in enumerate(o)]
        if any(at.setdefault(v, r) != r for v, r in wanted) or len(set(at.values())) < len(at):
            continue
        staying = {r: v for v, r in at.items() if v not in ending}
        for more in combinations(sorted(set(range(count)) - set(at.values())), others):
            for bases in places(count, results, aligned):
                zone = [(b + i, v) for b, r in zip(bases, results, strict=True) for i, v in enumerate(r)]
                taken = {r for r, _ in zone}
                if len(taken) < len(zone) or taken.intersection(more):
                    continue
                if all(staying.get(r, v) == v for r, v in zone) and all(at.get(v, r) == r for r, v in zone):
                    return True
    return False


def test_no_placement_leaves_fewer_registers_empty() -> None:
    rng = random.Random("holes behind")
    some = exact = 0
    for _ in range(DRAWS):
        operands, results, ending = draw_behind(rng)
        holes = beside_operands(item(operands, results), ending)
        live = {v for o in operands for v in o} - ending | {v for r in results for v in r}
        before = len({v for o in operands for v in o})
        others = rng.choice((0, 1, 2))
        least = len(live) + holes + others
        if holes and before + others < least <= 9:
            some += 1
            given = operands, results, ending, others, {}
            assert not fits_behind(least - 1, *given), given
            exact += fits_behind(least + least % 2, *given)
    assert some > 200
    assert exact > 0.5 * some


def test_no_placement_of_groups_of_any_alignment_leaves_fewer_empty() -> None:
    rng = random.Random("holes of all sorts behind")
    some = exact = 0
    for _ in range(DRAWS):
        operands, results, ending = draw_behind(rng, ALL_SORTS)
        aligned = alignments(rng, [*operands, *results])
        holes = beside_operands(item(operands, results, aligned), ending)
        live = {v for o in operands for v in o} - ending | {v for r in results for v in r}
        before = len({v for o in operands for v in o})
        others = rng.choice((0, 1, 2))
        least = len(live) + holes + others
        if holes and before + others < least <= 9:
            some += 1
            given = operands, results, ending, others, aligned
            assert not fits_behind(least - 1, *given), given
            exact += fits_behind(least + 1, *given)
    assert some > 100
    assert exact > 0.5 * some
