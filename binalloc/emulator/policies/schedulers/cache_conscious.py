"""This scheduler lets fewer warps load where L1 thrashes: those first whose own lines were lost.

It is CCWS of Rogers, O'Connor and Aamodt, "Cache-Conscious Wavefront Scheduling" (MICRO 2012), with the settings of the
authors' public simulator. Each warp has tags of the lines that L1 gave up after the warp had asked for them: its
victims. A load of the warp that finds its line among them has lost locality, and raises the warp's score. Scores fall
by one each cycle, down to a base. Warps may load in the order of their scores, until the sum of these has come to the
base times the number of warps. Only loads from off-chip memory are held back; among the rest this is the scheduler
"gto".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.greedy_then_oldest import greedy_then_oldest, leave_ended
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.counters import Stall, Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import StackColumn
from binalloc.emulator.state.parts.scheduler import (
    LOAD_SHIFT,
    LOST_AT,
    LOST_COLUMNS,
    LOST_NEXT,
    LOST_SCORE,
    LOST_VICTIM,
    VICTIM_SETS,
    VICTIM_WAYS,
)
from binalloc.emulator.state.scan import lowest_bit, quotient
from binalloc.rows import Parameter

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device
def score_of(g: Gpu, s: Sm, w: int) -> int:
    """Return the score of a warp in this cycle."""
    at = w * LOST_COLUMNS
    return max(g.base_score, s.lost[at + LOST_SCORE] - (g.cycle - s.lost[at + LOST_AT]))


@device
def running_warps(g: Gpu, s: Sm) -> int:
    """Return how many warps of the SM have not ended."""
    n = 0
    for w in range(g.warp_limit):
        n += 1 if s.live[w] else 0
    return n


@device(inline=True)
def loads_next(g: Gpu, s: Sm, w: int) -> int:
    """Return 1 if the next instruction of a ready warp loads from off-chip memory, else 0. A generic address counts as
    one of such memory."""
    pc = s.stack[w, s.sp[w], StackColumn.PC]
    return (g.load_bits[pc >> LOAD_SHIFT] >> (pc & ((1 << LOAD_SHIFT) - 1))) & 1


@device
def may_load(g: Gpu, s: Sm, w: int) -> int:
    """Return 1 if the scores of the warps in front of warp w have not come to the cutoff. Warps are in the order of
    their scores, of equal ones the oldest first."""
    mine = score_of(g, s, w)
    total = 0
    for other in range(g.warp_limit):
        if s.live[other]:
            score = score_of(g, s, other)
            if score > mine or (score == mine and s.age[other] < s.age[w]):
                total += score
    return 1 if total < running_warps(g, s) * g.base_score else 0


@device
def cache_conscious(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Return what "gto" takes of the eligible warps that are not held back."""
    if g.cycle >= s.scores_end:  # all scores are the base, so all warps may load
        return greedy_then_oldest(g, s, sch, eligible)
    rest = eligible
    left = eligible
    while left:
        i = lowest_bit(left)
        left &= left - 1
        w = i * g.schedulers + sch
        if loads_next(g, s, w) and may_load(g, s, w) == 0:
            rest &= ~(1 << i)
    return greedy_then_oldest(g, s, sch, rest) if rest else ~Stall.PENDING


@device
def begin_score(g: Gpu, s: Sm, w: int) -> None:
    """Give the warp, which starts, the base as its score, and no victims."""
    for i in range(w * LOST_COLUMNS, (w + 1) * LOST_COLUMNS):
        s.lost[i] = 0


@device
def victim_place(s: Sm, w: int, line: int) -> int:
    """Return where the tag of a line among the warp's victims is, -1 if the line is none."""
    first = w * LOST_COLUMNS + LOST_VICTIM + (line & (VICTIM_SETS - 1)) * VICTIM_WAYS
    for i in range(first, first + VICTIM_WAYS):
        if s.lost[i] == line + 1:
            return i
    return -1


@device
def keep_victim(g: Gpu, s: Sm, line: int, owner: int) -> None:
    """Enter a line that L1 has given up among the victims of the warp that asked for it last, first in, first out."""
    if victim_place(s, owner, line) >= 0:
        return
    k = line & (VICTIM_SETS - 1)
    row = owner * LOST_COLUMNS
    way = s.lost[row + LOST_NEXT + k]
    s.lost[row + LOST_VICTIM + k * VICTIM_WAYS + way] = line + 1
    s.lost[row + LOST_NEXT + k] = (way + 1) & (VICTIM_WAYS - 1)


@device
def look_for_victim(g: Gpu, s: Sm, w: int, line: int, stored: int) -> None:
    """Raise the warp's score if its load asks for a victim of its own. A store drops the victim."""
    i = victim_place(s, w, line)
    if i < 0:
        return
    s.lost[i] = 0
    if stored:
        return
    s.victim_hits += 1
    cutoff = running_warps(g, s) * g.base_score
    risen = quotient(s.victim_hits * g.throttle * cutoff, max(s.stat[Stat.WARP_INSTRUCTIONS], 1))
    score = max(risen, score_of(g, s, w))
    s.lost[w * LOST_COLUMNS + LOST_SCORE] = score
    s.lost[w * LOST_COLUMNS + LOST_AT] = g.cycle
    s.scores_end = max(s.scores_end, g.cycle + score - g.base_score)


CCWS = WarpScheduler(
    "ccws", "gto, but where L1 loses lines that warps ask for again, fewer warps load at a time", cache_conscious,
    hears={
        "started": begin_score, "ended": leave_ended, "evicted": keep_victim, "sought": look_for_victim,
    },
    parameters=(
        Parameter("base", "base_score", "score of a warp that has lost nothing", 100, 1, 1 << 16),
        Parameter("throttle", "throttle", "factor of a score that rises", 8, 1, 1 << 10),
    ),
    asks_for_loads=True,
)  # fmt: skip
