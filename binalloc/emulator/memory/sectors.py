"""Words of a line, a bit each, and the sectors of eight words that hold them."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import LINE_WORDS
from binalloc.emulator.state.scan import count_bits

SECTOR_WORDS = 8
SECTORS = LINE_WORDS // SECTOR_WORDS
SECTOR = (1 << SECTOR_WORDS) - 1
LINE = (1 << LINE_WORDS) - 1
GATHER = 0x01020408
"""Times bits 0, 8, 16, 24: they stand in bits 24 to 27 then, what else there is elsewhere."""


@device(inline=True)
def first_words(words: int) -> int:
    """The first word of each sector that holds some of the words."""
    words &= LINE
    words |= words >> 4
    words |= words >> 2
    words |= words >> 1
    return words & (LINE // SECTOR)


@device
def sectors_of(words: int) -> int:
    """The sectors that hold some of the words, a bit each."""
    return ((first_words(words) * GATHER) >> (LINE_WORDS - SECTOR_WORDS)) & ((1 << SECTORS) - 1)


@device
def sector_count(words: int) -> int:
    """How many sectors hold some of the words."""
    return count_bits(first_words(words))


@device
def whole_sectors(words: int) -> int:
    """The words of all sectors that hold some of `words`."""
    return first_words(words) * SECTOR
