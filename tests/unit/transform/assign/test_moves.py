"""Moves at once become moves in sequence: whatever goes where, with a free register and without."""

from __future__ import annotations

import random

import pytest

from binalloc.transform.assign.moves import RegisterMove, in_sequence


def executed(moves: list[RegisterMove], registers: int) -> list[int]:
    """What each register holds in the end, if each holds its own number first."""
    held = list(range(registers))
    for target, source, exchange in moves:
        if exchange:
            held[target], held[source] = held[source], held[target]
        else:
            held[target] = held[source]
    return held


@pytest.mark.parametrize("with_free", [False, True])
@pytest.mark.parametrize("kind", ["permutation", "broadcast", "part"])
def test_each_target_gets_what_its_source_held(kind: str, with_free: bool) -> None:
    for seed in range(400):
        rng = random.Random(f"moves {kind} {seed}")
        count = rng.randrange(1, 12)
        targets = rng.sample(range(count), rng.randrange(1, count + 1))
        if kind == "permutation":
            sources = rng.sample(targets, len(targets))
        else:
            among = rng.sample(range(count), rng.randrange(1, count + 1))
            sources = [rng.choice(among) for _ in targets]
        wanted = dict(zip(targets, sources, strict=True))
        if kind == "part":
            wanted = {t: s for t, s in wanted.items() if rng.random() < 0.6}
        moves = in_sequence(list(wanted.items()), count if with_free else -1)
        held = executed(moves, count + 1)
        assert [held[t] for t in wanted] == list(wanted.values()), (seed, wanted, moves)
        written = {t for t, s in wanted.items() if t != s} | ({count} if with_free else set())
        assert {m.target for m in moves} | {m.source for m in moves if m.exchange} <= written
        if with_free:
            assert not any(m.exchange for m in moves)


def circles(wanted: dict[int, int]) -> int:
    """Circles of more than one register, if nothing else reads them."""
    return sum(len(c) > 1 for c in {frozenset(_circle(wanted, t)) for t in wanted})


def _circle(wanted: dict[int, int], start: int) -> list[int]:
    out = [start]
    while wanted[out[-1]] != start:
        out.append(wanted[out[-1]])
    return out


@pytest.mark.parametrize("seed", range(50))
def test_permutations_take_as_few_moves_as_can_be(seed: int) -> None:
    """One a register that changes, and one a circle; with exchanges one less a circle."""
    rng = random.Random(f"fewest {seed}")
    targets = list(range(rng.randrange(2, 10)))
    wanted = dict(zip(targets, rng.sample(targets, len(targets)), strict=True))
    changed = sum(t != s for t, s in wanted.items())
    assert len(in_sequence(list(wanted.items()), 99)) == changed + circles(wanted)
    assert len(in_sequence(list(wanted.items()), -1)) == changed - circles(wanted)


def rounds(moves: list[RegisterMove]) -> int:
    """Groups of exchanges that follow one another and are of different registers."""
    count, seen = 0, set[int]()
    for target, source, _ in moves:
        if not count or seen & {target, source}:
            count, seen = count + 1, set()
        seen |= {target, source}
    return count


@pytest.mark.parametrize("seed", range(50))
def test_exchanges_of_all_circles_take_two_rounds(seed: int) -> None:
    """In each no exchange waits for another, however long the circles are."""
    rng = random.Random(f"rounds {seed}")
    targets = list(range(rng.randrange(2, 33)))
    wanted = dict(zip(targets, rng.sample(targets, len(targets)), strict=True))
    moves = in_sequence(list(wanted.items()), -1)
    assert all(m.exchange for m in moves)
    assert rounds(moves) <= 2


@pytest.mark.parametrize("seed", range(100))
def test_a_source_that_nothing_wants_any_more_saves_the_exchanges(seed: int) -> None:
    rng = random.Random(f"vacated {seed}")
    count = rng.randrange(3, 12)
    *targets, last = rng.sample(range(count), count)
    wanted = dict(zip(targets, rng.sample(targets, len(targets)), strict=True))
    wanted[rng.choice(targets)] = last
    moves = in_sequence(list(wanted.items()), -1, {last})
    held = executed(moves, count)
    assert [held[t] for t in wanted] == list(wanted.values())
    assert not any(m.exchange for m in moves)
