"""This module finds the pairs of blocks of a run whose blocks share memory two by two, from an option and the machine.

After "Scratchpad Sharing in GPUs"; `models.sharing.pairs` has its rule for the number of pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from binalloc.emulator.host.resources import Resources
from binalloc.errors import Hint, Refused, UsageError
from binalloc.isa.instruction import Function
from binalloc.isa.interface.places import WORD
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import view
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.models.sharing.pairs import Pairing, Room, fitted, no_sharing, threshold, with_threshold
from binalloc.printable import count

OFF = "off"
_NUMBER = re.compile("-?[0-9]{1,18}")  # one that is negative is out of range, and said to be


def widest_access(functions: Sequence[Function]) -> int:
    """Return the bytes of the widest access of code to shared memory, at least those of a word."""
    seen = (view(i).memory for fn in functions for i in fn.instrs)
    return max([WORD, *(m.size for m in seen if m and not m.spill and m.space in (Space.SHARED, Space.GENERIC))])


def room_of(machine: Machine, need: Resources, functions: Sequence[Function]) -> Room:
    """Return the room that an SM has for blocks of a kernel that consists of `functions`."""
    answer = machine.occupancy(need.use)
    return Room.of(answer, machine.sm.shared_per_sm, widest_access(functions))


def pairing_of(
    machine: Machine, need: Resources, launch: Launch, functions: Sequence[Function], asked: str
) -> Pairing | None:
    """Return the pairs of blocks that an option asks for, None if blocks share nothing.

    asked: `OFF`, a threshold, or PAIRS:BYTES, where BYTES are the private ones of a block, or PAIRS:BYTES:SLOTS, where
    the first SLOTS of a thread's slots are private. Raises UsageError for anything else. Raises Refused where blocks of
    the launch cannot share memory, or where an SM would hold no block more.
    """
    require_sharing(asked, OFF)
    if asked == OFF:
        return None
    room = room_of(machine, need, functions)
    require_apart(launch, need)
    if ":" in asked:
        if room.block == 0 or room.most <= room.alone:
            raise no_pair(machine, need, room, None)
        return stated(room, asked)
    share = threshold(asked)
    found = with_threshold(room, share)
    if found is None:
        raise no_pair(machine, need, room, share)
    return found


def limited(pairing: Pairing, alone: int, most: int | None) -> Pairing | None:
    """Return the pairing with at most so many resident blocks; None where these need no pair. alone: blocks that an SM
    holds without pairs. most: None for no limit."""
    if most is None or most >= pairing.blocks:
        return pairing
    return replace(pairing, blocks=most, pairs=most - alone) if most > alone else None


def require_apart(launch: Launch, need: Resources) -> None:
    """Raise Refused where the owner of what two blocks share might wait for the other block, or for what it gets by
    BAR.ALLOC."""
    if launch.cooperative:
        raise Refused(
            "blocks of a cooperative launch cannot share memory", file=launch.path or None, place="cooperative",
            expected="blocks that do not wait for one another, as one that has what two share might for the other",
            remedy=Hint("Run it without {sharing}."),
        )  # fmt: skip
    if need.public is not None and need.public.managed:
        raise Refused(
            "blocks cannot share memory two by two and get memory by BAR.ALLOC", place=Hint("{sharing}"),
            remedy=Hint("Run it with {smm} static, or without {sharing}."),
        )  # fmt: skip


def require_sharing(asked: str, *words: str, slots: bool = True) -> None:
    """Raise UsageError for what is no way to share memory: neither a threshold, nor numbers, nor one of `words`, which
    the error names, too. slots: whether private slots may be stated; those that are yet to be allocated cannot be."""
    if asked in words:
        return
    try:
        private = numbers_of(asked)[2] if ":" in asked else None
        if ":" not in asked:
            threshold(asked)
    except UsageError:
        raise no_sharing(asked, words, slots) from None
    if private is not None and not slots:
        raise UsageError(
            "slots that are allocated anew are private to their blocks", place=Hint("{sharing}"), found=asked,
            expected="PAIRS:BYTES", remedy=Hint("Share some of them afterwards (`binalloc share`, {share_slots})."),
        )  # fmt: skip


def numbers_of(asked: str) -> tuple[int, int, int | None]:
    """Return the pairs, the private bytes, and the private slots of a thread, of an option PAIRS:BYTES or
    PAIRS:BYTES:SLOTS. None stands for all slots. Raises UsageError for anything else."""
    parts = asked.split(":")
    if len(parts) not in (2, 3) or not all(_NUMBER.fullmatch(part) for part in parts):
        raise no_sharing(asked)
    pairs, private, *slots = map(int, parts)
    return pairs, private, slots[0] if slots else None


def stated(room: Room, asked: str) -> Pairing:
    """Return the pairing that is asked for in numbers. Raises UsageError where the room has none such."""
    pairs, private, slots = numbers_of(asked)
    if slots is not None:
        if not 0 <= slots <= room.held:
            expected = f"0 to {room.held}: a thread has no more"
            raise UsageError("number of slots out of range", place=Hint("{sharing}"), found=slots, expected=expected)
        room = room.sharing_slots(slots)
    alone = room.alone
    most = min(alone, room.most - alone)
    if not 1 <= pairs <= most:
        expected = f"1 to {most}" if most > 0 else "none: all blocks fit that other resources allow"
        raise UsageError("number of pairs out of range", place=Hint("{sharing}"), found=pairs, expected=expected)
    least = room.slots
    fits = min((room.total - alone * room.block) // pairs, room.block)
    if not least <= private <= fits or (private - least) % room.grain:
        beside = f", and {count(least, 'byte')} of slots" if least else ""
        expected = f"{least:,} to {room.private(fits):,}: a multiple of {room.grain}{beside}"
        if fits < least:
            expected = f"fewer pairs: of so many each has {count(fits, 'byte')}, its slots take {least:,}"
        raise UsageError("private bytes out of range", place=Hint("{sharing}"), found=private, expected=expected)
    return Pairing(alone + pairs, pairs, private, slots)


def no_pair(machine: Machine, need: Resources, room: Room, share: Fraction | None) -> Refused:
    """Return the refusal of a kernel of which an SM would hold no block more.

    It names what limits the blocks, and how many slots would leave room for a pair. share: the threshold; None: as many
    private bytes as fit.
    """
    use, answer = need.use, machine.occupancy(need.use)
    if room.block == 0 or room.most <= room.alone:
        others = [name for name in answer.limiters if name != "shared"] or ["blocks"]
        return Refused(
            "no block is gained where blocks share memory", place=Hint("{sharing}"),
            found=f"{count(room.alone, 'block')} on an SM of {machine.name} without that, limited by "
            f"{', '.join(others)}", expected="a kernel whose blocks shared memory alone limits",
        )  # fmt: skip
    left = room.total - room.alone * room.block
    found = f"{left:,} bytes left beside {count(room.alone, 'block')} of {room.block:,} on an SM of {machine.name}"
    fewer = _slots_that_fit(machine, need, room, share)
    if fewer is not None:
        return Refused(
            "the slots leave no room for a pair of blocks", place=Hint("{sharing}"),
            found=f"{count(use.slots, 'slot')} a thread, {room.slots:,} bytes; {found}",
            expected=f"at most {count(fewer, 'slot')}", remedy=Hint("Rewrite with {slots} N for fewer slots."),
        )  # fmt: skip
    best = left * 1000 // room.block / 1000
    return Refused(
        "no block is gained where blocks share memory", place=Hint("{sharing}"), found=found,
        expected="room for the private part of one more" + (f", {share} of a block" if share is not None else ""),
        remedy=f"Take a threshold of at most {best:.3f}." if best > 0 and share is not None else None,
    )  # fmt: skip


def _slots_that_fit(machine: Machine, need: Resources, room: Room, share: Fraction | None) -> int | None:
    """Return the most slots a thread with which an SM holds a pair, if there are fewer than now; else None."""
    if room.slots <= (share or 0) * room.block:
        return None
    for slots in reversed(range(need.use.slots)):
        fewer = Room.of(machine.occupancy(replace(need.use, slots=slots)), room.total, room.grain)
        if with_threshold(fewer, share) if share is not None else fitted(fewer):
            return slots
    return None
