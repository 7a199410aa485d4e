"""OWL's choice of warps, in each turn of random kernels, is that of an independent model in sets and lists, which hears
what warps wait for and knows the rules of TIMING.md."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.sm import events, issue, reference
from binalloc.emulator.state.layout import Warp
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.small import go

MACHINES = ("gtx680", "gem5gpu-batching", "v100")


@dataclass
class Chooser:
    """The rules for the schedulers of all SMs."""

    want: int  #: warps of a scheduler that a group has at least
    order: str
    start: str
    others: str
    asleep: set[tuple[int, int]] = field(default_factory=set)  #: SM and warp slot: it began to wait for memory
    ran: dict[tuple[int, int], int] = field(default_factory=dict)  #: SM and scheduler: the group that ran last
    last: dict[tuple[int, int, int], int] = field(default_factory=dict)  #: ... and group: the warp that issued last
    choices: set[str] = field(default_factory=set)  #: kinds of choices that have been seen

    def hear_wait(self, g: Any, s: Any, w: int, boards: int) -> None:
        unknown = any(boards >> b & 1 and s.board_open[w, b] for b in range(8))
        (self.asleep.add if unknown else self.asleep.discard)((s.id, w))

    def stalled(self, s: Any, w: int) -> bool:
        state = s.state[w]
        waits = state == Warp.SCOREBOARD and (s.id, w) in self.asleep
        return waits or (state == Warp.BARRIER and s.bar_id[w] >= 0) or state == Warp.SHARED

    def choose(self, g: Any, s: Any, sch: int, eligible: int) -> int | None:
        """The warp slot that issues, None for none."""
        blocks = ceil(self.want * g.schedulers / g.warps_per_block)
        groups = [list(range(i, min(i + blocks, g.resident_limit))) for i in range(0, g.resident_limit, blocks)]
        mine = [[w for slot in slots for w in range(slot * g.warps_per_block, (slot + 1) * g.warps_per_block)
                 if w % g.schedulers == sch] for slots in groups]  # fmt: skip
        could = [[w for w in warps if eligible >> w // g.schedulers & 1] for warps in mine]
        active = [any(s.live[w] and not self.stalled(s, w) for w in warps) for warps in mine]
        first = s.id % len(groups) if self.start == "offset" else 0
        begin = self.ran.get((s.id, sch), first) if self.order == "round" else first
        turns = [(begin + i) % len(groups) for i in range(len(groups))]
        running = next(i for i in turns if active[i])
        self.ran[s.id, sch] = running
        turns = turns[turns.index(running) :] + turns[: turns.index(running)]
        chosen = running if self.others == "wait" else next(i for i in turns if could[i])
        self.choices.add("running" if chosen == running else "fills in")
        if not could[chosen]:
            self.choices.add("none")
            return None
        if chosen != first:
            self.choices.add("not the first")
        before = self.last.get((s.id, sch, chosen), -1)
        self.last[s.id, sch, chosen] = next((w for w in could[chosen] if w > before), could[chosen][0])
        return self.last[s.id, sch, chosen]


def compare(machine: str, seed: int, patch: pytest.MonkeyPatch) -> tuple[set[str], int]:
    """Run the random kernel of that seed. Return the kinds of choices, and the number of turns."""
    rng = random.Random(f"groups {seed}")
    model = Chooser(
        rng.choice((1, 2, 3, 8)), ("first", "round")[seed % 2], rng.choice(("offset", "same")),
        ("fill", "wait")[seed // 2 % 2],
    )  # fmt: skip
    turns: list[tuple[int | None, int | None]] = []
    for owner in (events, reference):
        usual_waits = owner.waits

        def waits(g: Any, s: Any, w: int, boards: int, usual: Any = usual_waits) -> None:
            model.hear_wait(g, s, w, boards)
            usual(g, s, w, boards)

        patch.setattr(owner, "waits", waits)
    usual_pick = issue.pick

    def pick(g: Any, s: Any, sch: int, eligible: int) -> int:
        wanted = model.choose(g, s, sch, eligible)
        found = usual_pick(g, s, sch, eligible)
        turns.append((found * g.schedulers + sch if found >= 0 else None, wanted))
        return found

    patch.setattr(issue, "pick", pick)
    scheduler = f"owl:group={model.want}:next={model.order}:start={model.start}:others={model.others}"
    sms = rng.randrange(1, 4)
    go(waiting_program(seed, machine), machine=machine, grid=sms * rng.randrange(2, 9), block=rng.choice((32, 96, 200)),
       sms=sms, buffers={"x": np.arange(WORDS, dtype=np.uint32)}, scheduler=scheduler, hazards=False,
       reference=rng.random() < 0.3)  # fmt: skip
    assert [pair for pair in turns if pair[0] != pair[1]] == []
    return model.choices, len(turns)


@pytest.mark.parametrize("machine", MACHINES)
def test_each_choice_is_the_models(machine: str) -> None:
    kinds: set[str] = set()
    for seed in range(12):
        with pytest.MonkeyPatch.context() as patch:
            found, turns = compare(machine, seed, patch)
        assert turns > 100, seed
        kinds |= found
    assert kinds == {"running", "fills in", "not the first", "none"}
