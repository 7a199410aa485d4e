"""Code that regions of its values are to leave, whichever a test likes."""

from __future__ import annotations

from binalloc.transform.spill.comeback import Comebacks
from binalloc.transform.spill.find_regions import FoundRegions, find_regions
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.code import VCode
from binalloc.transform.virtual.room import call_sites
from tests.support.generator.transform.virtual import Drawn


def regions_of(one: Drawn, given: Analysed, prices: Prices) -> tuple[VCode, FoundRegions, Comebacks]:
    """A copy of the code to be changed, the regions of all its values, and how they come back."""
    code = given.copied()
    comebacks = Comebacks(code, given.flat, given.live, prices)
    sites = call_sites(given.flat, given.live, one.contracts)
    found = find_regions(given.flat, given.live, sites, [True] * len(code.names))
    return code, found, comebacks
