"""This module counts the pairs of thread blocks that an SM holds where a pair shares a part of its shared memory.

After "Scratchpad Sharing in GPUs", section 3. The two blocks of a pair have a private part each, and one shared part
between them; only one of the two has that at a time. The paper gives a threshold t: a pair of blocks of B bytes takes
(1 + t) * B bytes, so t * B of each block are private. It does not print the rule for the number of blocks. Ours follows
from two of its sentences: a pair costs (1 + t) * B, and no fewer blocks may run than without sharing. So blocks that
fit anyway stay, and each of them gets a partner as long as bytes are left. That gives the blocks of all fourteen
kernels in Fig. 13.

Thresholds are fractions, so that nothing is rounded: with a float, 0.1 would be a little more than a tenth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from binalloc.errors import Hint, UsageError
from binalloc.isa.interface.places import WORD
from binalloc.models.machines.occupancy import Occupancy

_THRESHOLD = re.compile(r"[0-9./]{1,40}(e-?[0-9]{1,2})?", re.ASCII)  # 1e-99999999 would be exact for hours
_NUMBERS = "a threshold between 0 and 1, as 0.1 or 1/10, or PAIRS:BYTES"  # what an option can be


@dataclass(frozen=True, slots=True)
class Room:
    """The room of an SM is what decides how many blocks of one kernel it holds."""

    total: int  #: bytes of shared memory of the SM
    block: int  #: bytes of a block
    most: int  #: blocks that all other resources allow
    slots: int = 0  #: bytes of a block's slots that stay private: they are a part of `block`
    #: the other private bytes are a multiple of this: the widest access to them, which must lie in one part
    grain: int = WORD
    row: int = 0  #: bytes of one slot of all threads of a block, 0 where they have none
    own: int | None = None  #: slots of a thread that stay private; None: all

    @staticmethod
    def of(answer: Occupancy, total: int, grain: int = WORD) -> Room:
        """Return the room that an SM has for the blocks of an occupancy. total: bytes of its shared memory."""
        most = [limit for name, limit in answer.limits.items() if name != "shared" and limit is not None]
        slots = answer.use.slots * answer.use.slot_row
        return Room(total, answer.shared_per_block, min(most), slots, grain, answer.use.slot_row if slots else 0)

    @property
    def held(self) -> int:
        """Return how many slots of a thread are private."""
        return self.slots // self.row if self.row else 0

    def sharing_slots(self, own: int) -> Room:
        """Return the room of blocks of which so many slots of a thread stay private, and others may be shared."""
        return replace(self, slots=own * self.row, own=own)

    @property
    def alone(self) -> int:
        """Return how many blocks the SM holds if none of them share."""
        return min(self.total // self.block, self.most) if self.block else self.most

    def private(self, most: int) -> int:
        """Return the most bytes of a block that can be private if at most so many may be, those of its slots
        included."""
        return self.slots + (min(most, self.block) - self.slots) // self.grain * self.grain


@dataclass(frozen=True, slots=True)
class Pairing:
    """A pairing is a number of resident blocks, of which some share a part of their memory two by two."""

    blocks: int  #: resident blocks
    pairs: int  #: pairs among them
    #: bytes of a block that only it uses, its private slots included; those of an unshared block all are its own
    private: int
    slots: int | None = None  #: private slots of a thread; None: all

    def __str__(self) -> str:
        """Return the pairing as options have it."""
        return f"{self.pairs}:{self.private}" + ("" if self.slots is None else f":{self.slots}")

    @property
    def unshared(self) -> int:
        """Return how many blocks have no partner."""
        return self.blocks - 2 * self.pairs

    def bytes(self, block: int) -> int:
        """Return the bytes that all blocks take together. block: those of one."""
        return self.pairs * (block + self.private) + self.unshared * block


def no_sharing(asked: str, words: Sequence[str] = (), slots: bool = True) -> UsageError:
    """Return the error for an option that is no way to share memory. words: what it may be beside numbers. slots:
    whether these may be followed by a number of private slots."""
    expected = ", ".join([*words, _NUMBERS]) + ("[:SLOTS]" if slots else "")
    return UsageError(
        "no such sharing", place=Hint("{sharing}"), found=asked or "nothing", expected=expected,
        remedy="Give the share of a block's memory that stays private, or numbers.",
    )  # fmt: skip


def threshold(text: str) -> Fraction:
    """Return the fraction that a threshold stands for, as "0.1" or "1/10".

    Raises UsageError for what is no number, or not between 0 and 1.
    """
    try:
        value = Fraction(text if _THRESHOLD.fullmatch(text) else 0)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value < 1:
        raise no_sharing(text)
    return value


def with_threshold(room: Room, share: Fraction) -> Pairing | None:
    """Return the pairing of the paper's rule for a threshold; None if it holds no block more than there are without
    sharing.

    share: the part of a block's bytes that is private, between 0 and 1. It is more where the slots alone are more, and
    cut to whole words, or to what the code's accesses need.
    """
    if room.block == 0:
        return None
    least = max(share * room.block, Fraction(room.slots))
    fits = room.total // room.block
    left = room.total - fits * room.block
    partners = min(fits, int(left / least))
    pairs = min(fits + partners, room.most) - room.alone
    if pairs <= 0:
        return None
    return Pairing(room.alone + pairs, pairs, room.private(int(least)), room.own)


def fitted(room: Room) -> Sequence[Pairing]:
    """Return the pairings of all numbers of pairs, ascending, each with the most private bytes that still fit.

    This differs from the paper, which has one threshold for all kernels. Its own Examples 3.1 and 3.2 divide 16 KB in
    this way. A pairing of which no byte would be private is none: two such blocks would run one after the other.
    """
    found = []
    alone = room.alone
    for pairs in range(1, min(alone, room.most - alone) + 1):
        private = room.private((room.total - alone * room.block) // pairs)
        if private > room.slots:
            found.append(Pairing(alone + pairs, pairs, private, room.own))
    return found


def status_bits(blocks: int, warps: int) -> int:
    """Return the bits that an SM needs to know which of its blocks share, after section 7.1 of the paper.

    blocks, warps: most of each on an SM. The paper's formula lacks the ceiling of the locks' logarithm; its figure, 209
    bits for 16 blocks and 96 warps, has it.
    """
    partner, lock = blocks.bit_length(), (blocks - 1).bit_length()
    return 1 + blocks * partner + warps + blocks // 2 * lock
