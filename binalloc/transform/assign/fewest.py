"""This module finds homes for all values in as few registers as possible, so that every value stays in one place.

It needs code whose values have bundles. It leaves homes for all of them, and their number of registers. More registers
are needed than values are live at once only because of groups, loops and calls. Given enough registers, placing one
bundle after the other always succeeds, and this gives an upper bound. The smallest number is sought between the two.
"""

from __future__ import annotations

from binalloc.transform.assign.assign import Homeless
from binalloc.transform.assign.homes import find_all_homes
from binalloc.transform.assign.wishes import NO_HOME, BundleHomes


def fewest_homes(code: Homeless, least: int, limit: int) -> tuple[BundleHomes, int]:
    """Return homes in registers from 0 up, and the number of registers. Above `limit` that number is not the smallest
    one. least: lower bound of the number."""
    blocked = 0
    for site in code.sites:
        blocked |= site.blocked
    enough = 2 * least + blocked.bit_length()
    wishes = code.wishes((1 << enough) - 1)

    def found(count: int) -> BundleHomes | None:
        return find_all_homes(code.bundles, wishes, (1 << count) - 1, code.end)

    homes = found(least) if least <= limit else None
    if homes is not None:
        return homes, least
    best = found(enough)
    while best is None:  # between groups that are wider than their alignment, or narrower, there are more gaps
        enough *= 2
        wishes = code.wishes((1 << enough) - 1)
        best = found(enough)
    low, most = least, _used(code, best)
    while least <= limit and most - low > 1:
        middle = (low + most) // 2
        homes = found(middle)
        if homes is None:
            low = middle
        else:
            best, most = homes, middle
    return best, most


def _used(code: Homeless, homes: BundleHomes) -> int:
    """Return one more than the highest register of a home."""
    bases = zip(code.bundles.all, homes.base, strict=True)
    return max((base + len(bundle.points) for bundle, base in bases if base != NO_HOME), default=1)
