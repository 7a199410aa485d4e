"""Who gets shared memory when and where, replayed from the log of a run: a queue and a set of places for each SM.

A block asks when the last of its warps comes to its BAR.ALLOC. It gets the lowest free place at once if nobody waits.
What has been given back goes to those that wait at the end of the cycle, the first first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.support.kits.emulator.run_log import Row


@dataclass
class Places:
    """The places of one SM, and the blocks that wait for one."""

    free: set[int]
    cycle: int = -1
    held: dict[int, int] = field(default_factory=dict)
    """Place of a block."""
    waiting: list[int] = field(default_factory=list)
    came: Counter[int] = field(default_factory=Counter)
    """Warps of a block that have come to the instruction at which they meet next."""
    got: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """The cycle and the place of each time that a block got one."""

    def give(self, block: int) -> None:
        self.held[block] = min(self.free)
        self.free.remove(self.held[block])
        self.got.setdefault(block, []).append((self.cycle, self.held[block]))

    def until(self, cycle: int) -> None:
        """Go on to a cycle."""
        if cycle != self.cycle:
            while self.waiting and self.free:
                self.give(self.waiting.pop(0))
        self.cycle = cycle

    def take_back(self, block: int) -> None:
        if block in self.held:
            self.free.add(self.held.pop(block))


def replay(
    rows: Iterable[Row], places: int, warps: int, takes: set[int], gives: set[int]
) -> dict[int, list[tuple[int, int]]]:
    """The cycle and the place of each time that a block got one, by block. places: of an SM. warps: of a block, all of
    which come to each barrier. takes, gives: words of BAR.ALLOC and BAR.FREE."""
    sms: dict[int, Places] = {}
    for row in rows:
        sm = sms.setdefault(row.sm, Places(set(range(places))))
        sm.until(row.cycle)
        if row.kind == "block_end":
            sm.take_back(row.block)
        if row.kind != "barrier" or row.pc not in takes | gives:
            continue
        sm.came[row.block] += 1
        if sm.came[row.block] < warps:
            continue
        sm.came[row.block] = 0
        if row.pc in gives:
            sm.take_back(row.block)
        elif sm.waiting or not sm.free:
            sm.waiting.append(row.block)
        else:
            sm.give(row.block)
    for sm in sms.values():
        sm.until(sm.cycle + 1)
    return {block: times for sm in sms.values() for block, times in sm.got.items()}
