"""Homes for all values of code in few registers: how many it takes to keep every value in one place.

Needs code whose values have bundles. Leaves homes for all of them, and the number of registers that those are in. More
are needed than are live at once only for pairs and quads, loops and calls; with registers enough, placing one bundle
after the other finds some number in any case, and the fewest is sought between the two.
"""

from __future__ import annotations

from binalloc.transform.assign.assign import Homeless
from binalloc.transform.assign.homes import find_all_homes
from binalloc.transform.assign.wishes import NO_HOME, Homes


def fewest_homes(code: Homeless, least: int, limit: int) -> tuple[Homes, int]:
    """Homes in registers from 0 up to but without the number beside them, which above `limit` is not the fewest. least:
    so many are needed in any case."""
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
    """One more than the highest register of a home."""
    bases = zip(code.bundles.all, homes.base, strict=True)
    return max((base + len(bundle.points) for bundle, base in bases if base != NO_HOME), default=1)
