"""This module finds homes for all values in as few registers as possible, so that every value stays in one place.

It needs code whose values have bundles. It leaves homes for all of them, and their number of registers. More registers
are needed than values are live at once only because of pairs and quads, loops and calls. Given enough registers,
placing one bundle after the other always succeeds, and this gives an upper bound. The smallest number is sought between
the two.
"""

from __future__ import annotations

from binalloc.transform.assign.assign import Homeless
from binalloc.transform.assign.homes import find_all_homes
from binalloc.transform.assign.wishes import NO_HOME, Homes


def fewest_homes(code: Homeless, least: int, limit: int) -> tuple[Homes, int]:
    """Return homes in registers from 0 up, and the number of registers. Above `limit` that number is not the smallest
    one. least: lower bound of the number."""
    blocked = 0
    for site in code.sites:
        blocked |= site.blocked
    enough = (1 << 2 * least + blocked.bit_length()) - 1
    wishes = code.wishes(enough)

    def found(registers: int) -> Homes | None:
        return find_all_homes(code.bundles, wishes, registers, code.end)

    homes = found((1 << least) - 1) if least <= limit else None
    if homes is not None:
        return homes, least
    best = found(enough)
    assert best is not None, "registers enough for one bundle after the other"
    low, most = least, _used(code, best)
    while least <= limit and most - low > 1:
        middle = (low + most) // 2
        homes = found((1 << middle) - 1)
        if homes is None:
            low = middle
        else:
            best, most = homes, middle
    return best, most


def _used(code: Homeless, homes: Homes) -> int:
    """Return one more than the highest register of a home."""
    bases = zip(code.bundles.all, homes.base, strict=True)
    return max((base + len(bundle.points) for bundle, base in bases if base != NO_HOME), default=1)
