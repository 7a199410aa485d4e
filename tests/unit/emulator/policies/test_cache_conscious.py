"""CCWS: scores equal an independent model's over the accesses that were logged. What it is where L1 holds no global
data, and what it gains where L1 thrashes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.schedulers.cache_conscious import score_of
from binalloc.emulator.sm import device_loop, dispatch, issue
from binalloc.isa.instruction import Module
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import go, module, op

ROUNDS, LINES = 6, 4


def thrashing(rounds: int = ROUNDS) -> Module:
    """Each warp loads its own LINES lines again and again: together the warps want far more than L1 holds."""
    head = [
        op("S2R", rd=0, sreg=0, wbar=0), op("S2R", rd=1, sreg=6, wbar=1), op("S2R", rd=2, sreg=3, wbar=2),
        op("IMAD", rd=0, ra=1, rb=2, rc=0, wait=7), op("SHF", rd=0, ra=0, form=1, imm=2, rc=255),
        op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2), op("MOV", rd=9, form=1, imm=rounds),
    ]  # fmt: skip
    body = []
    for i in range(LINES):
        body += [op("LDG", rd=6, ra=4, width=4, moff=4 * i, wbar=3)]
        body += [op("IADD3", rd=8, ra=8, rb=6, rc=255, wait=8)]
    tail = [op("IADD3", rd=9, ra=9, form=1, imm=0xFFFFFFFF, rc=255), op("ISETP", pd0=0, ra=9, form=1, imm=0, icmp=5)]
    back = -(len(body) + len(tail) + 1)
    end = [op("BRA", guard=(0, False), target=back, diverges=1, reconv=0), op("EXIT")]
    return module([*head, *body, *tail, *end], registers=16, params={"x": 8})


OWN_LINES = 12  # of a warp: L1 has room for those of ten warps, and 48 run


def own_lines(rounds: int, together: int) -> Module:
    """Each warp loads OWN_LINES lines of its own again and again, `together` of them at a time."""
    head = [
        op("S2R", rd=0, sreg=0, wbar=0), op("S2R", rd=1, sreg=6, wbar=1), op("S2R", rd=2, sreg=3, wbar=2),
        op("IMAD", rd=0, ra=1, rb=2, rc=0, wait=7), op("SHF", rd=7, ra=0, form=1, imm=5, rc=255, dir=1),
        op("LOP3", rd=0, ra=0, form=1, imm=31, rc=255, lut=0xC0),
        op("IMAD", rd=0, ra=7, form=1, imm=32 * OWN_LINES, rc=0),
        op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2), op("MOV", rd=9, form=1, imm=rounds),
    ]  # fmt: skip
    body = []
    for i in range(OWN_LINES):
        body += [op("LDG", stall=1, rd=6, ra=4, width=4, moff=128 * i, wbar=3)]
        if (i + 1) % together == 0:
            body += [op("IADD3", rd=8, ra=8, rb=6, rc=255, wait=8)]
    tail = [op("IADD3", rd=9, ra=9, form=1, imm=0xFFFFFFFF, rc=255), op("ISETP", pd0=0, ra=9, form=1, imm=0, icmp=5)]
    back = -(len(body) + len(tail) + 1)
    end = [op("BRA", guard=(0, False), target=back, diverges=1, reconv=0), op("EXIT")]
    return module([*head, *body, *tail, *end], registers=16, params={"x": 8})


@dataclass
class Victims:
    """An independent model of the victims and scores of an SM, from the events that are logged."""

    base: int = 100
    throttle: int = 8
    hits: int = 0
    issued: int = 0
    tags: dict[int, list[deque[int]]] = field(default_factory=dict)
    scores: dict[int, tuple[int, int]] = field(default_factory=dict)

    def start(self, w: int) -> None:
        self.tags[w] = [deque(maxlen=8), deque(maxlen=8)]
        self.scores[w] = (0, 0)

    def evict(self, line: int, owner: int) -> None:
        kept = self.tags[owner][line % 2]
        if line not in kept:
            kept.append(line)

    def seek(self, w: int, line: int, stored: int, cycle: int, warps: int) -> None:
        kept = self.tags[w][line % 2]
        if line not in kept:
            return
        kept[kept.index(line)] = -1
        if not stored:
            self.hits += 1
            risen = self.hits * self.throttle * warps * self.base // max(self.issued, 1)
            self.scores[w] = max(risen, self.score(w, cycle)), cycle

    def score(self, w: int, cycle: int) -> int:
        value, at = self.scores[w]
        return max(self.base, value - (cycle - at))


@pytest.mark.parametrize("name", ["gem5gpu-batching", "v100"])
def test_scores_are_those_of_an_independent_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = load_machine(name)
    small = replace(m, l1=replace(m.l1, bytes=4096, sets=8, ways=4))
    model, wrong, risen = Victims(), [], [0]

    def heard(owner: Any, event: str, act: Any) -> None:
        usual = getattr(owner, event)

        def both(g: Any, s: Any, *rest: int) -> None:
            act(g, s, *rest)
            usual(g, s, *rest)

        monkeypatch.setattr(owner, event, both)

    def alive(g: Any, s: Any) -> int:
        return sum(1 for w in range(g.warp_limit) if s.live[w])

    heard(dispatch, "started", lambda g, s, w: model.start(w))
    heard(issue, "evicted", lambda g, s, line, owner: model.evict(line, owner))
    heard(issue, "sought", lambda g, s, w, line, stored: model.seek(w, line, stored, g.cycle, alive(g, s)))
    count = device_loop.begin_issue

    def counted(*arguments: Any) -> int:
        model.issued += 1
        return count(*arguments)

    monkeypatch.setattr(device_loop, "begin_issue", counted)

    def compare(device: Any, cycle: int) -> None:
        g, s = device.g[0], device.sms[0]
        for w in model.scores:
            if s.live[w]:
                here, there = score_of(g, s, w), model.score(w, g.cycle)
                risen[0] += here > 100
                if here != there:
                    wrong.append((cycle, w, here, there))

    data = np.zeros(1 << 14, np.uint32)
    go(thrashing(3), grid=4, block=256, buffers={"x": data}, machine=small, scheduler="ccws", hazards=False,
       observer=compare)  # fmt: skip
    assert wrong == []
    assert risen[0] > 100


def test_it_is_gto_where_l1_holds_no_global_data() -> None:
    data = np.zeros(1 << 14, np.uint32)
    m = load_machine("gtx680")
    assert not m.l1.caches_global
    both = [
        go(thrashing(), grid=6, block=256, buffers={"x": data}, machine=m, scheduler=name, hazards=False)
        for name in ("gto", "ccws")
    ]
    assert both[0].stats == both[1].stats


@pytest.mark.parametrize("together", [3, 12])
def test_it_hits_more_and_is_faster_where_l1_thrashes(together: int) -> None:
    data = np.zeros(48 * 32 * OWN_LINES, np.uint32)
    found = {
        name: go(own_lines(30, together), grid=6, block=256, buffers={"x": data}, machine="gem5gpu-batching",
                 scheduler=name, hazards=False, engine="numba")
        for name in ("gto", "ccws")
    }  # fmt: skip
    assert found["ccws"].stats["l1_global_hits"] > found["gto"].stats["l1_global_hits"]
    assert found["ccws"].cycles < found["gto"].cycles
