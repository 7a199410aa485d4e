"""A block may open regions of shared memory besides the one that it began with. Accesses to them are found here."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def in_other_regions(g: Gpu, s: Sm, w: int, mask: int, size: int) -> int:
    """Return the lanes of `mask` whose accesses are in such a region. Their addresses become distances from the block's
    first word, which may be negative: so data, banks and checks need not know of regions."""
    slot = s.block_of[w]
    found = 0
    for t in range(g.lanes):
        r = s.more_regions[slot] - 1 if (mask >> t) & 1 else -1
        while r >= 0:
            into = s.addr[t] - s.region_base[r]
            if 0 <= into <= ((s.region_end[r] - s.region_first[r]) << 2) - size:
                s.addr[t] = into + ((s.region_first[r] - s.shared_first[slot]) << 2)
                found |= 1 << t
                r = -1
            else:
                r = s.region_next[r] - 1
    return found
