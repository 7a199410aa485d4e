"""This module says in words why no version whose blocks use shared memory in turns is worth taking."""

from __future__ import annotations

from binalloc.errors import BinallocError
from binalloc.models.machines.model import Machine
from binalloc.pipeline.multiplex.multiplexing import Multiplexing, Tried
from binalloc.pipeline.steps.version import Version
from binalloc.printable import count

SHARED = "shared"
"""Name of shared memory among the resources that limit the blocks of an SM."""
_WORDS = {"blocks": "the number of its places for blocks"}
"""Words for such a resource, where its name is not clear by itself."""


def why_none(found: Multiplexing, without: Version, free: Version | BinallocError, machine: Machine) -> str:
    """Return what the fastest version gave, what limits the blocks of the original, and what all could gain at most.

    without: the best version without turns. free: the original as if blocks needed no shared memory.
    """
    parts = [_fastest(found.tried, without, machine)]
    parts += [_alone("shorter access regions", found.shorter, without), _alone("own words", found.own, without)]
    parts += [_limits(found.original), _ceiling(free, found.original)]
    return "; ".join(part for part in parts if part)


def _fastest(every: list[Tried], without: Version, machine: Machine) -> str:
    """Return how fast the fastest version is that may be used, or why there is none."""
    ran = [one for one in every if one.version is not None]
    good = [one for one in ran if one.may_be_used]
    if not ran:
        (reason, times), *_ = _reasons(every)
        return f"none of {count(len(every), 'version')} could be built and run: {reason} ({times} of them)"
    if not good:
        return f"none of the {count(len(ran), 'version')} that were run is proven and leaves the same results"
    best = max(good, key=lambda one: _gain(one, without))
    text = f"the fastest proven version, {best.wanted.name}, is {_gain(best, without):.3f} times as fast"
    return text if _gain(best, without) > 1 else text + _lost(best.version, without, machine)


def _alone(what: str, tried: Tried | None, without: Version) -> str:
    """Return how fast a version without a scheme is; "" if there is none that may be used."""
    if tried is None or not tried.may_be_used:
        return ""
    return f"{what} alone are {_gain(tried, without):.3f} times as fast"


def _reasons(every: list[Tried]) -> list[tuple[str, int]]:
    """Return the reasons for which versions were refused, with their numbers, the most frequent first."""
    found: dict[str, int] = {}
    for one in every:
        if one.refused is not None:
            found[one.refused.message] = found.get(one.refused.message, 0) + 1
    return sorted(found.items(), key=lambda entry: -entry[1])


def _gain(tried: Tried, without: Version) -> float:
    """Return the speedup of a version over the best one without turns."""
    assert tried.version is not None
    return (without.cycles or 0) / (tried.version.cycles or 1)


def _lost(version: Version | None, without: Version, machine: Machine) -> str:
    """Return for what the version waits most of all more than the one without turns; "" if for nothing."""
    before, after = (_shares(one, machine) for one in (without, version))
    more = {name: share - before.get(name, 0.0) for name, share in after.items()}
    name = max(sorted(more), key=lambda one: more[one], default="")
    if not name or more[name] < 0.01:  # less than a percent of issue slots explains nothing
        return ""
    words = name.replace("_", " ")
    return f", as it loses {after[name]:.0%} of issue slots to {words}, not {before.get(name, 0.0):.0%}"


def _shares(version: Version | None, machine: Machine) -> dict[str, float]:
    """Return for each reason the share of issue slots that a run lost."""
    if version is None or not version.stats or not version.cycles:
        return {}
    slots = version.cycles * machine.issue_slots_per_cycle
    return {name: lost / slots for name, lost in version.stats["stalls"].items()}


def _limits(original: Version) -> str:
    """Return what limits the blocks of the original, if shared memory does not, or not alone."""
    others = [name for name in original.limiters if name != SHARED]
    if not others:
        return ""
    words = [_WORDS.get(name, name) for name in others]
    what = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    if SHARED in original.limiters:
        return f"not only shared memory limits the blocks of an SM, but also {what}"
    return f"shared memory does not limit the blocks of an SM, but {what}"


def _ceiling(free: Version | BinallocError, original: Version) -> str:
    """Return what blocks that need no shared memory gain, with the code as it is."""
    if isinstance(free, BinallocError) or not free.cycles or not original.cycles:
        return ""
    gain = original.cycles / free.cycles
    return f"blocks that needed none would be {gain:.3f} times as fast, {free.blocks_per_sm} at once"
