"""Words of a line, a bit each, and the sectors of eight words that hold them."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import count_bits

SECTOR_WORDS = 8
SECTORS = 4
SECTOR = (1 << SECTOR_WORDS) - 1
FIRST_WORDS = 0x01010101  # of each sector


@device
def sectors_of(words: int) -> int:
    """The sectors that hold some of the words, a bit each."""
    found = 0
    for k in range(SECTORS):
        if (words >> (k * SECTOR_WORDS)) & SECTOR:
            found |= 1 << k
    return found


@device(inline=True)
def touched(words: int) -> int:
    """The first word of each sector that holds some of the words."""
    words |= words >> 4
    words |= words >> 2
    return (words | words >> 1) & FIRST_WORDS


@device
def sector_count(words: int) -> int:
    """How many sectors hold some of the words."""
    return count_bits(touched(words))


@device
def whole_sectors(words: int) -> int:
    """The words of all sectors that hold some of `words`."""
    return touched(words) * SECTOR
