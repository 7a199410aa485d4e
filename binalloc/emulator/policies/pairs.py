"""This module has the places of blocks that share a part of their shared memory two by two, and who has that part.

After "Scratchpad Sharing in GPUs" (the sharing paper), sections 3, 4.2 and 6.2. A block of a pair needs the pair's
lock to access the bytes behind its private ones. It gets the lock at its first such access if nobody has it. It has it
to its end, or until each of its threads has released the bytes (RELSSP) or ended. Where a block ends with the lock, its
partner has it from then on. A block that is dispatched has the place, and so the partner, of the one that has ended
there.

The paper does not say what becomes of the lock when a partner needs it no more: it is free then. Bytes that change
hands keep their contents.
"""

from __future__ import annotations

from binalloc.emulator.policies.knocks import call
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import SLOT_ROW
from binalloc.emulator.state.records import Gpu, Sm


class Phase(Codes):
    """A block of a pair is in one of these phases, each with its counter of cycles (`CYCLES_BEFORE_LOCK` and on)."""

    BEFORE: int  #: it has not had the lock
    HOLDING: int
    BEHIND: int  #: it has given it back


@device
def place_of(g: Gpu, slot: int) -> int:
    """Return the first word of a block slot's place, in a launch with pairs."""
    if slot < g.lone_blocks:
        return slot * g.block_words
    return g.lone_blocks * g.block_words + (slot - g.lone_blocks) * g.partner_words


@device
def partner_of(g: Gpu, slot: int) -> int:
    """Return the other block slot of the pair, -1 for none."""
    if slot >= g.lone_blocks:
        return slot - g.lone_blocks
    return slot + g.lone_blocks if slot < g.pairs else -1


@device(apart=True)
def open_place(g: Gpu, s: Sm, slot: int) -> int:
    """Give the block in `slot` its place and its status, and return the first word."""
    first = place_of(g, slot)
    s.shared_first[slot] = first
    s.partner[slot] = partner_of(g, slot) + 1
    s.shared_limit[slot] = g.user_shared
    s.shared_end[slot] = first + g.block_words
    s.apart[slot] = 0
    s.split[slot] = 0
    s.own_slots[slot] = 0
    if slot >= g.lone_blocks:
        s.apart[slot] = 1
        s.split[slot] = g.private_bytes
        s.shared_end[slot] = first + g.partner_words
    elif slot < g.pairs:
        s.shared_end[slot] = first + (min(g.private_bytes, g.slot_base) >> 2)  # a block may have fewer bytes than these
        s.own_slots[slot] = first + (g.slot_base >> 2)
    s.holds[slot] = 0
    s.gave_up[slot] = 0
    s.phase[slot] = Phase.BEFORE
    s.phase_from[slot] = g.cycle
    for w in range(slot * g.warps_per_block, (slot + 1) * g.warps_per_block):
        s.released[w] = 0
        s.kept_out[w] = 0
    return first


@device(inline=True)
def shares_slots(g: Gpu) -> int:
    """Return 1 if the two blocks of a pair share some slots of their threads, too."""
    return 1 if g.private_rows * SLOT_ROW < g.slot_bytes else 0


@device(inline=True)
def slot_is_common(g: Gpu, s: Sm, w: int, address: int) -> int:
    """Return 1 if the address of a slot of warp w is that of one which the two blocks of a pair share."""
    return 1 if address - g.slot_base - s.in_block[w] * g.slot_bytes >= g.private_rows * SLOT_ROW else 0


@device
def common_first(g: Gpu, s: Sm, slot: int) -> int:
    """Return the first of the words that the block in `slot` shares with its partner. Both have them in one place."""
    home = slot - g.lone_blocks if slot >= g.lone_blocks else slot
    return place_of(g, home) + (g.private_bytes >> 2)


@device
def enter_phase(g: Gpu, s: Sm, slot: int, phase: int) -> None:
    """Let the block be in a phase from now on, and count the cycles of the one before."""
    s.stat[Stat.CYCLES_BEFORE_LOCK + s.phase[slot]] += g.cycle - s.phase_from[slot]
    s.phase[slot] = phase
    s.phase_from[slot] = g.cycle


@device
def take_lock(g: Gpu, s: Sm, slot: int) -> None:
    """Let the block in `slot` hold the lock of its pair, which is free."""
    s.holds[slot] = 1
    s.lock_fresh[slot] = 1
    s.fresh = 1
    s.stat[Stat.LOCKS_TAKEN] += 1
    enter_phase(g, s, slot, Phase.HOLDING)


@device
def call_kept_out(g: Gpu, s: Sm, slot: int) -> None:
    """Call the warps of the block in `slot` that wait for the lock."""
    for w in range(slot * g.warps_per_block, (slot + 1) * g.warps_per_block):
        if s.kept_out[w]:
            call(g, s, w)


@device(apart=True)
def give_if_released(g: Gpu, s: Sm, slot: int) -> None:
    """Note that the block in `slot` needs the shared bytes no more if all its threads have released them or have ended,
    and free the lock if it holds it. Where all have ended the block keeps it until it is gone (`leave_pair`)."""
    other = s.partner[slot] - 1
    if other < 0 or s.gave_up[slot]:
        return
    alive = 0
    for w in range(slot * g.warps_per_block, (slot + 1) * g.warps_per_block):
        alive |= s.live[w]
        if s.live[w] & ~s.released[w]:
            return
    if alive == 0:
        return
    s.gave_up[slot] = 1
    if s.holds[slot]:
        s.holds[slot] = 0
        enter_phase(g, s, slot, Phase.BEHIND)
        call_kept_out(g, s, other)


@device(apart=True)
def leave_pair(g: Gpu, s: Sm, slot: int) -> None:
    """Take the block in `slot`, which has ended, out of its pair. If it held the lock, its partner has it now, unless
    it needs it no more."""
    other = s.partner[slot] - 1
    if other < 0:
        return
    enter_phase(g, s, slot, Phase.BEFORE)
    held = s.holds[slot]
    s.holds[slot] = 0
    if held and s.block_active[other] and s.gave_up[other] == 0:
        take_lock(g, s, other)
        call_kept_out(g, s, other)
