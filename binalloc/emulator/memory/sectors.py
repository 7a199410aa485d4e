"""The functions here map words of a line, a bit each, to the sectors of eight words that hold them."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import LINE_WORDS
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import count_bits

SECTOR_WORDS = 8  # 32 bytes, the unit in which lines are fetched
SECTORS = LINE_WORDS // SECTOR_WORDS  # of a line
SECTOR = (1 << SECTOR_WORDS) - 1  # the words of the first sector
LINE = (1 << LINE_WORDS) - 1  # the words of a line
GATHER = 0x01020408
"""Multiplying by it moves bits 0, 8, 16 and 24 to bits 24 to 27; other bits of the product mean nothing."""


@device(inline=True)
def first_words(words: int) -> int:
    """Return the first word of each sector that holds some of the words."""
    words &= LINE
    words |= words >> 4
    words |= words >> 2
    words |= words >> 1
    return words & (LINE // SECTOR)


@device
def sectors_of(words: int) -> int:
    """Return the sectors that hold some of the words, a bit each."""
    return ((first_words(words) * GATHER) >> (LINE_WORDS - SECTOR_WORDS)) & ((1 << SECTORS) - 1)


@device
def sector_count(words: int) -> int:
    """Return how many sectors hold some of the words."""
    return count_bits(first_words(words))


@device
def whole_sectors(words: int) -> int:
    """Return the words of all sectors that hold some of `words`."""
    return first_words(words) * SECTOR


@device
def bursts_of(g: Gpu, m: int, words: int) -> int:
    """Return how many bursts of a channel of memory m carry the words."""
    size = g.burst_bytes[m] >> 2
    if size == SECTOR_WORDS:
        return sector_count(words)
    if size >= SECTORS * SECTOR_WORDS:
        return 1
    n = 0
    for k in range(SECTORS * SECTOR_WORDS // size):
        if (words >> (k * size)) & ((1 << size) - 1):
            n += 1
    return n
