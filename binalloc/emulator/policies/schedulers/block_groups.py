"""This scheduler prefers one group of blocks to the next: one group computes while others wait for memory.

It is OWL of Jog et al., "OWL: Cooperative Thread Array Aware Scheduling Techniques for Improving GPGPU Performance"
(ASPLOS 2013), with all four of its techniques. The blocks of an SM are in groups, of as many blocks as have enough
warps to fill the pipeline (CTA-aware two-level). The order of the groups is fixed, so the first one is preferred again
as soon as it can go on, and its data stays in L1 (locality). The first group of each SM is another one, as consecutive
blocks, which lie in one slot of neighbouring SMs, have their data in the same rows of DRAM (bank-level parallelism).
Rows that were opened are used up by prefetches into L2 (`memory.prefetch`). Each technique is a parameter. TIMING.md
says what the paper leaves open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.batch_aware import is_active, note_wait
from binalloc.emulator.policies.schedulers.loose_round_robin import next_after
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.counters import Stall
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import MAX_SCHEDULERS
from binalloc.emulator.state.scan import lowest_bit, quotient
from binalloc.rows import Parameter

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

WHOLE_ROW = 1 << 20  # value of `prefetch` that stands for all lines of a row: no row has so many


@device(inline=True)
def blocks_of_group(g: Gpu) -> int:
    """Return the block slots of a group: the fewest with as many warps as all schedulers together want."""
    return quotient(g.group_warps * g.schedulers + g.warps_per_block - 1, g.warps_per_block)


@device(inline=True)
def warps_below(g: Gpu, sch: int, w: int) -> int:
    """Return the warps of a scheduler whose slots are below w, as a mask."""
    return (1 << quotient(max(w - sch, 0) + g.schedulers - 1, g.schedulers)) - 1


@device
def warps_of_group(g: Gpu, sch: int, group: int) -> int:
    """Return the warps of a scheduler in a group, as a mask."""
    each = blocks_of_group(g) * g.warps_per_block
    end = min((group + 1) * each, g.warp_limit)
    return warps_below(g, sch, end) & ~warps_below(g, sch, group * each)


@device
def any_active(g: Gpu, s: Sm, sch: int, mask: int) -> int:
    """Return 1 if a warp of the mask has not ended and is active, else 0."""
    left = mask
    while left:
        i = lowest_bit(left)
        left &= left - 1
        w = i * g.schedulers + sch
        if s.live[w] and is_active(s, w, (s.asleep[sch] >> i) & 1):
            return 1
    return 0


@device(inline=True)
def behind(groups: int, group: int, steps: int) -> int:
    """Return the group that is so many steps behind a group. The first one follows the last."""
    return (group + steps) % groups


@device
def running_group(g: Gpu, s: Sm, sch: int, eligible: int, groups: int) -> int:
    """Return the first group with an active warp of the scheduler. An eligible one is active."""
    first = 0 if g.group_same else s.id % groups
    begin = s.group_turns[sch] if g.group_round else 0
    for turn in range(begin, begin + groups):
        mask = warps_of_group(g, sch, behind(groups, first, turn))
        # groups that have active warps alone make no difference where each turn begins afresh, and others issue as well
        if mask & eligible or ((g.group_round or g.group_alone) and any_active(g, s, sch, mask)):
            s.group_turns[sch] = turn % groups
            return behind(groups, first, turn)
    return first


@device
def block_groups(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Return the next eligible warp of the running group. If there is none, other groups fill in, or nothing issues."""
    groups = quotient(g.resident_limit + blocks_of_group(g) - 1, blocks_of_group(g))
    group = running_group(g, s, sch, eligible, groups)
    rest = eligible & warps_of_group(g, sch, group)
    if rest == 0 and g.group_alone:
        return ~Stall.PENDING
    while rest == 0:
        group = behind(groups, group, 1)
        rest = eligible & warps_of_group(g, sch, group)
    at = group * MAX_SCHEDULERS + sch
    i = next_after(s.group_last[at] - 1, rest)
    s.group_last[at] = i + 1
    return i


OWL = WarpScheduler(
    "owl", "groups of blocks, the first that can issue, in each SM another first one; open rows are prefetched into L2",
    block_groups,
    hears={"waits": note_wait},
    parameters=(
        Parameter("group", "group_warps", "warps of each scheduler that a group of blocks has at least", 8, 1, 1 << 10),
        Parameter("next", "group_round", "where groups begin: at the SM's first one, or at the one that ran last", 0,
                  words=("first", "round")),
        Parameter("start", "group_same", "whether each SM has another first group, or all the same", 0,
                  words=("offset", "same")),
        Parameter("others", "group_alone", "what other groups do while no active warp of the running one can issue", 0,
                  words=("fill", "wait")),
        Parameter("prefetch", "ahead", "lines that are prefetched of an open row, at most", WHOLE_ROW, 0, 1 << 10,
                  named=(("row", WHOLE_ROW),)),
        Parameter("when", "ahead_busy", "when: while no request waits at the bank, or as soon as the row is open", 0,
                  words=("idle", "open")),
    ),
)  # fmt: skip
