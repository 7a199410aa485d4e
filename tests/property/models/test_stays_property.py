"""Random straight-line code with calls, executed on slots: every reload finds what was stored last, whoever shares
moves with whom, and no call has more of them than before."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from binalloc.bitset import bits, mask_from
from binalloc.models.allocation.stack.procedures import Event, Procedure, ProcedureCall
from binalloc.models.allocation.stack.slot_plan import SlotMove, SlotPlan
from binalloc.models.allocation.stack.slots import plan_slots
from binalloc.models.allocation.stack.stays import share_moves

PROGRAMS = 1500
LEAVES = {"f": 1, "g": 2, "h": 3, "none": 0}
LOAD, STORE, PART, CALL = range(4)
"""PART: a store that leaves some of the old content, so that this is needed, too."""


@dataclass
class Line:
    """variable: -1 of a call. live: behind it."""

    kind: int
    variable: int
    live: int = 0


def drawn(rng: random.Random) -> tuple[dict[str, Procedure], list[list[Line]], list[int]]:
    """A kernel of two stretches, with the values live in front of each."""
    variables = rng.randrange(2, 7)
    stretches, lives, events = [], [], []
    calls: list[ProcedureCall] = []
    adjacency = [0] * variables
    exits = []
    accesses = 0
    for _ in range(2):
        kinds = rng.choices((LOAD, STORE, PART, CALL), (4, 3, 1, 3), k=rng.randrange(3, 14))
        lines = [Line(kind, -1 if kind == CALL else rng.randrange(variables)) for kind in kinds]
        live = mask_from(v for v in range(variables) if rng.random() < 0.2)
        before = []
        for line in reversed(lines):
            line.live = live
            if line.kind in (LOAD, PART):
                live |= 1 << line.variable
            elif line.kind == STORE:
                live &= ~(1 << line.variable)
            before.append(live)
        stretches.append(lines)
        lives.append(live)
        events.append([])
        for line, live in zip(lines, reversed(before), strict=True):
            exits.append(line.live)
            together = line.live | (0 if line.kind == CALL else 1 << line.variable)
            for v in bits(together) if line.kind != LOAD else ():
                adjacency[v] |= together & ~(1 << v)
            if line.kind == CALL:
                events[-1].append(Event(-1, len(calls), line.live))
                callee = rng.choice([*LEAVES])
                calls.append(ProcedureCall(callee, line.live, rng.random() < 0.9, rng.choice((1.0, 10.0))))
            else:
                fresh = line.kind == STORE and not live >> line.variable & 1
                events[-1].append(Event(line.variable, accesses, line.live, fresh))
                accesses += 1
        for v in bits(lives[-1]):
            adjacency[v] |= lives[-1] & ~(1 << v)
    kernel = Procedure("kernel", variables, exits, adjacency, calls, stretches=events)
    leaves = {
        name: Procedure(name, count, [(1 << count) - 1], [(1 << count) - 1 & ~(1 << v) for v in range(count)])
        for name, count in LEAVES.items()
    }
    called = {call.callee for call in calls}
    return {"kernel": kernel, **{n: p for n, p in leaves.items() if n in called}}, stretches, lives


def execute(plan: SlotPlan, stretches: list[list[Line]], lives: list[int], *, backwards: bool) -> None:
    """One stretch after the other, each from values at home to values at home. backwards: the moves of a call."""
    own = plan.procedures["kernel"]
    calls = accesses = 0
    for number, (lines, live) in enumerate(zip(stretches, lives, strict=True)):
        content: dict[int, object] = {v: (number, "before", v) for v in bits(live)}
        slots: dict[int, object] = {own.slot_of[v]: x for v, x in content.items() if v in own.slot_of}

        def move(moves: tuple[SlotMove, ...], slots: dict[int, object] = slots) -> None:
            for m in reversed(moves) if backwards else moves:
                slots[m.target] = slots.get(m.source)

        for k, line in enumerate(lines):
            v = line.variable
            if line.kind == CALL:
                site = own.sites[calls]
                calls += 1
                if plan.procedures[site.callee].need:
                    move(site.moves)
                    for slot in range(site.shift, site.shift + plan.procedures[site.callee].need):
                        slots[slot] = "the callee's"
                    move(site.back)
                continue
            place = own.moved.get(accesses, own.slot_of.get(v))
            accesses += 1
            if place is None:
                continue
            if line.kind == LOAD:
                assert slots[place] == content[v]
            else:
                kept = line.kind == PART
                if kept:
                    assert slots[place] == content[v]
                slots[place] = content[v] = (number, k)
        for v in bits(lines[-1].live):
            assert v not in own.slot_of or slots[own.slot_of[v]] == content[v]


def cost(procedures: Mapping[str, Procedure], plan: SlotPlan) -> float:
    busy = {name for name, own in plan.procedures.items() if own.need}
    sites = zip(procedures["kernel"].calls, plan.procedures["kernel"].sites, strict=True)
    return sum(site.weight * planned.moved for site, planned in sites if planned.callee in busy)


def tight(rng: random.Random, procedures: Mapping[str, Procedure]) -> int:
    kernel = procedures["kernel"]
    most = max(live.bit_count() for live in kernel.live_exit)
    return max([most, *(c.live_across.bit_count() + LEAVES[c.callee] for c in kernel.calls)]) + rng.randrange(2)


def test_what_was_stored_is_reloaded_with_moves_where_slots_are_short() -> None:
    fewer = 0
    for seed in range(PROGRAMS):
        rng = random.Random(f"stays {seed}")
        procedures, stretches, lives = drawn(rng)
        slots = tight(rng, procedures)
        plan = plan_slots(procedures, "kernel", slots, "cost")
        for backwards in (False, True):
            execute(plan, stretches, lives, backwards=backwards)
        apart = {name: replace(p, stretches=()) for name, p in procedures.items()}
        unshared = cost(procedures, plan_slots(apart, "kernel", slots, "cost"))
        assert cost(procedures, plan) <= unshared, seed
        fewer += cost(procedures, plan) < unshared
    assert fewer >= 10


@pytest.mark.parametrize("part", range(3))
def test_what_was_stored_is_reloaded_with_moves_at_every_call(part: int) -> None:
    """As the paper has them, before they are shared."""
    before = after = 0
    for seed in range(part, PROGRAMS, 3):
        rng = random.Random(f"stays {seed}")
        procedures, stretches, lives = drawn(rng)
        plan = plan_slots(procedures, "kernel", tight(rng, procedures))
        execute(plan, stretches, lives, backwards=False)
        sites = list(plan.procedures["kernel"].sites)
        before += sum(site.moved for site in sites)
        share_moves(procedures, plan.procedures)
        for backwards in (False, True):
            execute(plan, stretches, lives, backwards=backwards)
        for old, new in zip(sites, plan.procedures["kernel"].sites, strict=True):
            assert len(new.moves) <= len(old.moves)
            assert len(new.back) <= len(old.back)
            assert all(m.target < new.shift for m in new.moves)
        after += sum(site.moved for site in plan.procedures["kernel"].sites)
    assert after < 0.9 * before
